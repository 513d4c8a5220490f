"""Rows of different elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, given, numbers
from tests.ops.samples import MOVED, edges

TYPES = (*(t for t in MOVED if not t.is_complex), dtypes.float16)
AXIS = np.array([0], np.int64)


def repeated(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 4)
    many = np.concatenate([x, x[::-1], x[1:3]])
    yield given(many)
    yield given(many, out_idx=dtypes.int64)
    yield given(x[:0])
    yield given(x[0])
    yield given(x.reshape(2, 2))
    if dtype is not dtypes.string and dtype is not dtypes.bool_:
        every = edges(dtype)
        yield given(np.concatenate([every, every]))


def along(dtype: DType) -> Iterable[Sample]:
    for sample in repeated(dtype):
        yield given(*sample.inputs, AXIS[:0], **sample.attrs)
    x = numbers(dtype, 2, 3)
    rows = np.concatenate([x, x[::-1], x[:1]])
    yield given(rows, AXIS)
    yield given(rows.T.copy(), AXIS + 1, out_idx=dtypes.int64)
    yield given(rows, AXIS.astype(np.int32) - 1)
    yield given(rows, AXIS + 2)
    yield given(rows, np.array([0, 1]))
    yield given(rows[:0], AXIS)


def lists(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 5)
    yield given(np.concatenate([x, x]), x[1:3])
    yield given(x, x[:0], out_idx=dtypes.int64)
    yield given(x[:0], x)
    yield given(x.reshape(1, 5), x)


def of(samples: Callable[[DType], Iterable[Sample]], *ops: str) -> Iterable[Row]:
    return (Row(op, samples, types=TYPES) for op in ops)


ROWS = (
    *of(repeated, "Unique", "UniqueWithCounts"),
    *of(along, "UniqueV2", "UniqueWithCountsV2"),
    *of(lists, "ListDiff"),
)
