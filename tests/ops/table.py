"""All rows, by op: those of every `table_FAMILY.py` here."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from graphvm_runtime.dtypes import DType
from tests.ops.recorded import key_of, read
from tests.ops.rows import Row, Sample

TABLES = {
    path.stem.removeprefix("table_"): import_module(f"tests.ops.{path.stem}")
    for path in sorted(Path(__file__).parent.glob("table_*.py"))
}
ROWS: dict[str, Row] = {}
TABLE_OF: dict[str, str] = {}
for _name, _table in TABLES.items():
    for _row in _table.ROWS:
        assert _row.op not in ROWS, f"{_row.op} has two rows"
        ROWS[_row.op] = _row
        TABLE_OF[_row.op] = _name


def cases() -> Iterator[tuple[Row, DType]]:
    """Each row that has samples and a reference with each of its element types."""
    for row in ROWS.values():
        if row.reference is not None and row.tested_in == "":
            for dtype in row.element_types():
                yield row, dtype


def sampled_rows() -> list[Row]:
    """The rows that have samples."""
    return [row for row in ROWS.values() if row.tested_in == ""]


def name_of(case: Row | DType) -> str:
    """How a case is called in the test's name."""
    return case.op if isinstance(case, Row) else case.name


def all_samples(row: Row) -> Iterator[tuple[DType, Sample]]:
    """The samples of every element type."""
    for dtype in row.element_types():
        for sample in samples_of(row, dtype):
            yield dtype, sample


def samples_of(row: Row, dtype: DType) -> list[Sample]:
    """The samples that are not refused."""
    samples = list(row.samples(dtype))
    assert samples, f"{row.op} has no samples for {dtype.name}"
    if not row.is_recorded:
        return samples
    known = read(TABLE_OF[row.op])[0]
    outcomes = [known[key_of(row, dtype.name, i)] for i in range(len(samples))]
    return [s for s, o in zip(samples, outcomes, strict=True) if o.outputs is not None]
