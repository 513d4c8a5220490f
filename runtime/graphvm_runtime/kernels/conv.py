"""Kernels of convolutions: windows as a matrix, and one product."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.blas import product
from graphvm_runtime.kernels.padding import mirrored
from graphvm_runtime.kernels.precision import is_low, wide
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.kernels.windows import (
    Placed,
    channels_last,
    check_gradient,
    check_image,
    laid_out,
)
from graphvm_runtime.ops.windows import Windows, is_channels_first, shape_last, windows_of


def _placed(windows: Windows, image: tuple[int, ...], kernel_shape: tuple[int, ...]) -> Placed:
    """The windows of a filter on an image of that shape, channels last."""
    return Placed(windows, image[1:-1], kernel_shape[:-2])


def _groups(channels: int, shape: tuple[int, ...]) -> int:
    """How many groups of channels there are, each with filters of its own."""
    deep, many = shape[-2:]
    if not deep or not channels or channels % deep or many % (channels // deep):
        raise InvalidArgumentError(
            f"{channels} channels of the input for a filter of {list(shape)}: they are a multiple "
            "of the filter's, and the filters a multiple of the groups"
        )
    return channels // deep


def _sizes(name: str, sizes: Array, count: tuple[int, ...]) -> tuple[int, ...]:
    if sizes.ndim != 1 or len(sizes) not in count or (len(sizes) and sizes.min() < 0):
        raise InvalidArgumentError(f"{name} are {count[0]} sizes, got {sizes.tolist()}")
    return tuple(map(int, sizes))


def _image_shape(windows: Windows, sizes: Array, shape: tuple[int, ...], batch: int) -> Any:
    """Shape of the input, channels last, from its sizes."""
    rank = len(windows.layout)
    given = _sizes("input_sizes", sizes, (4, 2) if rank == 4 else (rank,))
    if len(given) == 2:
        return (batch, *given, shape[2])
    return shape_last(given, windows.layout)


def _each_group(x: Array, groups: int, channels: int) -> Array:
    """The last axis, of all groups after all else, moved into a matrix for each group."""
    rows = x.reshape(len(x), -1, groups, channels).transpose(2, 0, 1, 3)
    return rows.reshape(groups, len(x), -1)


def convolved(image: Array, filters: Array, windows: Windows, out: Array | None = None) -> Array:
    """An image convolved with filters, both of a type that BLAS has or of integers.

    Args:
        image: channels last.
        filters: [sizes of a window ..., channels of a group, filters].
        windows: how they slide.
        out: what receives the result, channels last, of its exact shape and type.

    Raises:
        InvalidArgumentError: the filters are of other channels, or do not fit into the image.
    """
    shape = filters.shape
    groups, placed = _groups(image.shape[-1], shape), _placed(windows, image.shape, shape)
    if out is None:
        out = np.empty((len(image), *placed.counts, shape[-1]), filters.dtype)
    if not out.size:
        return out
    if 0 in shape:
        out[...] = 0
        return out
    flat = out.reshape(-1, groups, shape[-1] // groups).transpose(1, 0, 2)
    by = filters.reshape(-1, groups, shape[-1] // groups).transpose(1, 0, 2)
    for rows, matrix in placed.tiles(image):
        if groups == 1:
            product(matrix.reshape(len(matrix), -1), filters.reshape(-1, shape[-1]), flat[0][rows])
        else:
            flat[:, rows] = product(_each_group(matrix, groups, shape[-2]), by)
    return out


def forward(
    convolve: Callable[..., Array], windows: Windows, dtype: np.dtype[Any]
) -> Callable[..., Any]:
    """A kernel, with `out`, from a function of images whose channels are last, in wide types.

    Args:
        convolve: takes image, filters, windows and `out`, as `convolved` does.
        windows: how they slide.
        dtype: of the result.
    """
    layout = windows.layout
    direct = not is_low(dtype) and not is_channels_first(layout)

    def call(image: Array, filters: Array, out: Array | None = None) -> Any:
        check_image("input", image, len(layout))
        check_image("filter", filters, len(layout))
        x, by = channels_last(wide(image), layout), wide(filters)
        if direct and out is not None and out.flags.c_contiguous:
            return convolve(x, by, windows, out)
        result = laid_out(convolve(x, by, windows, None), layout)
        if out is None:
            return result.astype(dtype, copy=False)
        out[...] = result
        return out

    return call


@kernel("Conv2D", "Conv3D")
def _conv(node: Node) -> Kernel:
    return Kernel(forward(convolved, windows_of(node.attrs), node.attrs["T"].numpy), out=True)


@kernel("FusedPadConv2D")
@refusing
def _padded_conv(node: Node) -> Callable[..., Any]:
    windows, dtype = windows_of(node.attrs), node.attrs["T"].numpy
    pad = mirrored(node.attrs["mode"])

    def call(image: Array, paddings: Array, filters: Array) -> Any:
        return convolved(pad(wide(image), paddings), wide(filters), windows).astype(
            dtype, copy=False
        )

    return call


@kernel("Conv2DBackpropInput", "Conv3DBackpropInputV2")
def _conv_to_input(node: Node) -> Callable[..., Any]:
    windows = windows_of(node.attrs)
    layout, dtype = windows.layout, node.attrs["T"].numpy

    def call(sizes: Array, filters: Array, gradient: Array) -> Any:
        check_image("filter", filters, len(layout))
        check_image("out_backprop", gradient, len(layout))
        shape = filters.shape
        g = channels_last(wide(gradient), layout)
        want = _image_shape(windows, sizes, shape, len(g))
        groups = _groups(want[-1], shape)
        placed = _placed(windows, want, shape)
        check_gradient(g, (want[0], *placed.counts, shape[-1]))
        by, each = wide(filters), shape[-1] // groups
        out = placed.empty(want[0], want[-1], by.dtype)
        if out.size and g.size:
            flat = g.reshape(-1, groups, each).transpose(1, 0, 2)
            for position in placed.elements():
                columns = by[position].reshape(shape[-2], groups, each).transpose(1, 2, 0)
                part = product(flat, columns).transpose(1, 0, 2)
                placed.at(out, *position)[...] += part.reshape(len(g), *placed.counts, want[-1])
        return laid_out(placed.inner(out).astype(dtype), layout)

    return call


@kernel("Conv2DBackpropFilter", "Conv3DBackpropFilterV2")
def _conv_to_filter(node: Node) -> Callable[..., Any]:
    windows = windows_of(node.attrs)
    layout, dtype = windows.layout, node.attrs["T"].numpy

    def call(image: Array, sizes: Array, gradient: Array) -> Any:
        check_image("input", image, len(layout))
        check_image("out_backprop", gradient, len(layout))
        shape = _sizes("filter_sizes", sizes, (len(layout),))
        x, g = channels_last(wide(image), layout), channels_last(wide(gradient), layout)
        groups = _groups(x.shape[-1], shape)
        placed = _placed(windows, x.shape, shape)
        check_gradient(g, (len(x), *placed.counts, shape[-1]))
        each = shape[-1] // groups
        out = np.zeros((groups, math.prod(shape[:-1]), each), x.dtype)
        if out.size and x.size and g.size:
            flat = g.reshape(-1, groups, each).transpose(1, 0, 2)
            for rows, matrix in placed.tiles(x):
                columns = _each_group(matrix, groups, shape[-2]).transpose(0, 2, 1)
                out += product(columns, flat[:, rows])
        return out.transpose(1, 0, 2).reshape(shape).astype(dtype, copy=False)

    return call


def _check_depth(channels: int, shape: tuple[int, ...]) -> None:
    if channels != shape[2]:
        raise InvalidArgumentError(
            f"{channels} channels of the input, {shape[2]} of the filter {list(shape)}"
        )


def _convolved_by_depth(x: Array, by: Array, windows: Windows, out: Array | None) -> Array:
    _check_depth(x.shape[3], by.shape)
    placed = _placed(windows, x.shape, by.shape)
    padded = placed.padded(x)
    shape = (len(x), *placed.counts, by.shape[2] * by.shape[3])
    out = np.empty(shape, by.dtype) if out is None else out
    out[...] = 0
    if out.size:
        deep = out.reshape(*shape[:-1], *by.shape[2:])
        for i, j in placed.elements():
            deep += placed.at(padded, i, j)[..., None] * by[i, j]
    return out


@kernel("DepthwiseConv2dNative")
def _depthwise(node: Node) -> Kernel:
    call = forward(_convolved_by_depth, windows_of(node.attrs), node.attrs["T"].numpy)
    return Kernel(call, out=True)


@kernel("DepthwiseConv2dNativeBackpropInput")
def _depthwise_to_input(node: Node) -> Callable[..., Any]:
    windows = windows_of(node.attrs)
    layout, dtype = windows.layout, node.attrs["T"].numpy

    def call(sizes: Array, filters: Array, gradient: Array) -> Any:
        check_image("filter", filters)
        check_image("out_backprop", gradient)
        by, g = wide(filters), channels_last(wide(gradient), layout)
        want = _image_shape(windows, sizes, by.shape, len(g))
        _check_depth(want[3], by.shape)
        placed = _placed(windows, want, by.shape)
        check_gradient(g, (want[0], *placed.counts, want[3] * by.shape[3]))
        out = placed.empty(want[0], want[3], by.dtype)
        if out.size and g.size:
            g = g.reshape(*g.shape[:3], *by.shape[2:])
            for i, j in placed.elements():
                placed.at(out, i, j)[...] += (g * by[i, j]).sum(-1)
        return laid_out(placed.inner(out).astype(dtype), layout)

    return call


@kernel("DepthwiseConv2dNativeBackpropFilter")
def _depthwise_to_filter(node: Node) -> Callable[..., Any]:
    windows = windows_of(node.attrs)
    layout, dtype = windows.layout, node.attrs["T"].numpy

    def call(image: Array, sizes: Array, gradient: Array) -> Any:
        check_image("input", image)
        check_image("out_backprop", gradient)
        shape = _sizes("filter_sizes", sizes, (4,))
        x, g = channels_last(wide(image), layout), channels_last(wide(gradient), layout)
        _check_depth(x.shape[3], shape)
        placed = _placed(windows, x.shape, shape)
        check_gradient(g, (len(x), *placed.counts, shape[2] * shape[3]))
        out = np.zeros(shape, x.dtype)
        if out.size and x.size and g.size:
            padded, g = placed.padded(x), g.reshape(*g.shape[:3], *shape[2:])
            for i, j in placed.elements():
                out[i, j] = (placed.at(padded, i, j)[..., None] * g).sum((0, 1, 2))
        return out.astype(dtype, copy=False)

    return call
