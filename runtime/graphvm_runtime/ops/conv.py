"""Convolutions over images, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import FLOATS, int32
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import AttrDef, ShapeContext, boolean, define, list_of, types
from graphvm_runtime.ops.shape_functions import dims_of, refused, with_rank
from graphvm_runtime.ops.windows import (
    ANY_PADDING,
    EXPLICIT,
    LAYOUT,
    WINDOW,
    channel_axis,
    shape_as,
    spatial_axes,
    windows_of,
)
from graphvm_runtime.shapes import Shape, merged

DIVIDES = "C5: the channels are a multiple of those of a filter, the filters of the groups"
SAME_CHANNELS = "C5: input and filter have the same channels"


def _convolved(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    image, kernel = with_rank(ctx, 0, 4, 3), with_rank(ctx, 1, 4, 3)
    channels, deep = image[channel_axis(windows.layout)], kernel[2]
    if deep == 0 or (channels is not None and deep is not None and channels % deep):
        raise refused(f"{channels} channels of the input are no multiple of the filter's {deep}", 5)
    if channels and deep and kernel[3] is not None and kernel[3] % (channels // deep):
        raise refused(f"{kernel[3]} filters for {channels // deep} groups", 5)
    rows, columns = (
        windows.static(i, image[axis], kernel[i])
        for i, axis in enumerate(spatial_axes(windows.layout))
    )
    return (shape_as((image[0], rows, columns, kernel[3]), windows.layout),)


def _convolved_by_depth(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    image, kernel = with_rank(ctx, 0, 4, 3), with_rank(ctx, 1, 4, 3)
    channels, deep = image[channel_axis(windows.layout)], kernel[2]
    if channels is not None and deep is not None and channels != deep:
        raise refused(f"{channels} channels of the input, {deep} of the filter", 5)
    channels = deep if channels is None else channels
    rows, columns = (
        windows.static(i, image[axis], kernel[i])
        for i, axis in enumerate(spatial_axes(windows.layout))
    )
    many = None if channels is None or kernel[3] is None else channels * kernel[3]
    return (shape_as((image[0], rows, columns, many), windows.layout),)


def _like_input(ctx: ShapeContext) -> Sequence[Shape]:
    windows = windows_of(ctx.attrs)
    kernel, gradient = with_rank(ctx, 1, 4, 3), with_rank(ctx, 2, 4, 3)
    sizes = dims_of(ctx, 0, 6)
    if sizes is None:
        return ((None,) * 4,)
    if len(sizes) == 2:  # rows and columns alone; for all channels the filter has in a group
        return (shape_as((gradient[0], sizes[0], sizes[1], kernel[2]), windows.layout),)
    if len(sizes) != 4:
        raise refused(f"input sizes are 4 numbers, or 2, got {len(sizes)}", 6)
    try:
        return (merged(sizes, (gradient[0], None, None, None)),)
    except ShapeError as error:
        raise refused(error.what, 6) from None


def _like_filter(ctx: ShapeContext) -> Sequence[Shape]:
    windows_of(ctx.attrs)
    with_rank(ctx, 0, 4, 3)
    with_rank(ctx, 2, 4, 3)
    sizes = dims_of(ctx, 1, 6)
    if sizes is None:
        return ((None,) * 4,)
    if len(sizes) != 4:
        raise refused(f"filter sizes are 4 numbers, got {len(sizes)}", 6)
    return (sizes,)


SIZES = "C6: sizes are those of the tensor that is wanted"
_FLOAT = types(*FLOATS)
_NUMBER = types(*FLOATS, int32)


def _attrs(dtype: AttrDef, cudnn: bool = True) -> dict[str, AttrDef]:
    given = {"T": dtype, "strides": list_of("int")}
    if cudnn:
        given["use_cudnn_on_gpu"] = boolean(True)
    return {**given, "padding": ANY_PADDING, "explicit_paddings": EXPLICIT,
            "data_format": LAYOUT, "dilations": list_of("int", (1, 1, 1, 1))}  # fmt: skip


_BACK_TO_INPUT = "input_sizes: int32, filter: T, out_backprop: T -> output: T"
_BACK_TO_FILTER = "input: T, filter_sizes: int32, out_backprop: T -> output: T"
_CONV = (*WINDOW, DIVIDES)
_DEPTHWISE = (*WINDOW, SAME_CHANNELS)
define("Conv2D", "input: T, filter: T -> output: T", _attrs(_NUMBER), shape=_convolved,
       constraints=_CONV)  # fmt: skip
define("Conv2DBackpropInput", _BACK_TO_INPUT, _attrs(_NUMBER), shape=_like_input,
       constraints=[*_CONV, SIZES])  # fmt: skip
define("Conv2DBackpropFilter", _BACK_TO_FILTER, _attrs(_FLOAT), shape=_like_filter,
       constraints=[*_CONV, SIZES])  # fmt: skip
define("DepthwiseConv2dNative", "input: T, filter: T -> output: T", _attrs(_FLOAT, False),
       shape=_convolved_by_depth, constraints=_DEPTHWISE)  # fmt: skip
define("DepthwiseConv2dNativeBackpropInput", _BACK_TO_INPUT, _attrs(_FLOAT, False),
       shape=_like_input, constraints=[*_DEPTHWISE, SIZES])  # fmt: skip
define("DepthwiseConv2dNativeBackpropFilter", _BACK_TO_FILTER, _attrs(_FLOAT, False),
       shape=_like_filter, constraints=[*_DEPTHWISE, SIZES])  # fmt: skip
