"""Rows of accumulators, which programs show."""

from __future__ import annotations

from typing import Final

from tests.ops.rows import Case, Row

PROGRAMS = "tests/ops/programs_accumulator.py"

ROWS = tuple(
    Row(op, tested_in=PROGRAMS)
    for op in (
        "ResourceAccumulatorApplyGradient", "ResourceAccumulatorNumAccumulated",
        "ResourceAccumulatorTakeGradient", "ResourceConditionalAccumulator",
    )
)  # fmt: skip
DERIVATIVES: Final[tuple[Case, ...]] = ()
