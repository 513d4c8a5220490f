"""Rows of what older versions called otherwise."""

from __future__ import annotations

from collections.abc import Iterable

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, numbers, real


def _biases(dtype: DType) -> Iterable[Sample]:
    for shape in ((2, 3), (2, 1, 2, 3), (0, 3), (3,), (2, 2)):
        yield given(numbers(dtype, *shape), numbers(dtype, 3, seed=1))
    yield given(numbers(dtype, 2, 3), numbers(dtype, 3, 1))


ROWS = (Row("BiasAddV1", _biases, types=(dtypes.bfloat16, dtypes.float32, dtypes.int32)),)
DERIVATIVES = (Case("BiasAddV1", (real(2, 2, 3), real(3))),)
