"""Tensors handed on as they are: looked at, copied, checked, or seen as another type."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import dims_of, passed, refused, unchanged
from graphvm_runtime.shapes import Shape, merged, shape_text


def _bitcast(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    have, want = ctx.attrs["T"].numpy.itemsize, ctx.attrs["type"].numpy.itemsize
    if shape is None or have == want:
        return (shape,)
    if have > want:
        return ((*shape, have // want),)
    if not shape or shape[-1] not in (None, want // have):
        raise refused(
            f"the last dimension must be {want // have} to become {ctx.attrs['type'].name}, got "
            f"{shape_text(shape)}"
        )
    return (shape[:-1],)


def _ensured(ctx: ShapeContext) -> Sequence[Shape]:
    try:
        return (merged(ctx.shapes[0], ctx.attrs["shape"]),)
    except ShapeError:
        raise refused(
            f"the input must have shape {shape_text(ctx.attrs['shape'])}, got "
            f"{shape_text(ctx.shapes[0])}"
        ) from None


def _empty(ctx: ShapeContext) -> Sequence[Shape]:
    return (dims_of(ctx, 0),)


define("Bitcast", shape=_bitcast)
define("EnsureShape", shape=_ensured, value=passed)
define("Empty", shape=_empty)
define(
    "CheckNumerics", "DebugGradientIdentity", "DeepCopy", "GuaranteeConst", "Snapshot",
    shape=unchanged,
)  # fmt: skip
