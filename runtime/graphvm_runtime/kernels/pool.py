"""Kernels of pools."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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
from graphvm_runtime.ops.signature import Attrs
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


def _maxima(placed: Placed, x: Array) -> Iterator[Array]:
    """For each element of the windows, in order, in which windows it is the maximum.

    Of several maxima the first counts; a window of padding alone has none.
    """
    if placed.whole != placed.image:
        yield from _maxima_beside_padding(placed, x)
        return
    elements = [placed.at(x, i, j) for i, j in placed.elements()]
    best = elements[0].copy()
    for element in elements[1:]:
        np.maximum(best, element, out=best)
    if best.dtype.kind not in "iu" and np.isnan(best).any():
        yield from _maxima_beside_padding(placed, x)
        return
    is_open = np.ones(best.shape, np.bool_)
    for element in elements:
        found = element == best
        found &= is_open
        is_open ^= found
        yield found


def _maxima_beside_padding(placed: Placed, x: Array) -> Iterator[Array]:
    """As `_maxima`, also where windows reach into padding or hold NaN."""
    padded = placed.padded(x)
    inside = placed.padded(np.ones((1, *x.shape[1:3], 1), np.bool_), False)
    best = np.zeros((len(x), *placed.counts, x.shape[3]), x.dtype)
    chosen = np.full(best.shape, -1, np.int32)
    for number, (i, j) in enumerate(placed.elements()):
        element = placed.at(padded, i, j)
        better = placed.at(inside, i, j) & ((chosen < 0) | (element > best))
        best = np.where(better, element, best)
        chosen[better] = number
    for number, _ in enumerate(placed.elements()):
        yield chosen == number


@kernel("MaxPoolGrad")
def _max_pool_grad(node: Node) -> Callable[..., Any]:
    pool, dtype = _Pool(node.attrs), node.attrs["T"].numpy
    wide = SINGLE if is_low(dtype) else dtype
    bits = np.dtype(f"i{wide.itemsize}")

    def call(value: Array, output: Array, gradient: Array) -> Any:
        check_image("orig_input", value)
        _check_like(gradient, output)
        x, g = pool.image(value), pool.image(gradient, divides=False).astype(wide, copy=False)
        placed = pool.placed(x.shape)
        want = (len(x), *placed.counts, x.shape[3])
        if pool.depth != 1 and g.size == math.prod(want):
            g = g.reshape(want)
        check_gradient(g, want)
        out = placed.empty(len(x), x.shape[3], wide)
        g = np.ascontiguousarray(g)
        for (i, j), found in zip(placed.elements(), _maxima(placed, x), strict=True):
            # a mask of bits is several times faster than `where`
            mask = np.negative(found.view(np.int8), dtype=bits)
            if placed.is_disjoint:
                np.bitwise_and(g.view(bits), mask, out=placed.at(out, i, j).view(bits))
            else:
                placed.at(out, i, j)[...] += np.bitwise_and(g.view(bits), mask, out=mask).view(wide)
        return pool.result(placed.inner(out).astype(dtype, copy=False), value.shape)

    return call


@kernel("MaxPoolGradGrad")
def _max_pool_grad_grad(node: Node) -> Callable[..., Any]:
    pool, dtype = _Pool(node.attrs), node.attrs["T"].numpy

    def call(value: Array, output: Array, gradient: Array) -> Any:
        check_image("orig_input", value)
        _check_like(gradient, value)
        x, g = pool.image(value), pool.image(gradient)
        placed = pool.placed(x.shape)
        padded = placed.padded(g)
        out = np.zeros((len(x), *placed.counts, x.shape[3]), dtype)
        for (i, j), found in zip(placed.elements(), _maxima(placed, x), strict=True):
            np.copyto(out, placed.at(padded, i, j), where=found)
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
