"""Strings of bytes."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    normalized,
    ranked,
    refused,
    unchanged,
    unsorted_segments,
)
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import Shape, broadcast, shape_text


def _join(ctx: ShapeContext) -> Sequence[Shape]:
    if any(ctx.shapes):
        return (agreed([s for s in ctx.shapes if s != ()]),)
    return (None if None in ctx.shapes else (),)


define("StringJoin", shape=_join)
define("AsString", shape=unchanged, doc="each element as C's printf writes it")


def placeholders(attrs: Attrs) -> int:
    """How many tensors the template of a `StringFormat` takes."""
    template: bytes = attrs["template"]
    return template.count(attrs["placeholder"])


def _format(ctx: ShapeContext) -> Sequence[Shape]:
    count = placeholders(ctx.attrs)
    if count != len(ctx.shapes):
        raise refused(f"the template takes {count} tensors, got {len(ctx.shapes)}")
    return ((),)


define("StringFormat", shape=_format)


define("StringLength", shape=unchanged)
define("StringLower", "StringUpper", "StringStrip", "StringToNumber", shape=unchanged)


def _reduce_join(ctx: ShapeContext) -> Sequence[Shape]:
    shape, axes = ctx.shapes[0], ctx.integers(1)
    keep = ctx.attrs["keep_dims"]
    if shape is None or axes is None:
        return ((None,) * len(shape) if shape is not None and keep else None,)
    joined = {normalized(axis, len(shape)) for axis in axes}
    if keep:
        return (tuple(1 if i in joined else d for i, d in enumerate(shape)),)
    return (tuple(d for i, d in enumerate(shape) if i not in joined),)


define("ReduceJoin", shape=_reduce_join)


def _split(ctx: ShapeContext) -> Sequence[Shape]:
    return ((None, 2), (None,), (2,))


define("StringSplit", shape=ranked(_split, input=1, delimiter=0))
define("StringSplitV2", shape=ranked(_split, input=1, sep=0))


def _substr(ctx: ShapeContext) -> Sequence[Shape]:
    text, start, length = ctx.shapes
    if start is not None and length is not None and len(start) != len(length):
        raise refused(
            f"pos and len must have one shape, got {shape_text(start)} and {shape_text(length)}"
        )
    agreed([start, length])
    try:
        return (broadcast(text, start),)
    except ShapeError as error:
        raise refused(error.what, error.do) from None


define("Substr", shape=_substr)


def _ngrams(ctx: ShapeContext) -> Sequence[Shape]:
    return ((None,), ctx.shapes[1])


define("StringNGrams", shape=ranked(_ngrams, data=1, data_splits=1))
define("UnsortedSegmentJoin", shape=ranked(unsorted_segments, num_segments=0))
