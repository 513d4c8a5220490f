"""Accumulators: gradients of several steps, given out together."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import BLOCKING, ShapeContext, define
from graphvm_runtime.ops.shape_functions import nothing, scalar
from graphvm_runtime.ops.state import named_type
from graphvm_runtime.shapes import Shape


def _taken(ctx: ShapeContext) -> Sequence[Shape]:
    held = ctx.handle(0)
    return (None if held is None else held.shape,)


define("ResourceConditionalAccumulator", shape=scalar, handle=named_type)
define("ResourceAccumulatorApplyGradient", shape=nothing)
define("ResourceAccumulatorNumAccumulated", shape=scalar)
define("ResourceAccumulatorTakeGradient", shape=_taken, effects=BLOCKING)
