"""Different elements, in the order in which they come."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import normalized, refused, with_rank
from graphvm_runtime.shapes import Shape


def _unique(ctx: ShapeContext) -> Sequence[Shape]:
    found = with_rank(ctx, 0, 1)
    return ((None,), found, (None,))[: len(ctx.op.outputs)]


def _unique_along(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    (count,) = with_rank(ctx, 1, 1)
    if count not in (None, 0, 1):
        raise refused(f"axis must have at most one element, got {count}")
    axes = ctx.integers(1)
    found: Shape = None
    index: Shape = (None,)
    if count == 0 or axes == ():
        if shape is not None and len(shape) != 1:
            raise refused("without an axis, x must be a vector")
        found, index = (None,), shape if shape is not None else (None,)
    elif shape is not None and axes is not None:
        found, index = (None,) * len(shape), (shape[normalized(axes[0], len(shape))],)
    elif shape is not None:
        found = (None,) * len(shape)
    return (found, index, (None,))[: len(ctx.op.outputs)]


def _list_diff(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 0, 1)
    with_rank(ctx, 1, 1)
    return ((None,), (None,))


define("Unique", "UniqueWithCounts", shape=_unique)
define("UniqueV2", "UniqueWithCountsV2", shape=_unique_along)
define("ListDiff", shape=_list_diff)
