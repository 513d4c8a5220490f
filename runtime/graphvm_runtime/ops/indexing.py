"""Ops that take or put elements by their numbers: one-hot rows, points, the greatest ones."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, dims_of, refused, with_rank_at_least
from graphvm_runtime.shapes import Shape, shape_text


def _one_hot(ctx: ShapeContext) -> Sequence[Shape]:
    for i, name in ((1, "depth"), (2, "on_value"), (3, "off_value")):
        if ctx.shapes[i] is not None and ctx.shapes[i] != ():
            raise refused(f"{name} is a scalar, got {shape_text(ctx.shapes[i])}")
    depth, axis = ctx.scalar(1), int(ctx.attrs["axis"])
    if depth is not None and depth < 0:
        raise refused(f"depth is not negative, got {depth}")
    if axis < -1:
        raise refused(f"axis is -1 or counted from the front, got {axis}")
    shape = ctx.shapes[0]
    if shape is None:
        return (None,)
    if axis > len(shape):
        raise refused(f"axis {axis} is beyond the rank {len(shape)} of the indices")
    at = len(shape) if axis == -1 else axis
    return ((*shape[:at], depth, *shape[at:]),)


define("OneHot", shape=_one_hot)


def _gather_nd(ctx: ShapeContext) -> Sequence[Shape]:
    params = with_rank_at_least(ctx, 0, 1)
    indices = with_rank_at_least(ctx, 1, 1)
    if params is None or indices is None or indices[-1] is None:
        return (None,)
    if indices[-1] > len(params):
        raise refused(f"an index of {indices[-1]} numbers for params of shape {shape_text(params)}")
    return ((*indices[:-1], *params[indices[-1] :]),)


define("GatherNd", shape=_gather_nd)


def _scatter_nd(ctx: ShapeContext) -> Sequence[Shape]:
    indices, updates = with_rank_at_least(ctx, 0, 1), ctx.shapes[1]
    shape = dims_of(ctx, 2)
    if indices is not None and updates is not None:
        outer = len(indices) - 1
        if len(updates) < outer:
            raise refused(f"updates of shape {shape_text(updates)} for {shape_text(indices)}")
        agreed([updates[:outer], indices[:-1]])
        depth = indices[-1]
        if shape is not None and depth is not None:
            if depth > len(shape):
                raise refused(f"an index of {depth} numbers for {shape_text(shape)}")
            agreed([updates[outer:], shape[depth:]])
    return (shape,)


define("ScatterNd", shape=_scatter_nd)


def _top_k(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 1)
    if ctx.shapes[1] is not None and ctx.shapes[1] != ():
        raise refused(f"k is a scalar, got {shape_text(ctx.shapes[1])}")
    k = ctx.scalar(1)
    if k is not None and k < 0:
        raise refused(f"k is not negative, got {k}")
    if shape is None:
        return (None, None)
    if k is not None and shape[-1] is not None and shape[-1] < k:
        raise refused(f"k = {k} of the {shape[-1]} columns of {shape_text(shape)}")
    found = (*shape[:-1], k)
    return (found, found)


define("TopKV2", shape=_top_k)
