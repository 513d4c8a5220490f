"""Rows of tensors with rows or slices replaced by updates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, apart, given, ints, numbers, real
from tests.ops.samples import MOVED


def scattered(dtype: DType) -> Iterable[Sample]:
    x, u = numbers(dtype, 4, 3), numbers(dtype, 3, 3, seed=1)
    rows: Any = np.array([[2], [0], [2]], np.int32)
    yield given(x, rows[:2], u[:2])
    yield given(x, rows[:2].astype(np.int64), u[:2])
    yield given(x, np.array([[0, 1], [3, 2]]), u[0, :2])
    yield given(x, rows[:0], u[:0])
    yield given(x, np.array([[4]]), u[:1])
    yield given(x, np.array([[-1]]), u[:1])
    yield given(x, np.array([[4], [1]]), u[:2], bad_indices_policy=b"IGNORE")
    yield given(x, rows, u[:2])
    yield given(x[:0], rows[:1], u[:1])
    yield given(x[0], rows[1], u[0, 0])
    yield given(x, np.array([[[1], [0]]]), u[None, :2])


def again(dtype: DType) -> Iterable[Sample]:
    """Rows that are named twice: the order of updates does not matter."""
    yield from scattered(dtype)
    x, u = numbers(dtype, 4, 3), numbers(dtype, 3, 3, seed=1)
    yield given(x, np.array([[2], [0], [2]], np.int32), u)


def sliced(dtype: DType) -> Iterable[Sample]:
    x, v = numbers(dtype, 4, 3), numbers(dtype, 2, 3, seed=1)
    yield given(x, ints(1), ints(3), ints(1), v)
    yield given(x, ints(3), ints(1), ints(-1), v)
    yield given(x, ints(1, 0), ints(2, 3), ints(1, 2), v[:1, :2])
    yield given(x, ints(1), ints(2), ints(1), v[0], shrink_axis_mask=1)
    yield given(x, ints(0), ints(2), ints(1), v, begin_mask=1)
    yield given(x, ints(1), ints(3), ints(1), v[:1])
    yield given(x, ints(1), ints(3), ints(0), v)


NUMBERS = (*dtypes.FLOATS, dtypes.int8, dtypes.int64, dtypes.uint16)
ROWS = (
    Row("TensorScatterUpdate", scattered, types=MOVED),
    Row("TensorScatterAdd", again, types=(*NUMBERS, dtypes.complex64, dtypes.bool_)),
    Row("TensorScatterSub", again, types=(*NUMBERS, dtypes.complex64)),
    *(Row(op, again, types=NUMBERS) for op in ("TensorScatterMax", "TensorScatterMin")),
    Row("ScatterNdNonAliasingAdd", again, types=(*NUMBERS, dtypes.complex64, dtypes.bool_)),
    Row("TensorStridedSliceUpdate", sliced, types=MOVED),
)
AT = np.array([[2], [0]], np.int32)
DERIVATIVES = (
    *(
        Case(op, (apart(4, 3), AT, apart(2, 3) + 0.01))
        for op in (
            "TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax",
            "TensorScatterMin", "ScatterNdNonAliasingAdd",
        )
    ),
    Case("TensorScatterAdd", (real(4, 2), np.array([[2], [2]], np.int32), real(2, 2))),
    Case("TensorStridedSliceUpdate", (real(4, 3), ints(1), ints(3), ints(1), real(2, 3))),
)  # fmt: skip
