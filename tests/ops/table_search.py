"""Rows of searches, counts and the nth number."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, apart, given, int_, ints, numbers


def buckets(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4, low=-9.0, high=9.0)
    for bounds in ((-3.0, 0.0, 2.5), (), (1.0,), (2.0, 1.0)):
        yield given(x, boundaries=bounds)
    yield given(np.array([-3, 0, 2, 3], dtype.numpy), boundaries=(-3.0, 0.0, 2.0))
    yield given(x[:0], boundaries=(0.0,))


def bounds(dtype: DType) -> Iterable[Sample]:
    rows = np.sort(numbers(dtype, 2, 5), axis=1)
    yield given(rows, numbers(dtype, 2, 3, seed=1))
    yield given(rows, rows, out_type=dtypes.int64)
    yield given(rows, rows[:, :0])
    yield given(rows[:, :0], rows)
    yield given(rows, rows[:1])
    yield given(rows[0], rows[0])


def counts(dtype: DType) -> Iterable[Sample]:
    x = ints(1, 0, 3, 3, 7)
    none, some = np.array([], dtype.numpy), np.arange(5).astype(dtype.numpy)
    yield given(x, int_(4), none)
    yield given(x, int_(8), some)
    yield given(x.reshape(1, 5), int_(4), some.reshape(1, 5))
    yield given(x, int_(0), none)
    yield given(ints(), int_(3), none)
    yield given(ints(-1), int_(3), none)
    yield given(x, int_(-1), none)
    yield given(x, int_(4), some[:3])
    yield given(x, ints(4), none)


def dense(dtype: DType) -> Iterable[Sample]:
    for sample in counts(dtype):
        for binary in (False, True):
            yield given(*sample.inputs, binary_output=binary)
    rows = np.array([[1, 1, 3], [0, 2, 9]], np.int32)
    none = np.array([], dtype.numpy)
    yield given(rows, int_(4), none)
    yield given(rows, int_(4), np.ones((2, 3), dtype.numpy) * 2)
    yield given(rows, int_(4), none, binary_output=True)


def histograms(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4, low=-9.0, high=9.0)
    ends = np.array([-5, 5], dtype.numpy)
    for to in (dtypes.int32, dtypes.int64):
        yield given(x, ends, int_(4), dtype=to)
    yield given(x, ends, int_(1))
    yield given(x[:0], ends, int_(3))
    yield given(x, ends[::-1].copy(), int_(3))
    yield given(x, ends, int_(0))
    yield given(x, ends[:1], int_(3))


def best(dtype: DType) -> Iterable[Sample]:
    p = numbers(dtypes.float32, 4, 5)
    t = np.array([0, 4, 2, 1], dtype.numpy)
    for k in (1, 3, 9):
        yield given(p, t, k=k)
    p = p.copy()
    p[1, 2], p[2, 2], p[3, 0] = np.nan, np.inf, np.inf
    yield given(p, t, k=2)
    yield given(np.ones((4, 5), np.float32), t, k=1)
    yield given(p, np.array([5, -1, 0, 0], dtype.numpy), k=2)
    yield given(p[:0], t[:0], k=2)
    yield given(p, t[:2], k=2)


def nth(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 5)
    for n in (0, 2, 4):
        for reverse in (False, True):
            yield given(x, int_(n), reverse=reverse)
    yield given(x[:0], int_(1))
    yield given(x, int_(5))
    yield given(x, int_(-1))
    yield given(x[0, 0], int_(0))


ROWS = (
    Row("Bucketize", buckets),
    *(
        Row(op, bounds, types=(*dtypes.FLOATS, dtypes.int8, dtypes.int64))
        for op in ("LowerBound", "UpperBound")
    ),
    Row("Bincount", counts),
    Row("DenseBincount", dense),
    Row("HistogramFixedWidth", histograms),
    Row("InTopK", best),
    Row(
        "InTopKV2",
        lambda dtype: [given(*s.inputs, np.array(s.attrs["k"], dtype.numpy)) for s in best(dtype)],
    ),
    Row("NthElement", nth),
)
DERIVATIVES = (
    Case("NthElement", (apart(2, 5), int_(2))),
    Case("NthElement", (apart(2, 5), int_(1)), {"reverse": True}),
)
