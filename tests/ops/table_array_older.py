"""Rows of older and rarer forms of the array ops, as recorded from TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, complex_, given, int_, ints, numbers, real
from tests.ops.samples import MOVED


def joined(dtype: DType) -> Iterable[Sample]:
    x, y = numbers(dtype, 2, 3), numbers(dtype, 2, 2, seed=1)
    yield given(int_(1), [x, y])
    yield given(int_(0), [x, x[:0], x])
    yield given(int_(0), [x, y])
    yield given(int_(2), [x, x])
    yield given(int_(-1), [x, y])
    yield given(int_(0), [x[0], x])


def transposed(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3, 4)
    yield given(x, ints(2, 0, 1))
    yield given(x, np.array([0, 2, 1]))
    yield given(x[:0], ints(1, 0, 2))
    yield given(x, ints(0, 1))
    yield given(x, ints(0, 1, 1))
    yield given(x, ints(0, 1, 3))


def gathered(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 4, 3)
    yield given(x, ints(3, 0, 0))
    yield given(x, np.array([[1], [2]]))
    yield given(x, int_(2))
    yield given(x[:0], ints())
    yield given(x, ints(4))
    yield given(x, ints(-1))
    yield given(x[0, 0], ints(0))
    yield given(x, ints(1), validate_indices=False)


def turned(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3)
    yield given(x, np.array([True, False]))
    yield given(x, np.array([True, True]))
    yield given(x[0, 0], np.array([], np.bool_))
    yield given(x, np.array([True]))
    yield given(x, np.array(True))


def shapes(dtype: DType) -> Iterable[Sample]:
    def of(*values: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return np.array(values, dtype.numpy)

    yield given(of(2, 1, 3), of(4, 1))
    yield given(of(), of(3))
    yield given(of(), of())
    yield given(of(2), of(3))
    yield given(of(2)[0], of(3))


ROWS = (
    Row("Concat", joined, types=MOVED),
    Row("ConjugateTranspose", transposed, types=MOVED),
    Row("Gather", gathered, types=MOVED, vary="Tparams"),
    Row("Reverse", turned, types=MOVED),
    Row("BroadcastArgs", shapes),
    Row("PreventGradient", lambda dtype: [given(numbers(dtype, 2, 3))], types=MOVED),
    Row("PlaceholderV2", tested_in="tests/ops/table_array_older.py"),
)
DERIVATIVES = (
    Case("Concat", (int_(1), (real(2, 3), real(2, 1)))),
    Case("Concat", (int_(0), (real(1, 3), real(2, 3)))),
    Case("ConjugateTranspose", (complex_(2, 3, 2), ints(2, 0, 1))),
    Case("ConjugateTranspose", (real(2, 3), ints(1, 0))),
    Case("Gather", (real(4, 2), ints(3, 0, 3))),
    Case("Reverse", (real(2, 3), np.array([True, False]))),
)
