"""Reductions of rows by segments: by ids that are in order, by any ids, of chosen rows."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    ranked,
    refused,
    unsorted_segments,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Dim, Shape


def _sorted(ctx: ShapeContext) -> Sequence[Shape]:
    data = with_rank_at_least(ctx, 0, 1)
    ids = with_rank(ctx, 1, 1)
    if data is None:
        return (None,)
    agreed([ids, data[:1]])
    return ((None, *data[1:]),)


def _chosen(ctx: ShapeContext) -> Dim:
    """The number of segments, where an input gives one; checks indices and ids."""
    agreed([with_rank(ctx, 1, 1), with_rank(ctx, 2, 1)])
    if len(ctx.shapes) < 4:
        return None
    with_rank(ctx, 3, 0)
    count = ctx.scalar(3)
    if count is not None and count < 0:
        raise refused(f"the number of rows must not be negative, got {count}")
    return count


def _of_chosen(ctx: ShapeContext) -> Sequence[Shape]:
    data = with_rank_at_least(ctx, 0, 1)
    count = _chosen(ctx)
    return (None if data is None else (count, *data[1:]),)


define(
    "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentSum",
    shape=ranked(unsorted_segments, num_segments=0),
)  # fmt: skip
define("SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd", "SegmentSum", shape=_sorted)
for _kind in ("Mean", "SqrtN", "Sum"):
    define(
        f"SparseSegment{_kind}", f"SparseSegment{_kind}WithNumSegments",
        f"SparseSegment{_kind}Grad", shape=_of_chosen,
    )  # fmt: skip
