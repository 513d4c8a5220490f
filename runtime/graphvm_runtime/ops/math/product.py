"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    refused,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Shape, broadcast, shape_text


def _matmul(ctx: ShapeContext) -> Sequence[Shape]:
    a, b = with_rank(ctx, 0, 2), with_rank(ctx, 1, 2)
    rows, inner = reversed(a) if ctx.attrs["transpose_a"] else a
    below, columns = reversed(b) if ctx.attrs["transpose_b"] else b
    if inner is not None and below is not None and inner != below:
        raise refused(
            f"inner dimensions differ: {inner} of {shape_text(a)} against {below} of "
            f"{shape_text(b)}",
        )
    return ((rows, columns),)


def _batch_matmul(ctx: ShapeContext) -> Sequence[Shape]:
    x, y = with_rank_at_least(ctx, 0, 2), with_rank_at_least(ctx, 1, 2)
    if x is None or y is None:
        return (None,)
    rows, inner = reversed(x[-2:]) if ctx.attrs["adj_x"] else x[-2:]
    below, columns = reversed(y[-2:]) if ctx.attrs["adj_y"] else y[-2:]
    if inner is not None and below is not None and inner != below:
        raise refused(
            f"inner dimensions differ: {inner} of {shape_text(x)} against {below} of "
            f"{shape_text(y)}",
        )
    try:
        batch = broadcast(x[:-2], y[:-2]) or ()
    except ShapeError as error:
        raise refused(error.what, error.do) from None
    return ((*batch, rows, columns),)


define("MatMul", shape=_matmul)


def _same_batch(ctx: ShapeContext) -> Sequence[Shape]:
    """The older form, which does not broadcast."""
    (found,) = _batch_matmul(ctx)
    x, y = ctx.shapes
    if x is not None and y is not None:
        agreed([x[:-2], y[:-2]])
    return (found,)


define("SparseMatMul", shape=_matmul)
define("BatchMatMulV2", "BatchMatMulV3", shape=_batch_matmul)
define("BatchMatMul", shape=_same_batch)
