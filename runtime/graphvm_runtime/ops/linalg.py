"""Linear algebra: solving, inverting, determinants; diagonals of matrices."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    ranked,
    refused,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Dim, Shape, broadcast, shape_text


def _square(ctx: ShapeContext) -> Shape:
    shape = with_rank_at_least(ctx, 0, 2)
    if shape is None:
        return None
    rows, columns = shape[-2:]
    if rows is not None and columns is not None and rows != columns:
        raise refused(f"matrices are square, got {shape_text(shape)}")
    size = columns if rows is None else rows
    return (*shape[:-2], size, size)


def _inverse(ctx: ShapeContext) -> Sequence[Shape]:
    return (_square(ctx),)


def _determinant(ctx: ShapeContext) -> Sequence[Shape]:
    shape = _square(ctx)
    return (None if shape is None else shape[:-2],)


def _solve(ctx: ShapeContext) -> Sequence[Shape]:
    matrix, rhs = _square(ctx), with_rank_at_least(ctx, 1, 2)
    if matrix is None or rhs is None:
        return (None if rhs is None else (*[None] * (len(rhs) - 1), rhs[-1]),)
    return ((*(agreed([matrix[:-1], rhs[:-1]]) or ()), rhs[-1]),)


define("MatrixInverse", shape=_inverse)
define(
    "Cholesky", shape=_inverse, doc="lower triangular L, L L^H = input; the lower triangle is read"
)
define("MatrixDeterminant", shape=_determinant)
define("MatrixSolve", shape=_solve, doc="x in matrix x = rhs")


def _triangular(ctx: ShapeContext) -> Sequence[Shape]:
    matrix, rhs = _square(ctx), with_rank_at_least(ctx, 1, 2)
    if matrix is None or rhs is None:
        return (None,)
    agreed([matrix[-1:], rhs[-2:-1]])
    try:
        batch = broadcast(matrix[:-2], rhs[:-2]) or ()
    except ShapeError as error:
        raise refused(error.what) from None
    return ((*batch, *rhs[-2:]),)


def _least_squares(ctx: ShapeContext) -> Sequence[Shape]:
    matrix, rhs = with_rank_at_least(ctx, 0, 2), with_rank_at_least(ctx, 1, 2)
    with_rank(ctx, 2, 0)
    if matrix is None or rhs is None:
        return (None,)
    batch = agreed([matrix[:-1], rhs[:-1]]) or ()
    return ((*batch[:-1], matrix[-1], rhs[-1]),)


def _log_determinant(ctx: ShapeContext) -> Sequence[Shape]:
    shape = _square(ctx)
    return (None if shape is None else shape[:-2],) * 2


def _cross(ctx: ShapeContext) -> Sequence[Shape]:
    shape = agreed([with_rank_at_least(ctx, 0, 1), with_rank_at_least(ctx, 1, 1)])
    if shape is not None and shape[-1] not in (None, 3):
        raise refused(f"vectors must have 3 elements, got {shape_text(shape)}")
    return (shape,)


def _cholesky_grad(ctx: ShapeContext) -> Sequence[Shape]:
    return (agreed([_square(ctx), with_rank_at_least(ctx, 1, 2)]),)


define("BatchCholesky", "BatchMatrixInverse", shape=_inverse)
define("BatchMatrixDeterminant", shape=_determinant)
define("MatrixTriangularSolve", shape=_triangular)
define("MatrixSolveLs", shape=_least_squares)
define("LogMatrixDeterminant", shape=_log_determinant)
define("Cross", shape=_cross)
define("CholeskyGrad", shape=_cholesky_grad)

# ------------------------------------------------------------------------------------ diagonals


def band_of(ks: Sequence[int]) -> tuple[int, int]:
    """The lowest and highest diagonal that `k` names. Raises ShapeError."""
    if len(ks) not in (1, 2):
        raise refused(f"k is one diagonal or a lowest and a highest one, got {list(ks)}")
    low, high = ks[0], ks[-1]
    if low > high:
        raise refused(f"the lowest diagonal {low} is above the highest {high}")
    return low, high


def matrix_size(
    length: int, band: tuple[int, int], rows: int | None, columns: int | None
) -> tuple[int, int]:
    """Rows and columns of a matrix whose longest diagonal in the band is `length` long.

    Raises:
        ShapeError: the size asked for does not have that diagonal.
    """
    low, high = band
    least = (length - min(high, 0), length + max(low, 0))
    if rows is None and columns is None:
        rows = columns = max(least)
    rows = least[0] if rows is None else rows
    columns = least[1] if columns is None else columns
    if rows < least[0] or columns < least[1] or (rows != least[0] and columns != least[1]):
        raise refused(
            f"no matrix of {rows} rows and {columns} columns has the diagonals {low} to {high} "
            f"with the longest of {length}",
        )
    return rows, columns


def longest(rows: int, columns: int, band: tuple[int, int]) -> int:
    """Length of the longest diagonal of a band. Raises ShapeError where one is outside."""
    for d in band:
        if d and not -rows < d < columns:
            raise refused(f"diagonal {d} is outside a matrix of {rows} by {columns}")
    return max(min(rows + min(band[1], 0), columns - max(band[0], 0)), 0)


def _band(ctx: ShapeContext, index: int) -> tuple[int, int] | None:
    shape = ctx.shapes[index]
    if shape is not None and len(shape) > 1:
        raise refused(f"k is a scalar or a vector, got {shape_text(shape)}")
    ks = ctx.integers(index)
    return None if ks is None else band_of(ks)


def _diagonals(shape: Shape, band: tuple[int, int], longest_one: Dim) -> Shape:
    if shape is None:
        return None
    count = band[1] - band[0] + 1
    return (*shape[:-2], *([count] if count > 1 else []), longest_one)


def _longest(shape: Shape, band: tuple[int, int]) -> Dim:
    if shape is None or shape[-1] is None or shape[-2] is None:
        return None
    return longest(shape[-2], shape[-1], band)


def diag(ctx: ShapeContext) -> Sequence[Shape]:
    """The shape of matrices with these diagonals."""
    shape, band = with_rank_at_least(ctx, 0, 1), _band(ctx, 1)
    if shape is None or band is None:
        return (None,)
    count = band[1] - band[0] + 1
    if count > 1:
        if len(shape) < 2 or shape[-2] not in (None, count):
            raise refused(f"{count} diagonals do not lie in {shape_text(shape)}")
        batch = shape[:-2]
    else:
        batch = shape[:-1]
    if ctx.scalar(2) is None or ctx.scalar(3) is None or shape[-1] is None:
        return ((*batch, None, None),)
    rows, columns = (None if (n := ctx.scalar(i)) is None or n < 0 else n for i in (2, 3))
    return ((*batch, *matrix_size(shape[-1], band, rows, columns)),)


def diag_part(ctx: ShapeContext) -> Sequence[Shape]:
    """The shape of a band of diagonals of matrices."""
    shape, band = with_rank_at_least(ctx, 0, 2), _band(ctx, 1)
    if band is None:
        return (None,)
    return (_diagonals(shape, band, _longest(shape, band)),)


def set_diag(ctx: ShapeContext) -> Sequence[Shape]:
    """The shape of matrices, which their new diagonals must fit."""
    shape, band = with_rank_at_least(ctx, 0, 2), _band(ctx, 2)
    given = with_rank_at_least(ctx, 1, 1)
    if shape is None or band is None:
        if (
            shape is not None
            and given is not None
            and len(given) not in range(len(shape) - 1, len(shape) + 1)
        ):
            raise refused(f"{shape_text(given)} holds no diagonals of {shape_text(shape)}")
        return (shape,)
    want = _diagonals(shape, band, _longest(shape, band))
    found = agreed([want, given])
    count = 2 if band[1] > band[0] else 1
    if found is None:
        return (shape,)
    return ((*found[: len(found) - count], *shape[-2:]),)


define("MatrixDiagV3", shape=ranked(diag, num_rows=0, num_cols=0, padding_value=0))
define("MatrixDiagPartV3", shape=ranked(diag_part, padding_value=0))
define("MatrixSetDiagV3", shape=set_diag)
