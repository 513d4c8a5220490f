"""Rows of optimizers, which programs show."""

from __future__ import annotations

from typing import Final

from tests.ops.programs_training import OPTIMIZERS
from tests.ops.rows import Case, Row

PROGRAMS = "tests/ops/programs_training.py"
ELSEWHERE = ("ResourceApplyAdam",)  # tested with variables too, in `table_state.py`

ROWS = tuple(
    Row(op, tested_in=PROGRAMS)
    for optimizer in OPTIMIZERS.values()
    for op in optimizer.ops
    if op not in ELSEWHERE
)
DERIVATIVES: Final[tuple[Case, ...]] = ()
