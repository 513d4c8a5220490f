"""Padding with a constant, or with what lies at the edges."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import Array
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import refused, unknown_of_rank, with_rank
from graphvm_runtime.shapes import Shape, shape_text


def padded(ctx: ShapeContext, sign: int = 1) -> tuple[Shape, Array | None]:
    """The shape with paddings on (sign 1) or off (-1), and the paddings where they are known."""
    shape = ctx.shapes[0]
    rows, columns = with_rank(ctx, 1, 2)
    if columns not in (None, 2) or (shape is not None and rows not in (None, len(shape))):
        raise refused(f"paddings must have shape [rank, 2], got {shape_text(ctx.shapes[1])}")
    rank = len(shape) if shape is not None else rows
    paddings = ctx.constant(1)
    if rank is None:
        return None, paddings
    if paddings is None or shape is None:
        return unknown_of_rank(rank), paddings
    if (paddings < 0).any():
        raise refused(f"paddings must not be negative, got {paddings.tolist()}")
    change = (sign * paddings.sum(1)).tolist()
    found = tuple(None if d is None else d + c for d, c in zip(shape, change, strict=True))
    if any(d is not None and d < 0 for d in found):
        raise refused(f"paddings {paddings.tolist()} must fit into {shape_text(shape)}")
    return found, paddings


def _with_constant(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 2, 0)
    return (padded(ctx)[0],)


def _mirrored(ctx: ShapeContext) -> Sequence[Shape]:
    found, paddings = padded(ctx)
    _check_mirror(ctx, ctx.shapes[0], paddings)
    return (found,)


def _mirrored_back(ctx: ShapeContext) -> Sequence[Shape]:
    found, paddings = padded(ctx, -1)
    _check_mirror(ctx, found, paddings)
    return (None if paddings is None else found,)


def _check_mirror(ctx: ShapeContext, shape: Shape, paddings: Array | None) -> None:
    """A mirror shows no more than there is; without the edge itself in the mode REFLECT."""
    if shape is None or paddings is None:
        return
    least = 1 if ctx.attrs["mode"] == b"REFLECT" else 0
    for d, pair in zip(shape, paddings.tolist(), strict=True):
        if d is not None and max(pair) > d - least:
            limit = "less than" if least else "at most"
            raise refused(f"paddings must be {limit} the dimension {d}, got {pair}")


define("PadV2", shape=_with_constant)
define("MirrorPad", shape=_mirrored)
define("MirrorPadGrad", shape=_mirrored_back)
