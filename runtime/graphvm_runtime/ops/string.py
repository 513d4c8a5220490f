"""Strings of bytes."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, refused, unchanged
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import Shape


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
