"""Ops that apply gradients to variables."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import STATEFUL, ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, with_rank
from graphvm_runtime.shapes import Shape, TensorType


def _held(ctx: ShapeContext, index: int) -> Shape:
    held: TensorType | None = ctx.handle(index)
    return None if held is None else held.shape


def _scalars(ctx: ShapeContext, first: int, last: int) -> None:
    for i in range(first, last):
        with_rank(ctx, i, 0)


def _apply_descent(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 1, 2)
    return (agreed((ctx.shapes[0], ctx.shapes[2])),)


def _resource_descent(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 1, 2)
    agreed((_held(ctx, 0), ctx.shapes[2]))
    return ()


def _resource_adam(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 3, 9)
    agreed((_held(ctx, 0), _held(ctx, 1), _held(ctx, 2), ctx.shapes[9]))
    return ()


define("ApplyGradientDescent", shape=_apply_descent, effects=STATEFUL)
define("ResourceApplyGradientDescent", shape=_resource_descent, effects=STATEFUL)
define("ResourceApplyAdam", shape=_resource_adam, effects=STATEFUL)
