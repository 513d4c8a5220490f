"""Rows of norms, scans and sums of the family `math.reduction`, as recorded from TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, apart, given, int_, ints, numbers, positive, real
from tests.ops.samples import edges


def reduced(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3, 4)
    for axes in (ints(0), ints(-1, 0), ints(0, 1, 2), ints(), int_(1)):
        for keep in (False, True):
            yield given(x, axes, keep_dims=keep)
    yield given(x[:0], ints(0))
    yield given(x[:0], ints(1))
    yield given(x[0, 0, 0], ints())
    yield given(x, ints(3))
    yield given(edges(dtype)[-3:], ints(0))


def scanned(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3, 4)
    for axis in (0, 1, -1):
        for exclusive in (False, True):
            for reverse in (False, True):
                yield given(x, int_(axis), exclusive=exclusive, reverse=reverse)
    yield given(x[:0], int_(1))
    yield given(x, int_(3))
    yield given((x * 100).astype(x.dtype), int_(2))


def added(dtype: DType) -> Iterable[Sample]:
    x = [numbers(dtype, 2, 3, seed=i) for i in range(3)]
    yield given(x, shape=(2, 3))
    yield given(x[:1], shape=(2, 3))
    yield given([v[:0] for v in x], shape=(0, 3))


ROWS = (
    Row("EuclideanNorm", reduced),
    Row("CumulativeLogsumexp", scanned, sharper=True),  # the axis is checked
    Row("AccumulateNV2", added),
)
DERIVATIVES = (
    *(
        Case("EuclideanNorm", (apart(2, 3, 2), np.array(axes, np.int32)), {"keep_dims": keep})
        for axes, keep in (([0], False), ([-1, 0], True), ([0, 1, 2], False), (1, True))
    ),
    *(
        Case("CumulativeLogsumexp", (real(2, 3), int_(axis)), {"reverse": reverse})
        for axis in (0, -1)
        for reverse in (False, True)
    ),
    Case("AccumulateNV2", ((positive(2), positive(2), positive(2)),), {"shape": (2,)}),
)
