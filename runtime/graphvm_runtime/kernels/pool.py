"""Kernels of pools."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import BRAIN, SINGLE, is_low
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.windows import (
    Placed,
    channels_last,
    check_gradient,
    check_image,
    laid_out,
)
from graphvm_runtime.ops.pool import pool_windows
from graphvm_runtime.ops.registry import Attrs
from graphvm_runtime.ops.windows import Windows, shape_last


def _least(dtype: np.dtype[Any]) -> Any:
    """The least finite value: a maximum starts there, so that -inf alone gives it."""
    if dtype == BRAIN:
        return ml_dtypes.finfo(dtype).min  # type: ignore[no-untyped-call]  # it has no hints
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


class _Pool:
    """A pool of one node; one over channels becomes one over the columns of another image."""

    def __init__(self, attrs: Attrs) -> None:
        self.windows, self.size, self.depth = pool_windows(attrs)
        self.layout = self.windows.layout
        if self.depth != 1:
            self.size = (1, self.depth)
            self.windows = Windows(b"NHWC", (1, self.depth), (1, 1), b"VALID", ((0, 0), (0, 0)))

    def image(self, x: Array, divides: bool = True) -> Array:
        """The image, channels last, as the windows slide over it."""
        x = channels_last(x, self.layout)
        if self.depth == 1:
            return x
        if divides and x.shape[3] % self.depth:
            raise InvalidArgumentError(
                f"windows of {self.depth} do not divide {x.shape[3]} channels"
            )
        return x.reshape(1, math.prod(x.shape[:3]), x.shape[3], 1)

    def result(self, x: Array, like: tuple[int, ...]) -> Array:
        """What windows gave, in the layout of an image of shape `like`."""
        if self.depth != 1:
            batch, rows, columns = shape_last(like, self.layout)[:3]
            x = x.reshape(batch, rows, columns, x.shape[2])
        return laid_out(x, self.layout)

    def placed(self, shape: tuple[int, ...]) -> Placed:
        """The windows on an image of that shape."""
        return Placed(self.windows, (shape[1], shape[2]), self.size)


@kernel("MaxPool")
def _max_pool(node: Node) -> Callable[..., Any]:
    pool, dtype = _Pool(node.attrs), node.attrs["T"].numpy
    least = _least(dtype)

    def call(value: Array) -> Any:
        check_image("input", value)
        x = pool.image(value)
        placed = pool.placed(x.shape)
        padded = placed.padded(x, least)
        out = np.full((len(x), *placed.counts, x.shape[3]), least, dtype)
        for i, j in placed.elements():
            np.fmax(out, placed.at(padded, i, j), out=out)
        return pool.result(out, value.shape)

    return call


def _chosen(pool: _Pool, x: Array) -> tuple[Placed, Array]:
    """Where in its window each maximum lies: the first of them, -1 for a window of padding."""
    placed = pool.placed(x.shape)
    padded = placed.padded(x)
    inside = placed.padded(np.ones((1, *x.shape[1:3], 1), np.bool_), False)
    best = np.zeros((len(x), *placed.counts, x.shape[3]), x.dtype)
    chosen = np.full(best.shape, -1, np.int32)
    for number, (i, j) in enumerate(placed.elements()):
        element = placed.at(padded, i, j)
        better = placed.at(inside, i, j) & ((chosen < 0) | (element > best))
        best = np.where(better, element, best)
        chosen[better] = number
    return placed, chosen


@kernel("MaxPoolGrad")
def _max_pool_grad(node: Node) -> Callable[..., Any]:
    pool, dtype = _Pool(node.attrs), node.attrs["T"].numpy
    wide = SINGLE if is_low(dtype) else dtype

    def call(value: Array, output: Array, gradient: Array) -> Any:
        check_image("orig_input", value)
        _check_like(gradient, output)
        x, g = pool.image(value), pool.image(gradient, divides=False).astype(wide)
        placed, chosen = _chosen(pool, x)
        if pool.depth != 1:
            g = g.reshape(chosen.shape) if g.size == chosen.size else g
        check_gradient(g, chosen.shape)
        out = placed.empty(len(x), x.shape[3], wide)
        for number, (i, j) in enumerate(placed.elements()):
            placed.at(out, i, j)[...] += np.where(chosen == number, g, g.dtype.type(0))
        return pool.result(placed.inner(out).astype(dtype), value.shape)

    return call


@kernel("MaxPoolGradGrad")
def _max_pool_grad_grad(node: Node) -> Callable[..., Any]:
    pool, dtype = _Pool(node.attrs), node.attrs["T"].numpy

    def call(value: Array, output: Array, gradient: Array) -> Any:
        check_image("orig_input", value)
        _check_like(gradient, value)
        x, g = pool.image(value), pool.image(gradient)
        placed, chosen = _chosen(pool, x)
        padded = placed.padded(g)
        out = np.zeros(chosen.shape, dtype)
        for number, (i, j) in enumerate(placed.elements()):
            np.copyto(out, placed.at(padded, i, j), where=chosen == number)
        result = pool.result(out, value.shape)
        _check_like(output, result)
        return result

    return call


def _check_like(given: Array, want: Array) -> None:
    if given.shape != want.shape:
        raise InvalidArgumentError(
            f"shapes {list(given.shape)} and {list(want.shape)} where both are the same"
        )


def _counts(placed: Placed, image: tuple[int, ...], dtype: Any) -> Array:
    """How many elements each window has that are no padding; at least 1."""
    ones = placed.padded(np.ones((1, *image[1:3], 1), dtype))
    out = np.zeros((1, *placed.counts, 1), dtype)
    for i, j in placed.elements():
        out += placed.at(ones, i, j)
    return np.maximum(out, 1)


@kernel("AvgPool")
def _avg_pool(node: Node) -> Callable[..., Any]:
    pool, dtype = _Pool(node.attrs), node.attrs["T"].numpy
    wide = SINGLE if is_low(dtype) else dtype

    def call(value: Array) -> Any:
        check_image("value", value)
        x = pool.image(value).astype(wide, copy=False)
        placed = pool.placed(x.shape)
        padded = placed.padded(x)
        out = np.zeros((len(x), *placed.counts, x.shape[3]), wide)
        for i, j in placed.elements():
            out += placed.at(padded, i, j)
        out /= _counts(placed, x.shape, wide)
        return pool.result(out.astype(dtype, copy=False), value.shape)

    return call


@kernel("AvgPoolGrad")
def _avg_pool_grad(node: Node) -> Callable[..., Any]:
    pool, dtype = _Pool(node.attrs), node.attrs["T"].numpy
    wide = SINGLE if is_low(dtype) else dtype

    def call(sizes: Array, gradient: Array) -> Any:
        if sizes.shape != (4,) or sizes.min() < 0:
            raise InvalidArgumentError(f"the input's shape is four sizes, got {sizes.tolist()}")
        check_image("grad", gradient)
        given = tuple(map(int, sizes))
        want = shape_last(given, pool.layout)
        g = channels_last(gradient, pool.layout).astype(wide, copy=False)
        placed = pool.placed(want)
        check_gradient(g, (want[0], *placed.counts, want[3]))
        out = placed.empty(want[0], want[3], wide)
        g = g / _counts(placed, want, wide)
        for i, j in placed.elements():
            placed.at(out, i, j)[...] += g
        return laid_out(placed.inner(out).astype(dtype), pool.layout)

    return call
