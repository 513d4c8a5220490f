"""Ops that cut an array into parts, and that reverse the parts of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import normalized, refused, with_rank
from graphvm_runtime.shapes import Dim, Shape, merged_dim, shape_text


def _axis(ctx: ShapeContext, index: int, rank: int) -> int | None:
    """The axis that an input names, where it is known."""
    axis = ctx.scalar(index)
    return None if axis is None else normalized(axis, rank)


def _split(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 0, 0)
    shape, num = ctx.shapes[1], int(ctx.attrs["num_split"])
    if shape is None:
        return (None,) * num
    at = _axis(ctx, 0, len(shape))
    if at is None:
        return ((None,) * len(shape),) * num
    length = shape[at]
    if length is not None and length % num:
        raise refused(f"axis {at} of {shape_text(shape)} does not fall into {num} equal parts")
    part = None if length is None else length // num
    return ((*shape[:at], part, *shape[at + 1 :]),) * num


def _split_v(ctx: ShapeContext) -> Sequence[Shape]:
    shape, num = ctx.shapes[0], int(ctx.attrs["num_split"])
    (count,) = with_rank(ctx, 1, 1)
    if count not in (None, num):
        raise refused(f"size_splits has {num} entries, got {count}")
    with_rank(ctx, 2, 0)
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
        raise refused(f"sizes {sizes} have one -1 at most, and nothing below")
    total = sum(known)
    if length is None or None in sizes:
        if length is not None and total > length:
            raise refused(f"sizes {sizes} are more than the length {length} of the axis")
        return [None if s == -1 else s for s in sizes]
    if total > length or (total < length and -1 not in sizes):
        raise refused(f"sizes {sizes} do not add up to the length {length} of the axis")
    return [length - total if s == -1 else s for s in sizes]


def _reverse_sequence(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    (count,) = with_rank(ctx, 1, 1)
    along, batch = ctx.attrs["seq_dim"], ctx.attrs["batch_dim"]
    if along < 0 or batch < 0 or along == batch:
        raise refused(f"seq_dim {along} and batch_dim {batch} are two axes, none negative")
    if shape is None:
        return (None,)
    if along >= len(shape) or batch >= len(shape):
        raise refused(
            f"seq_dim {along} and batch_dim {batch} lie within the rank of {shape_text(shape)}"
        )
    if None not in (count, shape[batch]) and count != shape[batch]:
        raise refused(
            f"axis {batch} of {shape_text(shape)} has one entry for each of {count} lengths"
        )
    entries = merged_dim(count, shape[batch])
    return ((*shape[:batch], entries, *shape[batch + 1 :]),)


define("Split", shape=_split)
define("SplitV", shape=_split_v)
define("ReverseSequence", shape=_reverse_sequence)
