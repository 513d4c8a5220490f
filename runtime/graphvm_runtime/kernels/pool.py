"""Kernels of pools."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import SINGLE, is_low, least_of
from graphvm_runtime.kernels.registry import Kernel, Maker, kernel
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.kernels.windows import (
    Placed,
    channels_last,
    check_gradient,
    check_image,
    laid_out,
)
from graphvm_runtime.ops.pool import NUMBERS, given_windows, pool_windows
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.ops.windows import Windows, shape_last


class _Pool:
    """A pool of one node; one over channels becomes one over the columns of another image."""

    def __init__(self, attrs: Attrs) -> None:
        self.windows, self.size, self.depth = pool_windows(attrs)
        self.rank = len(self.windows.layout)
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
        return Placed(self.windows, shape[1:-1], self.size)


Pooling: TypeAlias = "Callable[..., Any]"


def _with_windows(make: Callable[[_Pool, np.dtype[Any]], Pooling], count: int) -> Maker:
    """A maker of a pool whose windows are attributes, or inputs after the first `count`."""

    def maker(node: Node) -> Kernel | Callable[..., Any]:
        dtype = node.attrs["T"].numpy
        if "ksize" in node.attrs:
            return Kernel(make(_Pool(node.attrs), dtype), out=count == 1)

        def call(*inputs: Array, **options: Any) -> Any:
            pool = _Pool(given_windows(node.attrs, *inputs[count:]))
            return make(pool, dtype)(*inputs[:count], **options)

        return refusing(lambda _: Kernel(call, out=count == 1))(node)

    return maker


def _max_pool(pool: _Pool, dtype: np.dtype[Any]) -> Pooling:
    # a window of nothing but -inf gives the least finite number, but in volumes -inf
    least = -np.inf if pool.rank == 5 else least_of(dtype)

    def call(value: Array, out: Array | None = None) -> Any:
        check_image("input", value, pool.rank)
        x = pool.image(value)
        placed = pool.placed(x.shape)
        padded = placed.padded(x, least)
        result = _receiving(out, (len(x), *placed.counts, x.shape[-1]), dtype)
        result[...] = least
        for at in placed.elements():
            element = placed.at(padded, *at)
            if pool.rank == 5:  # of a NaN there the later element wins
                np.copyto(result, element, where=~(result > element))
            else:
                np.fmax(result, element, out=result)
        return _received(out, result, pool, value.shape)

    return call


def _receiving(out: Array | None, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """The planned output where it has the shape of the result; else a new array."""
    if out is not None and out.shape == shape and out.dtype == dtype and out.flags.c_contiguous:
        return out
    return np.empty(shape, dtype)


def _received(out: Array | None, result: Array, pool: _Pool, like: tuple[int, ...]) -> Any:
    """The result in the layout of the image, in the planned output where there is one."""
    if out is None:
        return pool.result(result, like)
    if out is not result:
        out[...] = pool.result(result, like)
    return out


kernel("MaxPool", "MaxPool3D", "MaxPoolV2")(_with_windows(_max_pool, 1))


def _maxima(placed: Placed, x: Array) -> Iterator[Array]:
    """For each element of the windows, in order, in which windows it is the maximum.

    Of several maxima the first counts; a window of padding alone has none.
    """
    if placed.whole != placed.image:
        yield from _maxima_beside_padding(placed, x)
        return
    elements = [placed.at(x, *at) for at in placed.elements()]
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
    _, chosen = _first_maxima(placed, x)
    for number in range(len(placed.elements())):
        yield chosen == number


def _first_maxima(placed: Placed, x: Array) -> tuple[Array, Array]:
    """The maximum of each window, and the number of its first element that is it.

    A NaN that comes first is the maximum; the number is -1 where there is padding alone.
    """
    padded = placed.padded(x)
    inside = placed.padded(np.ones((1, *x.shape[1:-1], 1), np.bool_), False)
    best = np.zeros((len(x), *placed.counts, x.shape[-1]), x.dtype)
    chosen = np.full(best.shape, -1, np.int32)
    for number, at in enumerate(placed.elements()):
        element = placed.at(padded, *at)
        better = placed.at(inside, *at) & ((chosen < 0) | (element > best))
        best = np.where(better, element, best)
        chosen[better] = number
    return best, chosen


def _max_pool_grad(pool: _Pool, dtype: np.dtype[Any]) -> Pooling:
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
        for at, found in zip(placed.elements(), _maxima(placed, x), strict=True):
            # a mask of bits is several times faster than `where`
            mask = np.negative(found.view(np.int8), dtype=bits)
            if placed.is_disjoint:
                np.bitwise_and(g.view(bits), mask, out=placed.at(out, *at).view(bits))
            else:
                placed.at(out, *at)[...] += np.bitwise_and(g.view(bits), mask, out=mask).view(wide)
        return pool.result(placed.inner(out).astype(dtype, copy=False), value.shape)

    return call


kernel("MaxPoolGrad", "MaxPoolGradV2")(_with_windows(_max_pool_grad, 3))


def _max_pool_grad_grad(pool: _Pool, dtype: np.dtype[Any]) -> Pooling:
    def call(value: Array, output: Array, gradient: Array) -> Any:
        check_image("orig_input", value)
        _check_like(gradient, value)
        x, g = pool.image(value), pool.image(gradient)
        placed = pool.placed(x.shape)
        padded = placed.padded(g)
        out = np.zeros((len(x), *placed.counts, x.shape[3]), dtype)
        for at, found in zip(placed.elements(), _maxima(placed, x), strict=True):
            np.copyto(out, placed.at(padded, *at), where=found)
        result = pool.result(out, value.shape)
        _check_like(output, result)
        return result

    return call


kernel("MaxPoolGradGrad", "MaxPoolGradGradV2")(_with_windows(_max_pool_grad_grad, 3))


@kernel("MaxPool3DGrad")
def _max_pool_volume_grad(node: Node) -> Callable[..., Any]:
    pool, dtype = _Pool(node.attrs), node.attrs["T"].numpy
    wide = SINGLE if is_low(dtype) else dtype

    def call(value: Array, output: Array, gradient: Array) -> Any:
        _check_like(gradient, output)
        x, y, g = (channels_last(a, pool.layout) for a in (value, output, gradient))
        placed, g = pool.placed(x.shape), g.astype(wide, copy=False)
        check_gradient(g, (len(x), *placed.counts, x.shape[-1]))
        out, padded = placed.empty(len(x), x.shape[-1], wide), placed.padded(x, np.nan)
        for at in placed.elements():  # of several maxima, each gets all of it
            np.add(placed.at(out, *at), g, out=placed.at(out, *at),
                   where=placed.at(padded, *at) == y)  # fmt: skip
        return laid_out(placed.inner(out).astype(dtype, copy=False), pool.layout)

    return call


@kernel("MaxPool3DGradGrad")
def _max_pool_volume_grad_grad(node: Node) -> Callable[..., Any]:
    pool = _Pool(node.attrs)

    def call(value: Array, output: Array, gradient: Array) -> Any:
        _check_like(gradient, value)
        x, y, g = (channels_last(a, pool.layout) for a in (value, output, gradient))
        placed = pool.placed(x.shape)
        check_gradient(y, (len(x), *placed.counts, x.shape[-1]))
        padded, spread = placed.padded(x), placed.padded(g)
        inside = placed.padded(np.ones((1, *x.shape[1:-1], 1), np.bool_), False)
        out, is_open = np.zeros(y.shape, g.dtype), np.ones(y.shape, np.bool_)
        for at in placed.elements():
            found = (placed.at(padded, *at) == y) & is_open & placed.at(inside, *at)
            np.copyto(out, placed.at(spread, *at), where=found)
            is_open &= ~found
        return laid_out(out, pool.layout)

    return call


@kernel("MaxPoolWithArgmax")
def _max_pool_with_places(node: Node) -> Callable[..., Any]:
    pool, kind = _Pool(node.attrs), node.attrs["Targmax"].numpy
    whole = node.attrs["include_batch_in_index"]

    def call(value: Array) -> Any:
        check_image("input", value)
        placed = pool.placed(value.shape)
        best, chosen = _first_maxima(placed, value)
        _, rows, columns, channels = value.shape
        windows = np.indices(placed.counts)
        at = [
            windows[i] * placed.windows.strides[i] - placed.pads[i][0] for i in (0, 1)
        ]  # fmt: skip
        down, across = np.divmod(chosen, placed.size[1])
        row, column = at[0][..., None] + down, at[1][..., None] + across
        place = (row * columns + column) * channels + np.arange(channels)
        if whole:
            place += np.arange(len(value)).reshape(-1, 1, 1, 1) * (rows * columns * channels)
        return best, place.astype(kind)

    return call


def _places(value: Array, argmax: Array, whole: bool) -> Array:
    """Flat places in all images. Raises InvalidArgumentError for those outside."""
    size = math.prod(value.shape[1:])
    first = 0 if whole else np.arange(len(value)).reshape(-1, 1, 1, 1) * size
    place = argmax.astype(np.int64) + first
    if place.size and not 0 <= place.min() <= place.max() < value.size:
        raise InvalidArgumentError(
            f"argmax must be between 0 and {value.size}, got {argmax.min()} to {argmax.max()}"
        )
    return place


@kernel("MaxPoolGradWithArgmax")
@refusing
def _max_pool_grad_at_places(node: Node) -> Callable[..., Any]:
    pool, dtype, whole = _Pool(node.attrs), node.attrs["T"].numpy, _is_whole(node)
    wide = SINGLE if is_low(dtype) else dtype

    def call(value: Array, gradient: Array, argmax: Array) -> Any:
        check_image("input", value)
        _check_like(argmax, gradient)
        placed = pool.placed(value.shape)
        check_gradient(gradient, (len(value), *placed.counts, value.shape[3]))
        out = np.zeros(value.size, wide)
        np.add.at(out, _places(value, argmax, whole).ravel(), gradient.astype(wide).ravel())
        return out.reshape(value.shape).astype(dtype, copy=False)

    return call


@kernel("MaxPoolGradGradWithArgmax")
@refusing
def _max_pool_grad_grad_at_places(node: Node) -> Callable[..., Any]:
    whole = _is_whole(node)

    def call(value: Array, gradient: Array, argmax: Array) -> Any:
        return gradient.ravel()[_places(value, argmax, whole)]

    return call


def _is_whole(node: Node) -> bool:
    whole: bool = node.attrs["include_batch_in_index"]
    return whole


def _check_like(given: Array, want: Array) -> None:
    if given.shape != want.shape:
        raise InvalidArgumentError(
            f"shapes {list(given.shape)} and {list(want.shape)} where both are the same"
        )


def _counts(placed: Placed, image: tuple[int, ...], dtype: Any) -> Array:
    """How many elements each window has that are no padding; at least 1."""
    ones = placed.padded(np.ones((1, *image[1:-1], 1), dtype))
    out = np.zeros((1, *placed.counts, 1), dtype)
    for at in placed.elements():
        out += placed.at(ones, *at)
    return np.maximum(out, 1)


def _avg_pool(pool: _Pool, dtype: np.dtype[Any]) -> Pooling:
    wide = SINGLE if is_low(dtype) else dtype

    def call(value: Array, out: Array | None = None) -> Any:
        check_image("value", value, pool.rank)
        x = pool.image(value).astype(wide, copy=False)
        placed = pool.placed(x.shape)
        padded = placed.padded(x)
        result = _receiving(out, (len(x), *placed.counts, x.shape[-1]), wide)
        result[...] = 0
        for at in placed.elements():
            result += placed.at(padded, *at)
        result /= _counts(placed, x.shape, wide)
        return _received(out, result.astype(dtype, copy=False), pool, value.shape)

    return call


kernel("AvgPool", "AvgPool3D")(_with_windows(_avg_pool, 1))


@kernel("AvgPoolGrad", "AvgPool3DGrad")
def _avg_pool_grad(node: Node) -> Callable[..., Any]:
    pool, dtype = _Pool(node.attrs), node.attrs["T"].numpy
    wide = SINGLE if is_low(dtype) else dtype

    def call(sizes: Array, gradient: Array) -> Any:
        if sizes.shape != (pool.rank,) or sizes.min() < 0:
            raise InvalidArgumentError(
                f"the input's shape is {NUMBERS[pool.rank]} sizes, got {sizes.tolist()}"
            )
        check_image("grad", gradient, pool.rank)
        want = shape_last(tuple(map(int, sizes)), pool.layout)
        g = channels_last(gradient, pool.layout).astype(wide, copy=False)
        placed = pool.placed(want)
        check_gradient(g, (want[0], *placed.counts, want[-1]))
        out = placed.empty(want[0], want[-1], wide)
        g = g / _counts(placed, want, wide)
        for at in placed.elements():
            placed.at(out, *at)[...] += g
        return laid_out(placed.inner(out).astype(dtype), pool.layout)

    return call
