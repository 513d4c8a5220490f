"""All rows, by op."""

from __future__ import annotations

from collections.abc import Iterator

from graphvm_runtime.dtypes import DType
from tests.ops import (
    table_activations,
    table_array,
    table_array_cutting,
    table_conv,
    table_dataset,
    table_indexing,
    table_linalg,
    table_math,
    table_math_reduction,
    table_nn,
    table_pool,
    table_ragged,
    table_regex,
    table_rnn,
    table_splitting,
    table_state,
)
from tests.ops.rows import Row, Sample

ROWS: dict[str, Row] = {}
for _family in (
    table_activations,
    table_array,
    table_array_cutting,
    table_conv,
    table_dataset,
    table_indexing,
    table_linalg,
    table_math,
    table_math_reduction,
    table_nn,
    table_pool,
    table_regex,
    table_rnn,
    table_splitting,
    table_state,
    table_ragged,
):
    for _row in _family.ROWS:
        assert _row.op not in ROWS, f"{_row.op} has two rows"
        ROWS[_row.op] = _row


def cases() -> Iterator[tuple[Row, DType]]:
    """Each row that has samples with each of its element types."""
    for row in ROWS.values():
        if row.tested_in == "":
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
    """The samples, at least one."""
    samples = list(row.samples(dtype))
    assert samples, f"{row.op} has no samples for {dtype.name}"
    return samples
