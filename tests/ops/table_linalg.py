"""Rows of linear algebra and of diagonals."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.plain import positions, precise
from tests.ops.rows import Row, Sample, Wrong, given, int_, ints, numbers

BATCHES = ((), (2,), (2, 1, 2), (0,))
TYPES = (dtypes.float32, dtypes.int32, dtypes.bool_, dtypes.complex64, dtypes.string)


def regular(dtype: DType, *shape: int) -> Any:
    """Matrices that are far from singular ones."""
    x = numbers(dtype, *shape, low=-1, high=1)
    return (x + 4 * np.eye(shape[-1])).astype(dtype.numpy)


def adjoint(x: Any) -> Any:
    """Transposed and conjugated."""
    return np.swapaxes(x, -1, -2).conj()


def _matrices(dtype: DType) -> Iterable[Sample]:
    for batch in BATCHES:
        yield given(regular(dtype, *batch, 3, 3))
    yield given(numbers(dtype, 2, 0, 0))


def _inverses(dtype: DType) -> Iterable[Sample]:
    for sample in _matrices(dtype):
        for flag in (False, True):
            yield given(*sample.inputs, adjoint=flag)


def _systems(dtype: DType) -> Iterable[Sample]:
    for batch in BATCHES:
        for flag in (False, True):
            yield given(
                regular(dtype, *batch, 3, 3), numbers(dtype, *batch, 3, 2, seed=1), adjoint=flag
            )
    yield given(numbers(dtype, 0, 0), numbers(dtype, 0, 2))


def eliminated(matrix: Any, rhs: Any) -> tuple[Any, Any]:
    """Solution and determinant by Gauss and Jordan, with the greatest pivot."""
    a, b, product = matrix.copy(), rhs.copy(), 1.0
    for i in range(len(a)):
        pivot = max(range(i, len(a)), key=lambda r: abs(a[r, i]))
        if pivot != i:
            a[[i, pivot]], b[[i, pivot]], product = a[[pivot, i]], b[[pivot, i]], -product
        product = product * a[i, i]
        b[i], a[i] = b[i] / a[i, i], a[i] / a[i, i]
        for r in range(len(a)):
            if r != i:
                b[r], a[r] = b[r] - a[r, i] * b[i], a[r] - a[r, i] * a[i]
    return b, product


def _solved(matrix: Any, rhs: Any, adjoint_: bool) -> Any:
    a, b = precise(matrix), precise(rhs)
    a = adjoint(a) if adjoint_ else a
    out = np.empty(b.shape, b.dtype)
    for at in positions(b.shape[:-2]):
        out[at] = eliminated(a[at], b[at])[0]
    return out


def _inverse(x: Any, adjoint: bool = False) -> Any:
    eye = np.broadcast_to(np.eye(x.shape[-1]), x.shape).astype(precise(x).dtype)
    return _solved(x, eye, adjoint)


def _determinant(x: Any) -> Any:
    out = np.empty(x.shape[:-2], precise(x).dtype)
    for at in positions(out.shape):
        out[at] = eliminated(precise(x)[at], np.eye(x.shape[-1], dtype=out.dtype))[1]
    return out


_LOOSE = {"float16": 4e-3, "float32": 2e-5, "complex64": 2e-5, "float64": 1e-10,
          "complex128": 1e-10}  # fmt: skip
_M23, _M22 = np.zeros((2, 3), np.float32), np.zeros((2, 2), np.float32)
_NOT_SQUARE = Wrong(given(_M23), r"square, got \[2,3\]", "square")


def _definite(dtype: DType) -> Iterable[Sample]:
    for batch in BATCHES:
        x = numbers(dtype, *batch, 3, 3, low=-1, high=1)
        if dtype is dtypes.float16:
            x = x.astype(np.float32)
        yield given((x @ adjoint(x) + 2 * np.eye(3)).astype(dtype.numpy))
    yield given(np.array([[4, 9], [2, 5]]).astype(dtype.numpy))  # above the diagonal: not read
    yield given(np.array([[[-1, 0], [0, 1]], [[1, 0], [0, 1]]]).astype(dtype.numpy))
    yield given(numbers(dtype, 0, 0))


def _factored(x: Any) -> Any:
    a = precise(x)
    out = np.zeros(a.shape, a.dtype)
    for *batch, i, j in positions(a.shape):
        row, column = out[(*batch, i)], out[(*batch, j)]
        rest = a[(*batch, i, j)] - (row[:j] * column[:j].conj()).sum()
        if i == j:
            row[i] = np.sqrt(rest.real) if rest.real > 0 else np.nan
        elif j < i:
            row[j] = rest / column[j]
    for at in positions(a.shape[:-2]):
        if np.isnan(out[at]).any():
            out[at] = np.tril(np.full(a.shape[-2:], np.nan))
    return out


SOLVING = (
    Row("Cholesky", _definite, _factored, tolerance=_LOOSE, wrong=(_NOT_SQUARE,)),
    Row(
        "MatrixInverse", _inverses, _inverse, tolerance=_LOOSE,
        wrong=(_NOT_SQUARE, Wrong(given(_M22), "", "not invertible")),
    ),
    Row("MatrixDeterminant", _matrices, _determinant, tolerance=_LOOSE, wrong=(_NOT_SQUARE,)),
    Row(
        "MatrixSolve", _systems, lambda a, b, adjoint=False: _solved(a, b, adjoint),
        tolerance=_LOOSE,
        wrong=(
            Wrong(given(_M23, _M23), r"square", "square"),
            Wrong(given(_M22, _M23.T), r"differ", "right-hand side of shape"),
            Wrong(given(_M22, _M22), "", "not invertible"),
        ),
    ),
)  # fmt: skip

# ------------------------------------------------------------------------------------ diagonals

BANDS = (int_(0), int_(1), int_(-1), ints(2), ints(-1, 1), ints(0, 2), ints(-2, -1), ints(-1, 0))
ALIGNMENTS = (b"LEFT_RIGHT", b"RIGHT_LEFT", b"LEFT_LEFT", b"RIGHT_RIGHT")


def band(k: Any) -> tuple[int, int]:
    """Lowest and highest diagonal."""
    ks = np.ravel(k).tolist()
    return ks[0], ks[-1]


def place(i: int, j: int, rows: int, columns: int, k: Any, align: bytes) -> tuple[int, ...]:
    """Where the element of a matrix lies in its stack of diagonals."""
    low, high = band(k)
    d = j - i
    whole = min(rows + min(high, 0), columns - max(low, 0))
    length = min(rows + min(d, 0), columns - max(d, 0))
    upper, lower = align.split(b"_")
    left = (d >= 0 and upper == b"LEFT") or (d <= 0 and lower == b"LEFT")
    at = min(i, j) + (0 if left else whole - length)
    return (high - d, at) if high > low else (at,)


def _parts(dtype: DType) -> Iterable[Sample]:
    for k in BANDS:
        for align in ALIGNMENTS:
            yield given(numbers(dtype, 3, 4), k, numbers(dtype, seed=1), align=align)
    yield given(numbers(dtype, 2, 1, 4, 3), ints(-3, 2), numbers(dtype, seed=1))
    yield given(numbers(dtype, 2, 0), int_(0), numbers(dtype, seed=1))


def _part(x: Any, k: Any, padding: Any, align: bytes = b"RIGHT_LEFT") -> Any:
    rows, columns = x.shape[-2:]
    low, high = band(k)
    whole = max(min(rows + min(high, 0), columns - max(low, 0)), 0)
    count = [high - low + 1] if high > low else []
    out = np.empty((*x.shape[:-2], *count, whole), object)
    out[...] = padding[()]
    for *batch, i, j in positions(x.shape):
        if low <= j - i <= high:
            out[(*batch, *place(i, j, rows, columns, k, align))] = x[(*batch, i, j)]
    return out


def _settings(dtype: DType) -> Iterable[Sample]:
    for sample in _parts(dtype):
        x, k, padding = sample.inputs
        diagonal = _part(x, k, padding, **sample.attrs)
        new = numbers(dtype, *diagonal.shape, seed=2)
        yield given(x, new, k, **sample.attrs)


def _set(x: Any, diagonal: Any, k: Any, align: bytes = b"RIGHT_LEFT") -> Any:
    rows, columns = x.shape[-2:]
    low, high = band(k)
    out = x.astype(object)
    for *batch, i, j in positions(x.shape):
        if low <= j - i <= high:
            out[(*batch, i, j)] = diagonal[(*batch, *place(i, j, rows, columns, k, align))]
    return out


def _building(dtype: DType) -> Iterable[Sample]:
    for k in BANDS:
        for align in ALIGNMENTS:
            stack = _part(numbers(dtype, 2, 3, 4), k, numbers(dtype), align)
            sizes = [(3, 4)] if np.size(k) > 1 else [(3, 4), (-1, -1)]
            for rows, columns in sizes:
                yield given(numbers(dtype, *stack.shape, seed=3), k, int_(rows), int_(columns),
                            numbers(dtype, seed=1), align=align)  # fmt: skip
    for rows, columns in ((-1, -1), (5, -1), (-1, 7), (4, 6)):
        yield given(numbers(dtype, 4), int_(0 if rows != 4 else 2), int_(rows if rows != 5 else 5),
                    int_(columns), numbers(dtype, seed=1))  # fmt: skip
    yield given(numbers(dtype, 0), int_(0), int_(-1), int_(-1), numbers(dtype, seed=1))


def _built(
    diagonal: Any, k: Any, rows: Any, columns: Any, padding: Any, align: bytes = b"RIGHT_LEFT"
) -> Any:
    low, high = band(k)
    least = (diagonal.shape[-1] - min(high, 0), diagonal.shape[-1] + max(low, 0))
    m, n = int(rows), int(columns)
    if m < 0 and n < 0:
        m = n = max(least)
    m, n = least[0] if m < 0 else m, least[1] if n < 0 else n
    batch = diagonal.shape[: -2 if high > low else -1]
    out = np.empty((*batch, m, n), object)
    out[...] = padding[()]
    return _set(out, diagonal, k, align)


_F = np.float32(0)
_OUTSIDE = "outside a matrix"
DIAGONALS = (
    Row(
        "MatrixDiagV3", _building, _built, types=TYPES,
        wrong=(
            Wrong(given(_M23, ints(1, 0), int_(-1), int_(-1), _F), r"above", "above"),
            Wrong(given(_M23, ints(0, 1, 2), int_(-1), int_(-1), _F),
                r"k is one diagonal or a lowest and a highest one", "one diagonal"),
            Wrong(given(_M23, ints(0, 2), int_(-1), int_(-1), _F), r"diagonals do", "3 diagonals"),
            Wrong(given(_M23, int_(0), int_(5), int_(5), _F), r"matrix of", "no matrix of 5 rows"),
            Wrong(given(_M23, int_(0), int_(2), int_(-1), _F), r"matrix of", "no matrix of 2 rows"),
        ),
    ),
    Row(
        "MatrixDiagPartV3", _parts, _part, types=TYPES,
        wrong=(
            Wrong(given(_M23, int_(3), _F), r"diagonal 3 is outside", _OUTSIDE),
            Wrong(given(_M23, ints(-2, 0), _F), r"diagonal -2 is outside", _OUTSIDE),
            Wrong(given(_M23[0], int_(0), _F), r"rank 2", "rank 2 or more"),
        ),
    ),
    Row(
        "MatrixSetDiagV3", _settings, _set, types=TYPES,
        wrong=(
            Wrong(given(_M23, _M23[0], int_(3)), r"diagonal 3 is outside", _OUTSIDE),
            Wrong(given(_M23, _M23[0], int_(0)), r"differ", "have the shape"),
        ),
    ),
)  # fmt: skip
ROWS = (*SOLVING, *DIAGONALS)
