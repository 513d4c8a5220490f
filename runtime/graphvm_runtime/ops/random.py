"""Random numbers: TensorFlow's Philox streams."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import RANDOM, ShapeContext, define
from graphvm_runtime.ops.shape_functions import from_value, refused, unchanged, with_rank
from graphvm_runtime.shapes import Shape

define(
    "RandomUniform", "RandomStandardNormal", "TruncatedNormal", shape=from_value(0), effects=RANDOM
)


def _multinomial(ctx: ShapeContext) -> Sequence[Shape]:
    rows, _ = with_rank(ctx, 0, 2)
    with_rank(ctx, 1, 0)
    count = ctx.scalar(1)
    if count is not None and count < 0:
        raise refused(f"num_samples is {count}")
    return ((rows, count),)


define("Multinomial", shape=_multinomial, effects=RANDOM)
define("RandomShuffle", shape=unchanged, effects=RANDOM)
