"""Rows of rows dealt out and put together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, int_, ints, numbers, real
from tests.ops.samples import MOVED

TYPES = MOVED


def dealt(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 4, 3)
    yield given(x, ints(0, 2, 0, 1), num_partitions=3)
    yield given(x, ints(0, 0, 0, 0), num_partitions=2)
    yield given(x, np.array([[0, 1, 0]] * 4, np.int32), num_partitions=2)
    yield given(x[0], ints(0, 0, 0), num_partitions=1)
    yield given(x[:0], ints(), num_partitions=2)
    yield given(x[0, 0], int_(1), num_partitions=2)
    yield given(x, ints(0, 3, 0, 1), num_partitions=3)
    yield given(x, ints(0, -1, 0, 1), num_partitions=3)
    yield given(x, ints(0, 1, 0), num_partitions=2)


def stitched(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 4, 3)
    yield given([ints(0, 2), ints(3, 1)], [x[:2], x[2:]])
    yield given([ints(3, 1, 2, 0)], [x])
    yield given([int_(1), ints(0)], [x[0], x[1:2]])
    yield given([np.array([[0, 1], [2, 3]], np.int32)], [x.reshape(2, 2, 3)])
    yield given([ints(0, 1), ints(1, 0)], [x[:2], x[2:]])
    yield given([ints(), ints(0)], [x[:0], x[:1]])
    yield given([ints()], [x[:0]])
    yield given([ints(0, 1)], [x[:3]])
    yield given([ints(0, -1)], [x[:2]])
    yield given([ints(0), ints(1)], [x[:1], x[:1, :2]])


ROWS = (
    Row("DynamicPartition", dealt, types=TYPES),
    Row("DynamicStitch", stitched, types=TYPES),
    Row("ParallelDynamicStitch", stitched, types=TYPES),
)
DERIVATIVES = (
    Case("DynamicPartition", (real(4, 2), ints(0, 2, 0, 1)), {"num_partitions": 3}),
    Case("DynamicPartition", (real(4), ints(0, 2, 0, 1)), {"num_partitions": 3}, outputs=(0, 1)),
    *(
        Case(op, ((ints(0, 2), ints(3, 1)), (real(2, 2), real(2, 2))))
        for op in ("DynamicStitch", "ParallelDynamicStitch")
    ),
)
