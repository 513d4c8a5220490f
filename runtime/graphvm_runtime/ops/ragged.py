"""Rows of different lengths: values one after the other, and where each row begins and ends."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    product,
    refused,
    unknown_of_rank,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Dim, Shape, merged, merged_dim, shape_text

ROW_TYPES = (b"FIRST_DIM_SIZE", b"VALUE_ROWIDS", b"ROW_LENGTHS", b"ROW_SPLITS")


def _range(ctx: ShapeContext) -> Sequence[Shape]:
    count: Dim = None
    all_scalar = True
    for shape in ctx.shapes:
        if shape is not None and len(shape) > 1:
            raise refused(
                f"starts, limits and deltas are scalars or vectors, got {shape_text(shape)}"
            )
        all_scalar = all_scalar and shape == ()
        if shape is not None and len(shape) == 1:
            try:
                count = merged_dim(count, shape[0])
            except ValueError:
                raise refused(f"{count} rows and {shape[0]} rows") from None
    if all_scalar:
        count = 1
    return ((None if count is None else count + 1,), (None,))


def _check_splits(ctx: ShapeContext, count: int) -> None:
    for index in range(count):
        (size,) = with_rank(ctx, index, 1)
        if size == 0:
            raise refused("splits have one element or more")


def _gather(ctx: ShapeContext) -> Sequence[Shape]:
    depth = ctx.attrs["PARAMS_RAGGED_RANK"]
    _check_splits(ctx, depth)
    values = with_rank_at_least(ctx, depth, 1)
    indices = ctx.shapes[depth + 1]
    if indices is not None and ctx.attrs["OUTPUT_RAGGED_RANK"] != depth + len(indices) - 1:
        raise refused(
            f"OUTPUT_RAGGED_RANK is {depth + len(indices) - 1} for these indices, not "
            f"{ctx.attrs['OUTPUT_RAGGED_RANK']}",
        )
    rest: Shape = None if values is None else (None, *values[1:])
    return (*((None,) for _ in range(ctx.attrs["OUTPUT_RAGGED_RANK"])), rest)


def _to_sparse(ctx: ShapeContext) -> Sequence[Shape]:
    depth = ctx.attrs["RAGGED_RANK"]
    _check_splits(ctx, depth)
    values = with_rank_at_least(ctx, depth, 1)
    if values is None:
        return ((None, None), (None,), (None,))
    count, rank = product(values), depth + len(values)
    return ((count, rank), (count,), (rank,))


def _to_tensor(ctx: ShapeContext) -> Sequence[Shape]:
    kinds = ctx.attrs["row_partition_types"]
    if len(kinds) != ctx.attrs["num_row_partition_tensors"] or not set(kinds) <= set(ROW_TYPES):
        raise refused(f"row partitions of the types {[k.decode(errors='replace') for k in kinds]}")
    if kinds[0] == b"FIRST_DIM_SIZE" and kinds[1:2] != (b"VALUE_ROWIDS",):
        raise refused("FIRST_DIM_SIZE stands before VALUE_ROWIDS")
    if kinds[0] == b"VALUE_ROWIDS" or b"FIRST_DIM_SIZE" in kinds[1:]:
        raise refused("FIRST_DIM_SIZE stands first, and before VALUE_ROWIDS alone")
    depth = sum(kind != b"FIRST_DIM_SIZE" for kind in kinds)
    values = with_rank_at_least(ctx, 1, 1)
    out: Shape = None if values is None else (*(None,) * (depth + 1), *values[1:])
    if ctx.shapes[0] in ((), None):
        return (out,)
    dims = _wanted(ctx)
    if dims is None:
        return (out,)
    if out is not None and len(out) != len(dims):
        raise refused(f"a shape of {len(dims)} axes for a result of {len(out)}")
    try:
        return (merged(dims, out),)
    except ValueError as error:
        raise refused(f"the shape {shape_text(dims)} for values of {shape_text(values)}") from error


def _wanted(ctx: ShapeContext) -> tuple[Dim, ...] | None:
    """The shape input, in which -1 is an unknown size."""
    (count,) = with_rank(ctx, 0, 1)
    known = ctx.integers(0)
    if known is None:
        return None if count is None else unknown_of_rank(count)
    return tuple(None if d < 0 else d for d in known)


define("RaggedRange", shape=_range)
define("RaggedGather", shape=_gather)
define("RaggedTensorToSparse", shape=_to_sparse)
define("RaggedTensorToTensor", shape=_to_tensor)
__all__ = ["ROW_TYPES"]
