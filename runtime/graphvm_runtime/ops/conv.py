"""Convolutions over images and volumes, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.padding import mirrored
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import dims_of, refused, with_rank
from graphvm_runtime.ops.windows import (
    Windows,
    channel_axis,
    shape_as,
    spatial_axes,
    windows_of,
)
from graphvm_runtime.shapes import Dim, Shape, merged


def _convolved(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    rank = len(windows.layout)
    image, kernel = with_rank(ctx, 0, rank), with_rank(ctx, 1, rank)
    channels, (deep, many) = image[channel_axis(windows.layout)], kernel[-2:]
    if deep == 0 or (channels is not None and deep is not None and channels % deep):
        raise refused(f"{channels} channels of the input are no multiple of the filter's {deep}")
    if channels and deep and many is not None and many % (channels // deep):
        raise refused(f"{many} filters for {channels // deep} groups")
    return (shape_as((image[0], *_counts(windows, image, kernel), many), windows.layout),)


def _counts(windows: Windows, image: tuple[Dim, ...], kernel: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """How many windows of the filter's size there are."""
    return tuple(
        windows.static(i, image[axis], kernel[i])
        for i, axis in enumerate(spatial_axes(windows.layout))
    )


def _convolved_by_depth(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    image, kernel = with_rank(ctx, 0, 4), with_rank(ctx, 1, 4)
    channels, deep = image[channel_axis(windows.layout)], kernel[2]
    if channels is not None and deep is not None and channels != deep:
        raise refused(f"{channels} channels of the input, {deep} of the filter")
    channels = deep if channels is None else channels
    many = None if channels is None or kernel[3] is None else channels * kernel[3]
    return (shape_as((image[0], *_counts(windows, image, kernel), many), windows.layout),)


def _like_input(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    rank = len(windows.layout)
    kernel, gradient = with_rank(ctx, 1, rank), with_rank(ctx, 2, rank)
    sizes = dims_of(ctx, 0)
    if sizes is None:
        return ((None,) * rank,)
    if rank == 4 and len(sizes) == 2:  # rows and columns alone; the filter's channels, in a group
        return (shape_as((gradient[0], *sizes, kernel[-2]), windows.layout),)
    if len(sizes) != rank:
        short = ", or 2" if rank == 4 else ""
        raise refused(f"input sizes are {rank} numbers{short}, got {len(sizes)}")
    try:
        return (merged(sizes, (gradient[0], *(None,) * (rank - 1))),)
    except ShapeError as error:
        raise refused(error.what) from None


def _like_filter(ctx: ShapeContext) -> Sequence[Shape]:
    rank = len(windows_of(ctx.attrs).layout)
    with_rank(ctx, 0, rank)
    with_rank(ctx, 2, rank)
    sizes = dims_of(ctx, 1)
    if sizes is None:
        return ((None,) * rank,)
    if len(sizes) != rank:
        raise refused(f"filter sizes are {rank} numbers, got {len(sizes)}")
    return (sizes,)


def _padded_and_convolved(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    with_rank(ctx, 0, 4)
    image, kernel = mirrored(ctx)[0] or (None,) * 4, with_rank(ctx, 2, 4)
    if None not in (image[3], kernel[2]) and image[3] != kernel[2]:
        raise refused(f"{image[3]} channels of the input, {kernel[2]} of the filter")
    return ((image[0], *_counts(windows, image, kernel), kernel[3]),)


define("FusedPadConv2D", shape=_padded_and_convolved)
define("Conv2D", shape=_convolved)
define("Conv2DBackpropInput", shape=_like_input)
define("Conv2DBackpropFilter", shape=_like_filter)
define("DepthwiseConv2dNative", shape=_convolved_by_depth)
define("DepthwiseConv2dNativeBackpropInput", shape=_like_input)
define("DepthwiseConv2dNativeBackpropFilter", shape=_like_filter)
define("Conv3D", shape=_convolved)
define("Conv3DBackpropInputV2", shape=_like_input)
define("Conv3DBackpropFilterV2", shape=_like_filter)
