"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import COMPLEX, FLOATS, UNSIGNED, int16, int32, int64
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, boolean, define, types
from graphvm_runtime.ops.shape_functions import (
    refused,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Shape, broadcast, shape_text


def _matmul(ctx: ShapeContext) -> Sequence[Shape]:
    a, b = with_rank(ctx, 0, 2, 1), with_rank(ctx, 1, 2, 1)
    rows, inner = reversed(a) if ctx.attrs["transpose_a"] else a
    below, columns = reversed(b) if ctx.attrs["transpose_b"] else b
    if inner is not None and below is not None and inner != below:
        raise refused(
            f"inner dimensions differ: {inner} of {shape_text(a)} against {below} of "
            f"{shape_text(b)}", 2,
        )  # fmt: skip
    return ((rows, columns),)


def _batch_matmul(ctx: ShapeContext) -> Sequence[Shape]:
    x, y = with_rank_at_least(ctx, 0, 2, 1), with_rank_at_least(ctx, 1, 2, 1)
    if x is None or y is None:
        return (None,)
    rows, inner = reversed(x[-2:]) if ctx.attrs["adj_x"] else x[-2:]
    below, columns = reversed(y[-2:]) if ctx.attrs["adj_y"] else y[-2:]
    if inner is not None and below is not None and inner != below:
        raise refused(
            f"inner dimensions differ: {inner} of {shape_text(x)} against {below} of "
            f"{shape_text(y)}", 2,
        )  # fmt: skip
    try:
        batch = broadcast(x[:-2], y[:-2]) or ()
    except ShapeError as error:
        raise refused(error.what, 3, error.do) from None
    return ((*batch, rows, columns),)


define("MatMul", "a: T, b: T -> product: T",
       {"transpose_a": boolean(False), "transpose_b": boolean(False),
        "T": types(*FLOATS, int32, int64, *UNSIGNED, *COMPLEX),
        "grad_a": boolean(False), "grad_b": boolean(False)},
       shape=_matmul,
       constraints=["C1: both are matrices", "C2: the inner dimensions are equal"])  # fmt: skip
define("BatchMatMulV2", "x: T, y: T -> output: T",
       {"T": types(*FLOATS, int16, int32, int64, *UNSIGNED, *COMPLEX),
        "adj_x": boolean(False), "adj_y": boolean(False),
        "grad_x": boolean(False), "grad_y": boolean(False)},
       shape=_batch_matmul,
       constraints=["C1: both have rank 2 or more", "C2: the inner dimensions are equal",
                    "C3: the other axes broadcast"])  # fmt: skip
