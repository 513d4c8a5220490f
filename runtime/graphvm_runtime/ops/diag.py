"""Diagonals of matrices and tensors, and bands of matrices, also in older forms."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.linalg import diag, diag_part, set_diag
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    ranked,
    refused,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Shape, shape_text


def _matrix(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 1)
    return (None if shape is None else (*shape, shape[-1]),)


def _shortest(shape: Shape) -> Shape:
    if shape is None:
        return None
    rows, columns = shape[-2:]
    return (*shape[:-2], None if rows is None or columns is None else min(rows, columns))


def _diagonal(ctx: ShapeContext) -> Sequence[Shape]:
    return (_shortest(with_rank_at_least(ctx, 0, 2)),)


def _set(ctx: ShapeContext) -> Sequence[Shape]:
    shape, given = with_rank_at_least(ctx, 0, 2), with_rank_at_least(ctx, 1, 1)
    found = agreed([_shortest(shape), given])
    if shape is None:
        return (None,)
    return (shape if found is None else (*found[:-1], *shape[-2:]),)


def _tensor(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 1)
    return (None if shape is None else shape * 2,)


def _tensor_part(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    if shape is None:
        return (None,)
    if len(shape) % 2:
        raise refused(f"the input must have an even rank, got {shape_text(shape)}")
    half = len(shape) // 2
    return (agreed([shape[:half], shape[half:]]),)


def _band(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 2)
    for i, name in ((1, "num_lower"), (2, "num_upper")):
        with_rank(ctx, i, 0)
        count, size = ctx.scalar(i), None if shape is None else shape[i - 3]
        if count is not None and size is not None and count > size:
            raise refused(f"{name} must be at most the dimension {size}, got {count}")
    return (shape,)


define("MatrixDiag", "BatchMatrixDiag", shape=_matrix)
define("MatrixDiagPart", "BatchMatrixDiagPart", shape=_diagonal)
define("MatrixSetDiag", "BatchMatrixSetDiag", shape=_set)
define("MatrixDiagV2", shape=ranked(diag, num_rows=0, num_cols=0, padding_value=0))
define("MatrixDiagPartV2", shape=ranked(diag_part, padding_value=0))
define("MatrixSetDiagV2", shape=set_diag)
define("Diag", shape=_tensor)
define("DiagPart", shape=_tensor_part)
define("MatrixBandPart", shape=_band)
