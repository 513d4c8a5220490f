"""Rows of element-wise mathematics beside those of `table_math.py`: TensorFlow's are recorded."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, numbers, positive, real
from tests.ops.samples import binary, edges, unary


def divided(dtype: DType) -> Iterable[Sample]:
    """Division by everything but zero, and by zero."""
    for sample in binary(edge=False)(dtype):
        x, y = sample.inputs
        yield given(x, np.where(y == 0, np.array(3, y.dtype), y))
    every = edges(dtype)
    if not dtype.is_integer:
        yield given(every[:, None], every)
        return
    yield given(every[1:, None], every[every != 0])
    yield given(every, np.zeros(1, every.dtype))
    yield given(every[:0], np.zeros(1, every.dtype))


def close(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3)
    yield given(x, x.copy())
    yield given(x, (x + 1).astype(x.dtype), tolerance=2.0)
    yield given(x, x[::-1].copy(), tolerance=1e-3)
    yield given(x[0], x[:, 0])
    yield given(edges(dtype), edges(dtype))
    yield given(x[:0], x[:0])


def pairs(dtype: DType) -> Iterable[Sample]:
    x, y = numbers(dtype, 2, 3), numbers(dtype, 2, 3, seed=1)
    yield given(np.where(x == 0, np.array(1, x.dtype), x), y)
    yield given(x[0, 0], y[0, 0])
    yield given(x[:0], y[:0])


PAIRS = [((2, 3), (2, 3)), ((2, 1), (3,)), ((), (3,))]
ROWS = (
    *(Row(op, divided) for op in ("Div", "Mod", "TruncateMod")),
    Row("TruncateDiv", divided),
    *(Row(op, binary()) for op in ("MulNoNan", "Xdivy")),
    *(Row(op, binary(0.1, 3.0)) for op in ("Xlog1py", "Xlogy")),
    Row("NextAfter", binary()),
    Row("ApproximateEqual", close),
    Row("Inv", unary(1.0, 4.0, edge=False)),
    Row("InvGrad", pairs),
)
DERIVATIVES = (
    *(
        Case(op, (positive(*a), positive(*b)))
        for op in ("Div", "Mod", "TruncateMod", "MulNoNan", "Xdivy", "Xlog1py", "Xlogy")
        for a, b in PAIRS
    ),
    Case("Inv", (positive(2, 3),)),
    Case("InvGrad", (positive(2, 3), positive(2, 3))),
    Case("NextAfter", (real(3), real(3) + 5)),
)
