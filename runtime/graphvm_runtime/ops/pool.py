"""Pools over images, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import UnimplementedError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, dims_of, refused, with_rank
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.ops.windows import (
    Windows,
    channel_axis,
    spatial_axes,
    windows_of,
)
from graphvm_runtime.shapes import Shape


def pool_windows(attrs: Attrs) -> tuple[Windows, tuple[int, int], int]:
    """The windows of a pool, their size over rows and columns, and over channels.

    Raises:
        ShapeError: attributes are no windows.
        UnimplementedError: the windows span the batch, or channels together with rows or columns,
            or the layout is NCHW_VECT_C.
    """
    if attrs["data_format"] == b"NCHW_VECT_C":
        raise UnimplementedError("pools of the layout NCHW_VECT_C are not supported on a CPU")
    windows = windows_of(attrs, "ksize")
    sizes = attrs["ksize"]
    rows, columns = spatial_axes(windows.layout)
    channel = channel_axis(windows.layout)
    depth = sizes[channel]
    if depth != 1 or attrs["strides"][channel] != 1:
        if (sizes[rows], sizes[columns]) != (1, 1) or windows.strides != (1, 1):
            raise UnimplementedError("pools go over rows and columns, or over channels, not both")
        if depth != attrs["strides"][channel]:
            raise UnimplementedError("a pool over channels has a stride as long as its window")
    return windows, (sizes[rows], sizes[columns]), depth


def _pooled(ctx: ShapeContext) -> Sequence[Shape]:
    windows, sizes, depth = pool_windows(ctx.attrs)
    shape = list(with_rank(ctx, 0, 4))
    for i, axis in enumerate(spatial_axes(windows.layout)):
        shape[axis] = windows.static(i, shape[axis], sizes[i])
    channel = channel_axis(windows.layout)
    channels = shape[channel]
    if channels is not None and depth != 1:
        if channels % depth:
            raise refused(f"windows of {depth} do not divide {channels} channels")
        shape[channel] = channels // depth
    return (tuple(shape),)


def _averaged(ctx: ShapeContext) -> Sequence[Shape]:
    if pool_windows(ctx.attrs)[2] != 1:
        raise UnimplementedError("AvgPool over channels is not supported")
    return _pooled(ctx)


def _like_first(ctx: ShapeContext) -> Sequence[Shape]:
    pool_windows(ctx.attrs)
    with_rank(ctx, 0, 4)
    agreed([with_rank(ctx, 1, 4), with_rank(ctx, 2, 4)])
    return (with_rank(ctx, 0, 4),)


def _like_second(ctx: ShapeContext) -> Sequence[Shape]:
    pool_windows(ctx.attrs)
    agreed([with_rank(ctx, 0, 4), with_rank(ctx, 2, 4)])
    return (with_rank(ctx, 1, 4),)


def _of_sizes(ctx: ShapeContext) -> Sequence[Shape]:
    pool_windows(ctx.attrs)
    with_rank(ctx, 1, 4)
    sizes = dims_of(ctx, 0)
    if sizes is None:
        return ((None,) * 4,)
    if len(sizes) != 4:
        raise refused(f"the input's shape is four numbers, got {len(sizes)}")
    return (sizes,)


define("MaxPool", shape=_pooled)
define("MaxPoolGrad", shape=_like_first)
define("MaxPoolGradGrad", shape=_like_second)
define("AvgPool", shape=_averaged)
define("AvgPoolGrad", shape=_of_sizes)
