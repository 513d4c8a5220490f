"""Images of other sizes, by several ways to interpolate, and the gradients of these."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, dims_of, refused, with_rank
from graphvm_runtime.shapes import Dim, Shape


def _check_centers(ctx: ShapeContext) -> None:
    if ctx.attrs.get("half_pixel_centers") and ctx.attrs["align_corners"]:
        raise InvalidArgumentError("half_pixel_centers must be false where align_corners is true")


def _size(ctx: ShapeContext, index: int) -> tuple[Dim, ...]:
    agreed([with_rank(ctx, index, 1), (2,)])
    size = dims_of(ctx, index) or (None, None)
    if 0 in size:
        raise refused(f"size must be positive, got {list(size)}")
    return size


def _resized(ctx: ShapeContext) -> Sequence[Shape]:
    _check_centers(ctx)
    batch, _, _, depth = with_rank(ctx, 0, 4)
    return ((batch, *_size(ctx, 1), depth),)


def _back(ctx: ShapeContext) -> Sequence[Shape]:
    _check_centers(ctx)
    with_rank(ctx, 0, 4)
    return (with_rank(ctx, 1, 4),)


define("ResizeArea", "ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor", shape=_resized)
define("ResizeNearestNeighborGrad", shape=_resized)
define("ResizeBicubicGrad", "ResizeBilinearGrad", shape=_back)
