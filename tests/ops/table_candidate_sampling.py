"""Rows of candidates for sampled losses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, given


def _hits(dtype: DType) -> Iterable[Sample]:
    true = np.array([[1, 2], [3, 1], [4, 4]])
    yield given(true, np.array([1, 5, 1, 3]), num_true=2)
    yield given(true, np.array([4, 2]), num_true=2)
    yield given(true, np.zeros(0, np.int64), num_true=2)
    yield given(true[:0], np.array([4, 2]), num_true=2)
    yield given(true, np.array([4, 2]), num_true=1)
    yield given(true[0], np.array([4, 2]), num_true=2)


ROWS = (Row("ComputeAccidentalHits", _hits, types=(dtypes.int64,)),)
