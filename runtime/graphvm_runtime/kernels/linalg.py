"""Kernels of linear algebra and of diagonals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError, ShapeError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import widened
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.ops.linalg import band_of, longest, matrix_size


def _checked(x: Array) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(f"matrices are square, got shape {list(x.shape)}")


def _adjoint(x: Array) -> Array:
    return x.swapaxes(-1, -2).conj()


def _invertible(function: Callable[..., Any], *inputs: Array) -> Any:
    try:
        return function(*inputs)
    except np.linalg.LinAlgError:
        raise InvalidArgumentError("a matrix is not invertible") from None


@kernel("MatrixInverse", "BatchMatrixInverse")
def _inverse(node: Node) -> Callable[..., Any]:
    adjoint = node.attrs["adjoint"]

    def call(x: Array) -> Any:
        _checked(x)
        return _invertible(np.linalg.inv, _adjoint(x) if adjoint else x)

    return widened(call, node.attrs["T"].numpy)


@kernel("Cholesky", "BatchCholesky")
def _cholesky(node: Node) -> Callable[..., Any]:
    def call(x: Array) -> Any:
        _checked(x)
        try:
            return np.linalg.cholesky(x)
        except np.linalg.LinAlgError:
            # as in TensorFlow no error: what has no such factor gives NaN, the others theirs
            out = np.zeros_like(x)
            for at in np.ndindex(x.shape[:-2]):
                out[at] = _factor(x[at])
            return out

    return widened(call, node.attrs["T"].numpy)


def _factor(x: Array) -> Array:
    try:
        return np.linalg.cholesky(x)
    except np.linalg.LinAlgError:
        return np.tril(np.full_like(x, np.nan))


@kernel("MatrixDeterminant", "BatchMatrixDeterminant")
def _determinant(node: Node) -> Callable[..., Any]:
    def call(x: Array) -> Any:
        _checked(x)
        return np.linalg.det(x)

    return widened(call, node.attrs["T"].numpy)


@kernel("MatrixSolve")
def _solve(node: Node) -> Callable[..., Any]:
    adjoint = node.attrs["adjoint"]

    def call(matrix: Array, rhs: Array) -> Any:
        _checked(matrix)
        if matrix.shape[:-1] != rhs.shape[:-1]:
            raise InvalidArgumentError(
                f"a right-hand side of shape {list(rhs.shape)} for matrices of shape "
                f"{list(matrix.shape)}"
            )
        return _invertible(np.linalg.solve, _adjoint(matrix) if adjoint else matrix, rhs)

    return widened(call, node.attrs["T"].numpy)


@kernel("MatrixTriangularSolve")
@refusing
def _triangular_solve(node: Node) -> Callable[..., Any]:
    lower, adjoint = node.attrs["lower"], node.attrs["adjoint"]

    def call(matrix: Array, rhs: Array) -> Any:
        part = np.tril(matrix) if lower else np.triu(matrix)
        if not (np.diagonal(part, axis1=-2, axis2=-1) != 0).all():
            raise InvalidArgumentError("a matrix is not invertible")
        return np.linalg.solve(_adjoint(part) if adjoint else part, rhs)

    return widened(call, node.attrs["T"].numpy)


@kernel("MatrixSolveLs")
@refusing
def _least_squares(node: Node) -> Callable[..., Any]:
    """By the normal equations with a regulariser where `fast`, else by a pseudo-inverse."""
    fast = node.attrs["fast"]

    def call(matrix: Array, rhs: Array, regulariser: Array) -> Any:
        if not fast:
            return np.linalg.pinv(matrix) @ rhs
        rows, columns = matrix.shape[-2:]
        turned = _adjoint(matrix)
        least = regulariser.astype(matrix.dtype)
        if rows >= columns:
            square = turned @ matrix + least * np.eye(columns, dtype=matrix.dtype)
            return _invertible(np.linalg.solve, square, turned @ rhs)
        square = matrix @ turned + least * np.eye(rows, dtype=matrix.dtype)
        return turned @ _invertible(np.linalg.solve, square, rhs)

    return call


@kernel("LogMatrixDeterminant")
@refusing
def _log_determinant(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy

    def call(x: Array) -> Any:
        sign, logarithm = np.linalg.slogdet(x)
        return np.asarray(sign, dtype), np.asarray(logarithm, dtype)

    return call


@kernel("Cross")
@refusing
def _cross(node: Node) -> Callable[..., Any]:
    return np.cross


@kernel("CholeskyGrad")
@refusing
def _cholesky_grad(node: Node) -> Callable[..., Any]:
    def call(factor: Array, grad: Array) -> Any:
        factor, grad = np.tril(factor), np.tril(grad)
        inner = np.tril(_adjoint(factor) @ grad)
        places = np.arange(factor.shape[-1])
        inner[..., places, places] /= 2
        half = np.linalg.solve(_adjoint(factor), inner)
        whole = _adjoint(np.linalg.solve(_adjoint(factor), _adjoint(half)))
        return (whole + _adjoint(whole)) / 2

    return widened(call, node.attrs["T"].numpy)


# ------------------------------------------------------------------------------------ diagonals


def _band(k: Array) -> tuple[int, int]:
    if k.ndim > 1:
        raise InvalidArgumentError(f"k is a scalar or a vector, got shape {list(k.shape)}")
    return band_of(np.ravel(k).tolist())


def _places(
    rows: int, columns: int, band: tuple[int, int], align: bytes
) -> Iterator[tuple[int, Any, Any, slice]]:
    """For each diagonal its place in a stack of them, and where its elements are.

    Gives the row of the stack, the rows and columns in the matrix, and the part of the row.
    """
    low, high = band
    whole = longest(rows, columns, band)
    upper, lower = align.split(b"_")
    for d in range(high, low - 1, -1):
        length = max(min(rows + min(d, 0), columns - max(d, 0)), 0)
        left = (d >= 0 and upper == b"LEFT") or (d <= 0 and lower == b"LEFT")
        first = 0 if left else whole - length
        at = np.arange(length)
        yield high - d, at - min(d, 0), at + max(d, 0), slice(first, first + length)


def _static_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """What the shape function refuses is refused when it runs as well."""

    def call(*inputs: Array) -> Any:
        try:
            return function(*inputs)
        except ShapeError as error:
            raise InvalidArgumentError(error.what) from None

    return call


def _matrix(x: Array) -> None:
    if x.ndim < 2:
        raise InvalidArgumentError(f"matrices have rank 2 or more, got shape {list(x.shape)}")


def stacked_diagonals(node: Node) -> Callable[..., Any]:
    """Matrices from their diagonals."""
    align: bytes = node.attrs.get("align", b"LEFT_LEFT")
    dtype = node.attrs["T"].numpy

    def call(diagonal: Array, k: Array, num_rows: Array, num_cols: Array, padding: Array) -> Any:
        band = _band(k)
        count = band[1] - band[0] + 1
        if diagonal.ndim < (2 if count > 1 else 1) or (count > 1 and diagonal.shape[-2] != count):
            raise InvalidArgumentError(f"{count} diagonals do not lie in {list(diagonal.shape)}")
        if np.size(padding) != 1:
            raise InvalidArgumentError(f"one value fills up, got shape {list(padding.shape)}")
        stack = diagonal if count > 1 else diagonal[..., None, :]
        size = (None if int(n) < 0 else int(n) for n in (num_rows, num_cols))
        rows, columns = matrix_size(stack.shape[-1], band, *size)
        out = np.empty((*stack.shape[:-2], rows, columns), dtype)
        out[...] = padding
        for row, i, j, part in _places(rows, columns, band, align):
            out[..., i, j] = stack[..., row, part]
        return out

    return _static_errors(call)


def diagonals_of(node: Node) -> Callable[..., Any]:
    """A band of diagonals of matrices."""
    align: bytes = node.attrs.get("align", b"LEFT_LEFT")
    dtype = node.attrs["T"].numpy

    def call(x: Array, k: Array, padding: Array) -> Any:
        _matrix(x)
        band = _band(k)
        rows, columns = x.shape[-2:]
        count = band[1] - band[0] + 1
        out = np.empty((*x.shape[:-2], count, longest(rows, columns, band)), dtype)
        out[...] = padding
        for row, i, j, part in _places(rows, columns, band, align):
            out[..., row, part] = x[..., i, j]
        return out if count > 1 else out[..., 0, :]

    return _static_errors(call)


def with_diagonals(node: Node) -> Callable[..., Any]:
    """Matrices with other diagonals."""
    align: bytes = node.attrs.get("align", b"LEFT_LEFT")

    def call(x: Array, diagonal: Array, k: Array) -> Any:
        _matrix(x)
        band = _band(k)
        rows, columns = x.shape[-2:]
        count = band[1] - band[0] + 1
        want = (
            *x.shape[:-2], *([count] if count > 1 else []), longest(rows, columns, band)
        )  # fmt: skip
        if diagonal.shape != want:
            raise InvalidArgumentError(
                f"diagonals {band[0]} to {band[1]} of {list(x.shape)} have the shape "
                f"{list(want)}, not {list(diagonal.shape)}"
            )
        stack = diagonal if count > 1 else diagonal[..., None, :]
        out = x.copy()
        for row, i, j, part in _places(rows, columns, band, align):
            out[..., i, j] = stack[..., row, part]
        return out

    return _static_errors(call)


kernel("MatrixDiagV3")(stacked_diagonals)
kernel("MatrixDiagPartV3")(diagonals_of)
kernel("MatrixSetDiagV3")(with_diagonals)
