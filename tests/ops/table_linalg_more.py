"""Rows of linear algebra beside those of `table_linalg.py`, as recorded from TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, numbers, real


def regular(dtype: DType, *shape: int, seed: int = 0) -> Any:
    """Matrices far from singular ones."""
    x = numbers(dtype, *shape, low=-1.0, high=1.0, seed=seed)
    return (x + 3 * np.eye(shape[-1])).astype(dtype.numpy)


def definite(dtype: DType, *shape: int) -> Any:
    x = regular(dtype, *shape)
    return (x @ x.swapaxes(-1, -2).conj()).astype(dtype.numpy)


def squares(dtype: DType) -> Iterable[Sample]:
    x = regular(dtype, 2, 3, 3)
    yield given(x)
    yield given(x[0])
    yield given(x[:0])
    yield given(x[:, :2])
    yield given(x[0, 0])


def factors(dtype: DType) -> Iterable[Sample]:
    x = definite(dtype, 2, 3, 3)
    yield given(x)
    yield given(x[0])
    yield given(x[:0])
    yield given(x[:, :2])


def triangular(dtype: DType) -> Iterable[Sample]:
    x, b = regular(dtype, 2, 3, 3), numbers(dtype, 2, 3, 2, seed=1)
    for lower in (True, False):
        for adjoint in (True, False):
            yield given(x, b, lower=lower, adjoint=adjoint)
    yield given(x[:1], b)
    yield given(x[0], b[0])
    yield given(x[:0], b[:0])
    yield given(x, b[:, :2])


def least(dtype: DType) -> Iterable[Sample]:
    x, b = numbers(dtype, 2, 4, 3), numbers(dtype, 2, 4, 2, seed=1)
    for l2 in (0.0, 0.5):
        yield given(x, b, np.array(l2))
        yield given(x[:, :2], b[:, :2], np.array(l2 + 0.1))
    yield given(x, b, np.array(0.0), fast=False)
    yield given(x, b[:, :2], np.array(0.0))


def crossed(dtype: DType) -> Iterable[Sample]:
    x, y = numbers(dtype, 2, 3), numbers(dtype, 2, 3, seed=1)
    yield given(x, y)
    yield given(x[0], y[0])
    yield given(x[:0], y[:0])
    yield given(x, y[:1])


def cholesky_grads(dtype: DType) -> Iterable[Sample]:
    x = np.linalg.cholesky(definite(dtype, 2, 3, 3))
    yield given(x, numbers(dtype, 2, 3, 3, seed=1))
    yield given(x[0], numbers(dtype, 3, 3, seed=1))
    yield given(x, numbers(dtype, 2, 3, 2))


LOOSE = {"float32": 2e-5, "complex64": 4e-5, "float64": 1e-10, "complex128": 1e-10, "float16": 4e-3}
FLOATS = (dtypes.float32, dtypes.float64)
ROWS = (
    Row("BatchMatrixInverse", squares, types=FLOATS, tolerance=LOOSE, sharper=True),
    Row("BatchMatrixDeterminant", squares, tolerance=LOOSE, sharper=True),
    Row("BatchCholesky", factors, types=FLOATS, tolerance=LOOSE, sharper=True),
    Row("LogMatrixDeterminant", squares, tolerance=LOOSE),
    Row("MatrixTriangularSolve", triangular, tolerance=LOOSE),
    Row("MatrixSolveLs", least, tolerance=LOOSE),
    Row("Cross", crossed),
    Row("CholeskyGrad", cholesky_grads, types=FLOATS, tolerance=LOOSE),
)
SQUARE: Any = real(2, 2, 2) + 3 * np.eye(2)
TRIANGLE: Any = np.tril(real(3, 3)) + 3 * np.eye(3)
DERIVATIVES = (
    Case("BatchMatrixInverse", (SQUARE,)),
    Case("BatchMatrixDeterminant", (SQUARE,)),
    Case("LogMatrixDeterminant", (SQUARE,), outputs=(1, 2)),
    *(
        Case("MatrixTriangularSolve", (TRIANGLE, real(3, 2)), {"lower": True, "adjoint": adjoint})
        for adjoint in (True, False)
    ),
    Case("MatrixTriangularSolve", (TRIANGLE[None], real(2, 3, 2)), {"lower": True}),
    Case("BatchCholesky", (SQUARE @ SQUARE.swapaxes(1, 2),), order=0),
    Case("Cross", (real(2, 3), real(2, 3))),
)
