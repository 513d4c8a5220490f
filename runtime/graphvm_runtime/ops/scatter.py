"""Copies of tensors with rows or slices replaced, added to or compared with updates."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.array import strided_slice
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, refused, with_rank_at_least
from graphvm_runtime.shapes import Shape, shape_text


def scattered(ctx: ShapeContext, into: Shape, indices: int, updates: int) -> Shape:
    """The shape that rows at `indices` are put into, which that of the updates must fit."""
    places, rows = with_rank_at_least(ctx, indices, 1), ctx.shapes[updates]
    if places is None or rows is None:
        return into
    outer, depth = len(places) - 1, places[-1]
    if len(rows) < outer:
        raise refused(
            f"updates must start with the shape {shape_text(places[:-1])}, got {shape_text(rows)}"
        )
    agreed([rows[:outer], places[:-1]])
    if into is not None and depth is not None:
        if depth > len(into):
            raise refused(f"indices must have at most {len(into)} columns, got {depth}")
        agreed([rows[outer:], into[depth:]])
    return into


def _rows(ctx: ShapeContext) -> Sequence[Shape]:
    into = ctx.shapes[0]
    if ctx.op.name.startswith("Tensor"):
        into = with_rank_at_least(ctx, 0, 1)
    with_rank_at_least(ctx, 2, 1)
    return (scattered(ctx, into, 1, 2),)


def _slice(ctx: ShapeContext) -> Sequence[Shape]:
    strided_slice(ctx)
    return (ctx.shapes[0],)


define(
    "ScatterNdNonAliasingAdd", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin",
    "TensorScatterSub", "TensorScatterUpdate", shape=_rows,
)  # fmt: skip
define("TensorStridedSliceUpdate", shape=_slice)
