"""Convolutions over images, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import dims_of, refused, with_rank
from graphvm_runtime.ops.windows import (
    channel_axis,
    shape_as,
    spatial_axes,
    windows_of,
)
from graphvm_runtime.shapes import Shape, merged


def _convolved(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    image, kernel = with_rank(ctx, 0, 4), with_rank(ctx, 1, 4)
    channels, deep = image[channel_axis(windows.layout)], kernel[2]
    if deep == 0 or (channels is not None and deep is not None and channels % deep):
        raise refused(f"{channels} channels of the input are no multiple of the filter's {deep}")
    if channels and deep and kernel[3] is not None and kernel[3] % (channels // deep):
        raise refused(f"{kernel[3]} filters for {channels // deep} groups")
    rows, columns = (
        windows.static(i, image[axis], kernel[i])
        for i, axis in enumerate(spatial_axes(windows.layout))
    )
    return (shape_as((image[0], rows, columns, kernel[3]), windows.layout),)


def _convolved_by_depth(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    image, kernel = with_rank(ctx, 0, 4), with_rank(ctx, 1, 4)
    channels, deep = image[channel_axis(windows.layout)], kernel[2]
    if channels is not None and deep is not None and channels != deep:
        raise refused(f"{channels} channels of the input, {deep} of the filter")
    channels = deep if channels is None else channels
    rows, columns = (
        windows.static(i, image[axis], kernel[i])
        for i, axis in enumerate(spatial_axes(windows.layout))
    )
    many = None if channels is None or kernel[3] is None else channels * kernel[3]
    return (shape_as((image[0], rows, columns, many), windows.layout),)


def _like_input(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    kernel, gradient = with_rank(ctx, 1, 4), with_rank(ctx, 2, 4)
    sizes = dims_of(ctx, 0)
    if sizes is None:
        return ((None,) * 4,)
    if len(sizes) == 2:  # rows and columns alone; for all channels the filter has in a group
        return (shape_as((gradient[0], sizes[0], sizes[1], kernel[2]), windows.layout),)
    if len(sizes) != 4:
        raise refused(f"input sizes are 4 numbers, or 2, got {len(sizes)}")
    try:
        return (merged(sizes, (gradient[0], None, None, None)),)
    except ShapeError as error:
        raise refused(error.what) from None


def _like_filter(ctx: ShapeContext) -> Sequence[Shape]:
    windows_of(ctx.attrs)
    with_rank(ctx, 0, 4)
    with_rank(ctx, 2, 4)
    sizes = dims_of(ctx, 1)
    if sizes is None:
        return ((None,) * 4,)
    if len(sizes) != 4:
        raise refused(f"filter sizes are 4 numbers, got {len(sizes)}")
    return (sizes,)


define("Conv2D", shape=_convolved)
define("Conv2DBackpropInput", shape=_like_input)
define("Conv2DBackpropFilter", shape=_like_filter)
define("DepthwiseConv2dNative", shape=_convolved_by_depth)
define("DepthwiseConv2dNativeBackpropInput", shape=_like_input)
define("DepthwiseConv2dNativeBackpropFilter", shape=_like_filter)
