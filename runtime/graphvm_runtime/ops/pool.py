"""Pools over images and volumes, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import UnimplementedError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    dims_of,
    refused,
    unchanged,
    unknown_of_rank,
    with_rank,
)
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.ops.windows import Windows, channel_axis, spatial_axes, windows_of
from graphvm_runtime.shapes import Shape, shape_text


def pool_windows(attrs: Attrs) -> tuple[Windows, tuple[int, ...], int]:
    """The windows of a pool, their size over each spatial axis, and over channels.

    Raises:
        ShapeError: attributes are no windows.
        UnimplementedError: the windows span the batch, or channels together with other axes, or
            the layout is NCHW_VECT_C.
    """
    if attrs.get("data_format") == b"NCHW_VECT_C":
        raise UnimplementedError("pools of the layout NCHW_VECT_C are not supported on a CPU")
    windows = windows_of(attrs, "ksize")
    sizes = tuple(attrs["ksize"][axis] for axis in spatial_axes(windows.layout))
    channel = channel_axis(windows.layout)
    depth = attrs["ksize"][channel]
    if depth != 1 or attrs["strides"][channel] != 1:
        if len(sizes) != 2:
            raise UnimplementedError("pools over the channels of volumes are not supported")
        if max(sizes) != 1 or max(windows.strides) != 1:
            raise UnimplementedError("pools go over rows and columns, or over channels, not both")
        if depth != attrs["strides"][channel]:
            raise UnimplementedError("a pool over channels has a stride as long as its window")
    return windows, sizes, depth


def given_windows(attrs: Attrs, ksize: Array, strides: Array) -> Attrs:
    """The attributes of a pool whose windows are inputs."""
    return {**attrs, "ksize": tuple(ksize.tolist()), "strides": tuple(strides.tolist())}


def _pooled(ctx: ShapeContext) -> Sequence[Shape]:
    return (_result(ctx, ctx.attrs),)


def _result(ctx: ShapeContext, attrs: Attrs) -> Shape:
    windows, sizes, depth = pool_windows(attrs)
    shape = list(with_rank(ctx, 0, len(windows.layout)))
    for i, axis in enumerate(spatial_axes(windows.layout)):
        shape[axis] = windows.static(i, shape[axis], sizes[i])
    channel = channel_axis(windows.layout)
    channels = shape[channel]
    if channels is not None and depth != 1:
        if channels % depth:
            raise refused(f"windows of {depth} do not divide {channels} channels")
        shape[channel] = channels // depth
    return tuple(shape)


def _pooled_by_inputs(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank(ctx, 0, 4)
    attrs = _attrs_of_inputs(ctx, 1)
    if attrs is None:
        return ((shape[0], None, None, None),)
    return (_result(ctx, attrs),)


def _attrs_of_inputs(ctx: ShapeContext, first: int) -> Attrs | None:
    """Attributes with windows from two inputs, None where these are not known."""
    for index in (first, first + 1):
        if ctx.shapes[index] not in (None, (None,), (4,)):
            raise refused(
                f"ksize and strides must have 4 elements, got {shape_text(ctx.shapes[index])}"
            )
    ksize, strides = ctx.constant(first), ctx.constant(first + 1)
    if ksize is None or strides is None:
        return None
    return given_windows(ctx.attrs, ksize, strides)


def _averaged(ctx: ShapeContext) -> Sequence[Shape]:
    if pool_windows(ctx.attrs)[2] != 1:
        raise UnimplementedError("AvgPool over channels is not supported")
    return _pooled(ctx)


def _with_places(ctx: ShapeContext) -> Sequence[Shape]:
    if pool_windows(ctx.attrs)[2] != 1:
        raise UnimplementedError("the places of maxima over channels are not supported")
    return (*_pooled(ctx), *_pooled(ctx))


def _rank(ctx: ShapeContext) -> int:
    return len(pool_windows(ctx.attrs)[0].layout) if "ksize" in ctx.attrs else 4


def _check_windows(ctx: ShapeContext) -> None:
    """Checks windows that come as the last two inputs."""
    if "ksize" not in ctx.attrs:
        _attrs_of_inputs(ctx, 3)


def _like_first(ctx: ShapeContext) -> Sequence[Shape]:
    rank = _rank(ctx)
    _check_windows(ctx)
    if rank == 4:
        agreed([with_rank(ctx, 1, 4), with_rank(ctx, 2, 4)])
    with_rank(ctx, 1, rank), with_rank(ctx, 2, rank)
    return (with_rank(ctx, 0, rank),)


def _like_second(ctx: ShapeContext) -> Sequence[Shape]:
    rank = _rank(ctx)
    _check_windows(ctx)
    agreed([with_rank(ctx, 0, rank), with_rank(ctx, 2, rank)])
    return (with_rank(ctx, 1, rank),)


def _like_third(ctx: ShapeContext) -> Sequence[Shape]:
    agreed([with_rank(ctx, 0, 4), with_rank(ctx, 1, 4)])
    return (with_rank(ctx, 2, 4),)


def _of_sizes(ctx: ShapeContext) -> Sequence[Shape]:
    rank = _rank(ctx)
    with_rank(ctx, 1, rank)
    sizes = dims_of(ctx, 0)
    if sizes is None:
        return (unknown_of_rank(rank),)
    if len(sizes) != rank:
        raise refused(f"the input's shape is {NUMBERS[rank]} numbers, got {len(sizes)}")
    return (sizes,)


NUMBERS = {4: "four", 5: "five"}
define("MaxPool", "MaxPool3D", shape=_pooled)
define("MaxPoolV2", shape=_pooled_by_inputs)
define("MaxPoolGrad", "MaxPoolGradV2", "MaxPool3DGrad", shape=_like_first)
define("MaxPoolGradGrad", "MaxPoolGradGradV2", "MaxPool3DGradGrad", shape=_like_second)
define("MaxPoolWithArgmax", shape=_with_places)
define("MaxPoolGradWithArgmax", shape=unchanged)
define("MaxPoolGradGradWithArgmax", shape=_like_third)
define("AvgPool", "AvgPool3D", shape=_averaged)
define("AvgPoolGrad", "AvgPool3DGrad", shape=_of_sizes)
