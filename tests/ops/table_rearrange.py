"""Rows of elements rolled along axes, rows put in place, layouts as others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, int_, ints, numbers, real
from tests.ops.samples import MOVED


def rolled(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4)
    yield given(x, int_(1), int_(0))
    yield given(x, ints(1, -2), ints(0, 1))
    yield given(x, np.array([5, 1]), ints(1, 1))
    yield given(x, int_(1), int_(-1))
    yield given(x[:0], int_(1), int_(0))
    yield given(x, int_(1), int_(2))
    yield given(x, ints(1, 2), ints(0))
    yield given(x[0, 0], int_(1), int_(0))


def unravelled(dtype: DType) -> Iterable[Sample]:
    def of(*values: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        return np.array(values, dtype.numpy)

    yield given(of(5, 0, 11), of(3, 4))
    yield given(of(7)[0], of(2, 2, 3))
    yield given(of(12), of(3, 4))
    yield given(of(0), of(0, 4))
    yield given(of(1, 2).reshape(1, 2), of(3, 4))


def stacked(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 1, 3)
    yield given([x[0], x[1]], shape=(2, 3))
    yield given([x[0]], shape=(1, 3))


def put(dtype: DType) -> Iterable[Sample]:
    x, v = numbers(dtype, 4, 3), numbers(dtype, 2, 3, seed=1)
    yield given(x, ints(2, 0), v)
    yield given(x, ints(-1, 5), v)
    yield given(x, int_(1), v[:1])
    yield given(x, ints(1), v)


def axes(dtype: DType) -> Iterable[Sample]:
    x = np.array([0, 1, 2, 3, -1], dtype.numpy)
    yield given(x)
    yield given(x, src_format=b"NCHW", dst_format=b"NHWC")
    yield given(x.reshape(1, 5), src_format=b"NHWC", dst_format=b"HWNC")
    yield given(x, src_format=b"NDHWC", dst_format=b"NCDHW")


def vectors(dtype: DType) -> Iterable[Sample]:
    x = np.array([7, 4, 9, 3], dtype.numpy)
    yield given(x)
    yield given(x, src_format=b"NCHW", dst_format=b"NHWC")
    yield given(x[:2], src_format=b"NHWC", dst_format=b"HWNC")
    yield given(np.stack([x, x + 1], 1))
    yield given(x[:3])


ROWS = (
    Row("Roll", rolled, types=MOVED),
    Row("UnravelIndex", unravelled, vary="Tidx", sharper=True),
    Row("ParallelConcat", stacked, types=MOVED, sharper=True),
    *(
        Row(op, put, types=(dtypes.float32, dtypes.int64, dtypes.complex128))
        for op in ("InplaceAdd", "InplaceSub", "InplaceUpdate")
    ),
    Row("DataFormatDimMap", axes),
    Row("DataFormatVecPermute", vectors),
)
DERIVATIVES = (Case("Roll", (real(3, 4), ints(1, -2), ints(0, 1))),)
