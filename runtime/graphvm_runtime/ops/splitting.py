"""Ops that cut an array into parts, and that reverse the parts of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import INDICES, int8, int32, int64
from graphvm_runtime.ops.registry import ShapeContext, define, integer, types
from graphvm_runtime.ops.shape_functions import normalized, refused, with_rank
from graphvm_runtime.shapes import Dim, Shape, merged_dim, shape_text

T = types()


def _axis(ctx: ShapeContext, index: int, rank: int) -> int | None:
    """The axis that an input names, where it is known."""
    axis = ctx.scalar(index)
    return None if axis is None else normalized(axis, rank, 1)


def _split(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 0, 0, 1)
    shape, num = ctx.shapes[1], int(ctx.attrs["num_split"])
    if shape is None:
        return (None,) * num
    at = _axis(ctx, 0, len(shape))
    if at is None:
        return ((None,) * len(shape),) * num
    length = shape[at]
    if length is not None and length % num:
        raise refused(f"axis {at} of {shape_text(shape)} does not fall into {num} equal parts", 2)
    part = None if length is None else length // num
    return ((*shape[:at], part, *shape[at + 1 :]),) * num


def _split_v(ctx: ShapeContext) -> Sequence[Shape]:
    shape, num = ctx.shapes[0], int(ctx.attrs["num_split"])
    (count,) = with_rank(ctx, 1, 1, 2)
    if count not in (None, num):
        raise refused(f"size_splits has {num} entries, got {count}", 2)
    with_rank(ctx, 2, 0, 1)
    if shape is None:
        return (None,) * num
    at = _axis(ctx, 2, len(shape))
    if at is None:
        return ((None,) * len(shape),) * num
    sizes = part_sizes(list(ctx.vector(1) or (None,) * num), shape[at])
    return [(*shape[:at], size, *shape[at + 1 :]) for size in sizes]


def part_sizes(sizes: list[Dim], length: Dim) -> list[Dim]:
    """Lengths of the parts, with the one that is -1 filled in where it can be.

    Raises:
        ShapeError: they do not add up to the length, or more than one is -1.
    """
    known = [s for s in sizes if s is not None and s != -1]
    if any(s < 0 for s in known) or sizes.count(-1) > 1:
        raise refused(f"sizes {sizes} have one -1 at most, and nothing below", 2)
    total = sum(known)
    if length is None or None in sizes:
        if length is not None and total > length:
            raise refused(f"sizes {sizes} are more than the length {length} of the axis", 2)
        return [None if s == -1 else s for s in sizes]
    if total > length or (total < length and -1 not in sizes):
        raise refused(f"sizes {sizes} do not add up to the length {length} of the axis", 2)
    return [length - total if s == -1 else s for s in sizes]


def _reverse_sequence(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    (count,) = with_rank(ctx, 1, 1, 2)
    along, batch = ctx.attrs["seq_dim"], ctx.attrs["batch_dim"]
    if along < 0 or batch < 0 or along == batch:
        raise refused(f"seq_dim {along} and batch_dim {batch} are two axes, none negative", 1)
    if shape is None:
        return (None,)
    if along >= len(shape) or batch >= len(shape):
        raise refused(
            f"seq_dim {along} and batch_dim {batch} lie within the rank of {shape_text(shape)}", 1
        )
    if None not in (count, shape[batch]) and count != shape[batch]:
        raise refused(
            f"axis {batch} of {shape_text(shape)} has one entry for each of {count} lengths", 2
        )
    entries = merged_dim(count, shape[batch])
    return ((*shape[:batch], entries, *shape[batch + 1 :]),)


_WITHIN = "C1: the axis is a scalar within the rank"
define("Split", "split_dim: int32, value: T -> output: num_split*T",
       {"num_split": integer(minimum=1), "T": T}, shape=_split,
       constraints=[_WITHIN, "C2: num_split divides the length of the axis"])  # fmt: skip
define("SplitV", "value: T, size_splits: Tlen, split_dim: int32 -> output: num_split*T",
       {"num_split": integer(minimum=1), "T": T, "Tlen": types(int8, int32, int64, default=int64)},
       shape=_split_v,
       constraints=[_WITHIN,
                    "C2: num_split sizes that add up to the length; one may be -1"])  # fmt: skip
define("ReverseSequence", "input: T, seq_lengths: Tlen -> output: T",
       {"seq_dim": integer(), "batch_dim": integer(0), "T": T,
        "Tlen": types(*INDICES, default=int64)}, shape=_reverse_sequence,
       constraints=["C1: seq_dim and batch_dim are two axes within the rank",
                    "C2: seq_lengths is a vector with a length for each entry"])  # fmt: skip
