"""Strings as characters of Unicode, and back."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import product, ranked, refused, unchanged
from graphvm_runtime.shapes import Shape

define("UnicodeScript", "UnicodeTranscode", shape=unchanged)


def _decode(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    count = None if shape is None else product(shape)
    splits = (None if count is None else count + 1,)
    return (splits, *((None,) for _ in ctx.op.outputs[1:]))


define("UnicodeDecode", "UnicodeDecodeWithOffsets", shape=_decode)


def _encode(ctx: ShapeContext) -> Sequence[Shape]:
    splits = ctx.shapes[1]
    size = None if splits is None else splits[0]
    if size is not None and size < 2:
        raise refused(f"input_splits must have two elements or more, got {size}")
    return ((None if size is None else size - 1,),)


define("UnicodeEncode", shape=ranked(_encode, input_values=1, input_splits=1))
