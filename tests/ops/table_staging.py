"""Rows of staging areas, which programs show."""

from __future__ import annotations

from typing import Final

from tests.ops.rows import Case, Row

PROGRAMS = "tests/ops/programs_staging.py"

ROWS = tuple(Row(op, tested_in=PROGRAMS) for op in ("Stage", "StageSize", "Unstage"))
DERIVATIVES: Final[tuple[Case, ...]] = ()
