"""Rows of diagonals and bands."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, int_, ints, numbers, real
from tests.ops.samples import MOVED


def made(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3)
    yield given(x)
    yield given(x[0])
    yield given(x[:0])
    yield given(x[:, :0])
    yield given(x[0, 0])


def taken(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3, 4)
    yield given(x)
    yield given(x[0].T.copy())
    yield given(x[:0])
    yield given(x[0, 0])


def put(dtype: DType) -> Iterable[Sample]:
    x, d = numbers(dtype, 2, 3, 4), numbers(dtype, 2, 3, seed=1)
    yield given(x, d)
    yield given(x[0], d[0])
    yield given(x[:0], d[:0])
    yield given(x, d[:, :2])
    yield given(x[0, 0], d[0])


def made_of_band(dtype: DType) -> Iterable[Sample]:
    x, fill = numbers(dtype, 2, 3), numbers(dtype, 2, seed=1)[0]
    yield given(x, int_(0), int_(-1), int_(-1), fill)
    yield given(x, int_(1), int_(-1), int_(5), fill)
    yield given(x, ints(-1, 0), int_(-1), int_(-1), fill)
    yield given(x, ints(0, -1), int_(-1), int_(-1), fill)
    yield given(x, int_(0), int_(2), int_(2), fill)


def band_taken(dtype: DType) -> Iterable[Sample]:
    x, fill = numbers(dtype, 2, 3, 4), numbers(dtype, 2, seed=1)[0]
    for k in (int_(0), int_(2), ints(-1, 1), ints(-2, -1), int_(4), ints(1, 0)):
        yield given(x, k, fill)


def band_put(dtype: DType) -> Iterable[Sample]:
    x, d = numbers(dtype, 2, 3, 4), numbers(dtype, 2, 2, 3, seed=1)
    yield given(x, d[:, 0], int_(0))
    yield given(x, d, ints(0, 1))
    yield given(x, d[:, 0, :2], int_(2))
    yield given(x, d[:, 0], int_(2))


def whole(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3)
    yield given(x)
    yield given(x[0])
    yield given(x[0, 0])
    yield given(x[:0])


def of_whole(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 2, 3, 2, 3))
    yield given(numbers(dtype, 3, 3))
    yield given(numbers(dtype, 2, 3))
    yield given(numbers(dtype, 2, 2, 2))


def banded(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3, 4)
    for low, high in ((0, 0), (1, 2), (-1, 0), (0, -1), (-1, -1), (4, 0), (0, 5)):
        yield given(x, np.array(low), np.array(high))
    yield given(x, int_(1), int_(1))
    yield given(x[:0], np.array(1), np.array(1))
    yield given(x[0, 0], np.array(1), np.array(1))


def both(name: str) -> tuple[str, str]:
    return f"Matrix{name}", f"BatchMatrix{name}"


INEXACT = (*dtypes.FLOATS, *dtypes.COMPLEX, dtypes.int32, dtypes.int64)
ROWS = (
    # of the deprecated ops TensorFlow knows no shapes
    *(Row(op, made, types=MOVED[:-1], sharper=op[0] == "B") for op in both("Diag")),
    *(Row(op, taken, types=MOVED[:-1], sharper=op[0] == "B") for op in both("DiagPart")),
    *(Row(op, put, types=MOVED[:-1], sharper=op[0] == "B") for op in both("SetDiag")),
    Row("MatrixDiagV2", made_of_band, types=MOVED[:-1]),
    Row("MatrixDiagPartV2", band_taken, types=MOVED[:-1]),
    Row("MatrixSetDiagV2", band_put, types=MOVED[:-1], sharper=True),
    Row("Diag", whole, types=INEXACT),
    Row("DiagPart", of_whole, types=INEXACT),
    Row("MatrixBandPart", banded, types=MOVED[:-1]),
)
DERIVATIVES = (
    *(Case(op, (real(2, 3),)) for op in ("MatrixDiag", "BatchMatrixDiag", "Diag")),
    *(Case(op, (real(2, 3, 4),)) for op in ("MatrixDiagPart", "BatchMatrixDiagPart")),
    Case("DiagPart", (real(2, 3, 2, 3),)),
    *(Case(op, (real(2, 3, 4), real(2, 3))) for op in ("MatrixSetDiag", "BatchMatrixSetDiag")),
    Case("MatrixDiagV2", (real(2, 3), int_(1), int_(-1), int_(-1), np.float64(0.5))),
    Case("MatrixDiagPartV2", (real(2, 3, 4), ints(-1, 1), np.float64(0.5))),
    Case("MatrixSetDiagV2", (real(2, 3, 4), real(2, 2, 3), ints(0, 1))),
    Case("MatrixBandPart", (real(2, 3, 4), int_(1), int_(-1))),
)
