"""Kernels of convolutions: windows as a matrix, and one product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.blas import product
from graphvm_runtime.kernels.precision import wide
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.windows import (
    Placed,
    channels_last,
    check_gradient,
    check_image,
    laid_out,
)
from graphvm_runtime.ops.windows import Windows, shape_last, windows_of


def _placed(windows: Windows, image: tuple[int, ...], kernel_shape: tuple[int, ...]) -> Placed:
    """The windows of a filter on an NHWC image of that shape."""
    return Placed(windows, (image[1], image[2]), (kernel_shape[0], kernel_shape[1]))


def _groups(channels: int, shape: tuple[int, ...]) -> int:
    """How many groups of channels there are, each with filters of its own."""
    deep, many = shape[2], shape[3]
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
    """Shape of the input, as NHWC, from its sizes."""
    given = _sizes("input_sizes", sizes, (4, 2))
    if len(given) == 2:
        return (batch, *given, shape[2])
    return shape_last(given, windows.layout)


@kernel("Conv2D")
def _conv(node: Node) -> Callable[..., Any]:
    windows = windows_of(node.attrs)
    layout, dtype = windows.layout, node.attrs["T"].numpy

    def call(image: Array, filters: Array) -> Any:
        check_image("input", image)
        check_image("filter", filters)
        x, shape = channels_last(wide(image), layout), filters.shape
        groups = _groups(x.shape[3], shape)
        placed = _placed(windows, x.shape, shape)
        out_shape = (len(x), *placed.counts, shape[3])
        if 0 in out_shape:
            return laid_out(np.zeros(out_shape, dtype), layout)
        matrix, by = placed.matrix(x), wide(filters)
        if groups == 1:
            out = product(matrix.reshape(len(matrix), -1), by.reshape(-1, shape[3]))
        else:
            each = shape[3] // groups
            rows = matrix.reshape(len(matrix), -1, groups, shape[2]).transpose(2, 0, 1, 3)
            columns = by.reshape(-1, shape[2], groups, each).transpose(2, 0, 1, 3)
            out = product(
                rows.reshape(groups, len(matrix), -1), columns.reshape(groups, -1, each)
            ).transpose(1, 0, 2)
        return laid_out(out.reshape(out_shape).astype(dtype, copy=False), layout)

    return call


@kernel("Conv2DBackpropInput")
def _conv_to_input(node: Node) -> Callable[..., Any]:
    windows = windows_of(node.attrs)
    layout, dtype = windows.layout, node.attrs["T"].numpy

    def call(sizes: Array, filters: Array, gradient: Array) -> Any:
        check_image("filter", filters)
        check_image("out_backprop", gradient)
        shape = filters.shape
        g = channels_last(wide(gradient), layout)
        want = _image_shape(windows, sizes, shape, len(g))
        groups = _groups(want[3], shape)
        placed = _placed(windows, want, shape)
        check_gradient(g, (want[0], *placed.counts, shape[3]))
        by, each = wide(filters), shape[3] // groups
        out = placed.empty(want[0], want[3], by.dtype)
        if out.size and g.size:
            flat = g.reshape(-1, groups, each).transpose(1, 0, 2)
            for i, j in placed.elements():
                columns = by[i, j].reshape(shape[2], groups, each).transpose(1, 2, 0)
                part = product(flat, columns).transpose(1, 0, 2)
                placed.at(out, i, j)[...] += part.reshape(len(g), *placed.counts, want[3])
        return laid_out(placed.inner(out).astype(dtype), layout)

    return call


@kernel("Conv2DBackpropFilter")
def _conv_to_filter(node: Node) -> Callable[..., Any]:
    windows = windows_of(node.attrs)
    layout, dtype = windows.layout, node.attrs["T"].numpy

    def call(image: Array, sizes: Array, gradient: Array) -> Any:
        check_image("input", image)
        check_image("out_backprop", gradient)
        shape = _sizes("filter_sizes", sizes, (4,))
        x, g = channels_last(wide(image), layout), channels_last(wide(gradient), layout)
        groups = _groups(x.shape[3], shape)
        placed = _placed(windows, x.shape, shape)
        check_gradient(g, (len(x), *placed.counts, shape[3]))
        if 0 in shape or not x.size or not g.size:
            return np.zeros(shape, dtype)
        matrix, each = placed.matrix(x), shape[3] // groups
        if groups == 1:
            out = product(matrix.reshape(len(matrix), -1).T, g.reshape(len(matrix), -1))
            return out.reshape(shape).astype(dtype, copy=False)
        rows = matrix.reshape(len(matrix), -1, groups, shape[2]).transpose(2, 1, 3, 0)
        columns = g.reshape(len(matrix), groups, each).transpose(1, 0, 2)
        out = product(rows.reshape(groups, -1, len(matrix)), columns)
        out = out.reshape(groups, -1, each).transpose(1, 0, 2)
        return out.reshape(shape).astype(dtype, copy=False)

    return call


def _check_depth(channels: int, shape: tuple[int, ...]) -> None:
    if channels != shape[2]:
        raise InvalidArgumentError(
            f"{channels} channels of the input, {shape[2]} of the filter {list(shape)}"
        )


@kernel("DepthwiseConv2dNative")
def _depthwise(node: Node) -> Callable[..., Any]:
    windows = windows_of(node.attrs)
    layout, dtype = windows.layout, node.attrs["T"].numpy

    def call(image: Array, filters: Array) -> Any:
        check_image("input", image)
        check_image("filter", filters)
        x, by = channels_last(wide(image), layout), wide(filters)
        _check_depth(x.shape[3], by.shape)
        placed = _placed(windows, x.shape, by.shape)
        padded = placed.padded(x)
        out = np.zeros((len(x), *placed.counts, *by.shape[2:]), by.dtype)
        if out.size:
            for i, j in placed.elements():
                out += placed.at(padded, i, j)[..., None] * by[i, j]
        out = out.reshape(len(x), *placed.counts, by.shape[2] * by.shape[3])
        return laid_out(out.astype(dtype, copy=False), layout)

    return call


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
