"""Random numbers: TensorFlow's Philox streams."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import FLOATS, INDICES, REALS, int64
from graphvm_runtime.ops.registry import RANDOM, ShapeContext, define, integer, types
from graphvm_runtime.ops.shape_functions import from_value, refused, unchanged, with_rank
from graphvm_runtime.shapes import Shape

_SEEDS = {"seed": integer(0), "seed2": integer(0)}

for _name in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    define(_name, "shape: T -> output: dtype",
           {**_SEEDS, "dtype": types(*FLOATS), "T": types(*INDICES)},
           shape=from_value(0), effects=RANDOM,
           constraints=["C1: shape is a vector without negative numbers"])  # fmt: skip


def _multinomial(ctx: ShapeContext) -> Sequence[Shape]:
    rows, _ = with_rank(ctx, 0, 2, 1)
    with_rank(ctx, 1, 0, 2)
    count = ctx.scalar(1)
    if count is not None and count < 0:
        raise refused(f"num_samples is {count}", 2)
    return ((rows, count),)


define("Multinomial", "logits: T, num_samples: int32 -> output: output_dtype",
       {**_SEEDS, "T": types(*REALS), "output_dtype": types(*INDICES, default=int64)},
       shape=_multinomial, effects=RANDOM,
       constraints=["C1: logits are a matrix",
                    "C2: num_samples is a scalar, not negative"])  # fmt: skip
define("RandomShuffle", "value: T -> output: T", {**_SEEDS, "T": types()}, shape=unchanged,
       effects=RANDOM)  # fmt: skip
