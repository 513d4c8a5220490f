"""Rows of updates of parts of variables, which programs show."""

from __future__ import annotations

from typing import Final

from tests.ops.programs_variable_scatter import PART_OPS, ROW_OPS
from tests.ops.rows import Case, Row

PROGRAMS = "tests/ops/programs_variable_scatter.py"

ROWS = tuple(
    Row(op, tested_in=PROGRAMS)
    for op in (
        *ROW_OPS, *PART_OPS, "ResourceGather", "ResourceGatherNd", "ResourceStridedSliceAssign",
    )
)  # fmt: skip
DERIVATIVES: Final[tuple[Case, ...]] = ()
