"""Random numbers: TensorFlow's Philox streams."""

from __future__ import annotations

from graphvm_runtime.dtypes import FLOATS, INDICES
from graphvm_runtime.ops.registry import RANDOM, define, integer, types
from graphvm_runtime.ops.shape_functions import from_value

for _name in ("RandomUniform", "RandomStandardNormal", "TruncatedNormal"):
    define(_name, "shape: T -> output: dtype",
           {"seed": integer(0), "seed2": integer(0), "dtype": types(*FLOATS),
            "T": types(*INDICES)},
           shape=from_value(0), effects=RANDOM,
           constraints=["C1: shape is a vector without negative numbers"])  # fmt: skip
