"""Rows of integers as bits."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, given
from tests.ops.samples import binary, edges, unary


def shifted(dtype: DType) -> Iterable[Sample]:
    """Shifts within the type, and beyond it, which is undefined in C and clipped by TensorFlow."""
    every, bits = edges(dtype), dtype.numpy.itemsize * 8
    by = np.array([0, 1, 3, bits - 1, bits, min(bits + 9, 100)], dtype.numpy)
    yield given(every[:, None], by)
    yield given(every[2], by[1])
    yield given(every[:0], by[1])
    yield given(every[:3], by[:2])


ROWS = (
    *(Row(op, binary()) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    *(Row(op, shifted) for op in ("LeftShift", "RightShift")),
    *(Row(op, unary()) for op in ("Invert", "PopulationCount")),
)
