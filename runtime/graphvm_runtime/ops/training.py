"""Ops that apply gradients to variables."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import NUMBERS, QUANTIZED
from graphvm_runtime.ops.registry import STATEFUL, ShapeContext, boolean, define, types
from graphvm_runtime.ops.shape_functions import agreed, with_rank
from graphvm_runtime.shapes import Shape, TensorType

NUMBER = types(*NUMBERS, *QUANTIZED)
RULES = ("C1: the gradient has the shape of the variable and its slots",
         "C2: the rates are scalars")  # fmt: skip


def _held(ctx: ShapeContext, index: int) -> Shape:
    held: TensorType | None = ctx.handle(index)
    return None if held is None else held.shape


def _scalars(ctx: ShapeContext, first: int, last: int) -> None:
    for i in range(first, last):
        with_rank(ctx, i, 0, 2)


def _apply_descent(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 1, 2)
    return (agreed((ctx.shapes[0], ctx.shapes[2]), 1),)


def _resource_descent(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 1, 2)
    agreed((_held(ctx, 0), ctx.shapes[2]), 1)
    return ()


def _resource_adam(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 3, 9)
    agreed((_held(ctx, 0), _held(ctx, 1), _held(ctx, 2), ctx.shapes[9]), 1)
    return ()


define("ApplyGradientDescent", "var: ref T, alpha: T, delta: T -> out: ref T",
       {"T": NUMBER, "use_locking": boolean(False)}, shape=_apply_descent, effects=STATEFUL,
       constraints=RULES)  # fmt: skip
define("ResourceApplyGradientDescent", "var: resource, alpha: T, delta: T ->",
       {"T": NUMBER, "use_locking": boolean(False)}, shape=_resource_descent, effects=STATEFUL,
       constraints=RULES)  # fmt: skip
define("ResourceApplyAdam",
       "var: resource, m: resource, v: resource, beta1_power: T, beta2_power: T, lr: T, beta1: T, "
       "beta2: T, epsilon: T, grad: T ->",
       {"T": NUMBER, "use_locking": boolean(False), "use_nesterov": boolean(False)},
       shape=_resource_adam, effects=STATEFUL, constraints=RULES)  # fmt: skip
