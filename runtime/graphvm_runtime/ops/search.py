"""Places among sorted numbers, counts in bins, the nth number, the best few."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    refused,
    unchanged,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Shape, shape_text


def _bound(ctx: ShapeContext) -> Sequence[Shape]:
    rows, _ = with_rank(ctx, 0, 2)
    values = with_rank(ctx, 1, 2)
    agreed([(rows,), values[:1]])
    return (values,)


def _bins(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 1, 0)
    size = ctx.scalar(1)
    if size is not None and size < 0:
        raise refused(f"size must not be negative, got {size}")
    if ctx.op.name == "Bincount":
        return ((size,),)
    shape = ctx.shapes[0]
    if shape is not None and len(shape) not in (1, 2):
        raise refused(f"input must be a vector or a matrix, got {shape_text(shape)}")
    if shape is None:
        return (None,)
    return ((*shape[:-1], size),)


def _histogram(ctx: ShapeContext) -> Sequence[Shape]:
    agreed([with_rank(ctx, 1, 1), (2,)])
    with_rank(ctx, 2, 0)
    count = ctx.scalar(2)
    if count is not None and count <= 0:
        raise refused(f"nbins must be positive, got {count}")
    return ((count,),)


def _in_top_k(ctx: ShapeContext) -> Sequence[Shape]:
    predictions, targets = with_rank(ctx, 0, 2), with_rank(ctx, 1, 1)
    if len(ctx.shapes) > 2:
        with_rank(ctx, 2, 0)
    return (agreed([predictions[:1], targets]),)


def _nth(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 1)
    with_rank(ctx, 1, 0)
    n = ctx.scalar(1)
    if n is not None and n < 0:
        raise refused(f"n must not be negative, got {n}")
    if shape is None:
        return (None,)
    if n is not None and shape[-1] is not None and n >= shape[-1]:
        raise refused(f"n must be less than the {shape[-1]} columns, got {n}")
    return (shape[:-1],)


define("Bucketize", shape=unchanged)
define("LowerBound", "UpperBound", shape=_bound)
define("Bincount", "DenseBincount", shape=_bins)
define("HistogramFixedWidth", shape=_histogram)
define("InTopK", "InTopKV2", shape=_in_top_k)
define("NthElement", shape=_nth)
