"""Elements rolled along axes, rows put in place, indices and layouts of one kind as another."""

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


def _roll(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 1)
    for i, name in ((1, "shift"), (2, "axis")):
        if ctx.shapes[i] is not None and len(ctx.shapes[i] or ()) > 1:
            raise refused(f"{name} must be a scalar or a vector, got {shape_text(ctx.shapes[i])}")
    agreed(ctx.shapes[1:])
    return (shape,)


def _unravel(ctx: ShapeContext) -> Sequence[Shape]:
    indices, (count,) = ctx.shapes[0], with_rank(ctx, 1, 1)
    if indices is None:
        return (None,)
    if not indices:
        return ((count,),)
    with_rank(ctx, 0, 1)
    return ((count, *indices),)


def _stacked(ctx: ShapeContext) -> Sequence[Shape]:
    want = ctx.attrs["shape"]
    parts = agreed(ctx.shapes)
    if not want or None in want:
        raise refused(f"the attribute shape must be known, got {shape_text(want)}")
    if want[0] != len(ctx.shapes):
        raise refused(f"shape must begin with {len(ctx.shapes)} rows, got {shape_text(want)}")
    agreed([parts, (1, *want[1:])])
    return (want,)


def _rows(ctx: ShapeContext) -> Sequence[Shape]:
    x, i, v = ctx.shapes
    if x is not None and i is not None and v is not None:
        agreed([(*i, *x[1:]), v])
    return (x,)


def _permuted(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    if shape is not None and len(shape) not in (1, 2):
        raise refused(f"x must be a vector or a matrix, got {shape_text(shape)}")
    return (shape,)


define("Roll", shape=_roll)
define("UnravelIndex", shape=_unravel)
define("ParallelConcat", shape=_stacked)
define("InplaceAdd", "InplaceSub", "InplaceUpdate", shape=_rows)
define("DataFormatDimMap", shape=unchanged)
define("DataFormatVecPermute", shape=_permuted)
