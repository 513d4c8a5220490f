"""Rows of lookup tables, which programs show."""

from __future__ import annotations

from typing import Final

from tests.ops.rows import Case, Row

PROGRAMS = "tests/ops/programs_lookup_table.py"

ROWS = tuple(
    Row(op, tested_in=PROGRAMS)
    for op in (
        "HashTableV2", "InitializeTableFromTextFileV2", "InitializeTableV2",
        "LookupTableExportV2", "LookupTableFindV2", "LookupTableImportV2", "LookupTableInsertV2",
        "LookupTableRemoveV2", "LookupTableSizeV2", "MutableDenseHashTableV2",
        "MutableHashTableOfTensorsV2", "MutableHashTableV2",
    )
)  # fmt: skip
DERIVATIVES: Final[tuple[Case, ...]] = ()
