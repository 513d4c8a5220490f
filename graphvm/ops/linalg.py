"""Linear algebra, and diagonals of matrices."""

from __future__ import annotations

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor

__all__ = [
    "cholesky",
    "matrix_determinant", "matrix_diag", "matrix_diag_part", "matrix_inverse", "matrix_set_diag",
    "matrix_solve",
]  # fmt: skip


def cholesky(input: TensorLike, name: str | None = None) -> Tensor:
    """Lower triangular factors L of positive definite matrices: L times its adjoint.

    Args:
        input: floating or complex, shape [..., n, n]; only the lower triangle is read.
        name: name of the operation.

    Returns:
        Same element type and shape, zeros above the diagonal; NaN where a matrix is not positive
        definite.

    Raises:
        ShapeError: the matrices are not square.

    Source: TF op `Cholesky`.
    """
    return output("Cholesky", (input,), None, name)


def matrix_determinant(input: TensorLike, name: str | None = None) -> Tensor:
    """Determinants of square matrices.

    Args:
        input: floating or complex, shape [..., n, n].
        name: name of the operation.

    Returns:
        Same element type, shape [...]; 1 where n is 0.

    Raises:
        ShapeError: the matrices are not square.

    Source: TF op `MatrixDeterminant`.
    """
    return output("MatrixDeterminant", (input,), None, name)


def matrix_inverse(input: TensorLike, adjoint: bool = False, name: str | None = None) -> Tensor:
    """Inverses of square matrices.

    Args:
        input: floating or complex, shape [..., n, n].
        adjoint: of the transposed and conjugated matrices.
        name: name of the operation.

    Returns:
        Same element type and shape. A matrix that has no inverse is an `InvalidArgumentError`
        when it runs.

    Raises:
        ShapeError: the matrices are not square.

    Source: TF op `MatrixInverse`.
    """
    return output("MatrixInverse", (input,), {"adjoint": adjoint}, name)


def matrix_solve(
    matrix: TensorLike, rhs: TensorLike, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """Solutions x of systems of linear equations, matrix x = rhs.

    Args:
        matrix: floating or complex, shape [..., n, n].
        rhs: same element type, shape [..., n, k], with the same batch axes.
        adjoint: take the transposed and conjugated matrices.
        name: name of the operation.

    Returns:
        Same element type, shape [..., n, k]. A singular matrix is an `InvalidArgumentError` when
        it runs.

    Raises:
        ShapeError: the matrices are not square, or the shapes do not fit.

    Source: TF op `MatrixSolve`.
    """
    return output("MatrixSolve", (matrix, rhs), {"adjoint": adjoint}, name)


def matrix_diag(
    diagonal: TensorLike,
    name: str = "diag",
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with some diagonals, and one value everywhere else.

    Args:
        diagonal: any type, shape [..., n]; [..., m, n] for a band of m diagonals, the highest
            first.
        name: name of the operation.
        k: the diagonal, 0 for the main one, above it positive; or the lowest and highest of a
            band.
        num_rows: how many rows; -1 for as many as are needed.
        num_cols: how many columns; -1 for as many as are needed.
        padding_value: what stands beside the diagonals.
        align: on which side of their rows shorter diagonals above and below the main one lie:
            LEFT_RIGHT, RIGHT_LEFT, LEFT_LEFT or RIGHT_RIGHT.

    Returns:
        Same element type, shape [..., rows, columns]; square where neither is given.

    Raises:
        ShapeError: the diagonals do not fit the band, or the matrix.

    Source: TF op `MatrixDiagV3`.
    """
    with op_scope(name, (diagonal,)) as scope:
        x = convert_to_tensor(diagonal, name="diagonal")
        padding = _padding(padding_value, x)
        return output(
            "MatrixDiagV3", (x, k, num_rows, num_cols, padding), {"align": align.encode()}, scope
        )


def matrix_diag_part(
    input: TensorLike,
    name: str = "diag_part",
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Diagonals of matrices.

    Args:
        input: any type, shape [..., rows, columns].
        name: name of the operation.
        k: see `matrix_diag`.
        padding_value: what fills up the rows of shorter diagonals.
        align: see `matrix_diag`.

    Returns:
        Same element type, shape [..., n], or [..., m, n] for a band of m diagonals.

    Raises:
        ShapeError: a diagonal is outside the matrices.

    Source: TF op `MatrixDiagPartV3`.
    """
    with op_scope(name, (input,)) as scope:
        x = convert_to_tensor(input, name="input")
        padding = _padding(padding_value, x)
        return output("MatrixDiagPartV3", (x, k, padding), {"align": align.encode()}, scope)


def matrix_set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str = "set_diag",
    k: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with some of their diagonals replaced.

    Args:
        input: any type, shape [..., rows, columns].
        diagonal: same element type; the shape that `matrix_diag_part` gives.
        name: name of the operation.
        k: see `matrix_diag`.
        align: see `matrix_diag`.

    Returns:
        Element type and shape of `input`.

    Raises:
        ShapeError: a diagonal is outside the matrices, or `diagonal` has another shape.

    Source: TF op `MatrixSetDiagV3`.
    """
    return output("MatrixSetDiagV3", (input, diagonal, k), {"align": align.encode()}, name)


def _padding(value: TensorLike, like: Tensor) -> Tensor:
    """The value that fills up; the number 0 is the empty string among strings."""
    dtype = like.dtype.base
    if isinstance(value, int) and value == 0 and not dtype.is_numpy_compatible:
        value = ""
    if dtype.is_bool and isinstance(value, int):
        value = bool(value)
    return convert_to_tensor(value, dtype, name="padding_value")
