"""Blocks of space moved into the batch or into the depth, and back."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphvm_runtime.errors import UnimplementedError
from graphvm_runtime.ops.registry import ShapeContext, ShapeFn, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    product,
    refused,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Dim, Shape, shape_text


def _divided(size: Dim, by: int, what: str) -> Dim:
    if size is None:
        return None
    if size % by:
        raise refused(f"{what} must be divisible by {by}, got {size}")
    return size // by


def _block(ctx: ShapeContext, borders: int) -> tuple[tuple[int, ...] | None, int | None]:
    """Sizes of a block and how many there are; `borders` is the input of paddings or crops."""
    if borders == 1:  # the older form, of images
        size: int = ctx.attrs["block_size"]
        return (size, size), 2
    (count,) = with_rank(ctx, 1, 1)
    rows, columns = with_rank(ctx, 2, 2)
    if columns not in (None, 2) or (None not in (rows, count) and rows != count):
        raise refused(
            f"paddings or crops must have shape [{shape_text((count,))[1:-1]}, 2], got "
            f"{shape_text(ctx.shapes[2])}"
        )
    sizes = ctx.integers(1)
    if sizes is not None and min(sizes, default=1) < 1:
        raise refused(f"block_shape must be positive, got {list(sizes)}")
    return sizes, count if count is not None else rows


def _pairs(ctx: ShapeContext, index: int) -> list[tuple[int, int]] | None:
    values = ctx.constant(index)
    if values is None:
        return None
    if (values < 0).any():
        raise refused(f"paddings and crops must not be negative, got {values.tolist()}")
    return [(before, after) for before, after in values.tolist()]


def _input(ctx: ShapeContext, borders: int, count: int | None) -> Shape:
    if borders == 1:
        agreed([with_rank(ctx, 1, 2), (2, 2)])
        return with_rank(ctx, 0, 4)
    return ctx.shapes[0] if count is None else with_rank_at_least(ctx, 0, count + 1)


def _to_batch(borders: int) -> ShapeFn:
    def shape(ctx: ShapeContext) -> Sequence[Shape]:
        sizes, count = _block(ctx, borders)
        found = _input(ctx, borders, count)
        if found is None or count is None:
            return (None,)
        pairs = _pairs(ctx, borders)
        batch = None if sizes is None else product((found[0], math.prod(sizes)))
        out: list[Dim] = [batch]
        for i in range(count):
            size = found[1 + i]
            whole = None if size is None or pairs is None else size + sum(pairs[i])
            out.append(None if sizes is None else _divided(whole, sizes[i], "a padded dimension"))
        return ((*out, *found[1 + count :]),)

    return shape


def _to_space(borders: int) -> ShapeFn:
    def shape(ctx: ShapeContext) -> Sequence[Shape]:
        sizes, count = _block(ctx, borders)
        found = _input(ctx, borders, count)
        if found is None or count is None:
            return (None,)
        pairs = _pairs(ctx, borders)
        batch = None if sizes is None else _divided(found[0], math.prod(sizes), "the batch")
        out: list[Dim] = [batch]
        for i in range(count):
            whole = None if sizes is None else product((found[1 + i], sizes[i]))
            size = None if whole is None or pairs is None else whole - sum(pairs[i])
            if size is not None and size < 0:
                raise refused(f"crops {pairs} must fit into the dimension {whole}")
            out.append(size)
        return ((*out, *found[1 + count :]),)

    return shape


def image_axes(layout: bytes) -> tuple[int, int, int]:
    """Axes of rows, columns and depth. Raises UnimplementedError for NCHW_VECT_C."""
    if layout == b"NCHW_VECT_C":
        raise UnimplementedError("the layout NCHW_VECT_C is not supported on a CPU")
    return (2, 3, 1) if layout == b"NCHW" else (1, 2, 3)


def _depth(to_depth: bool) -> ShapeFn:
    def shape(ctx: ShapeContext) -> Sequence[Shape]:
        size: int = ctx.attrs["block_size"]
        if ctx.attrs["data_format"] == b"NCHW_VECT_C":
            return ((None,) * 5,)
        found = list(with_rank(ctx, 0, 4))
        *space, depth = image_axes(ctx.attrs["data_format"])
        for axis in space:
            old = found[axis]
            found[axis] = (
                _divided(old, size, "rows and columns") if to_depth else product((old, size))
            )
        old, square = found[depth], size * size
        found[depth] = product((old, square)) if to_depth else _divided(old, square, "the depth")
        return (tuple(found),)

    return shape


define("SpaceToBatch", shape=_to_batch(1))
define("SpaceToBatchND", shape=_to_batch(2))
define("BatchToSpace", shape=_to_space(1))
define("BatchToSpaceND", shape=_to_space(2))
define("SpaceToDepth", shape=_depth(True))
define("DepthToSpace", shape=_depth(False))
