"""Strings of bytes."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import COMPLEX, FLOATS, INTEGERS, bool_, string, variant
from graphvm_runtime.ops.registry import (
    Attrs,
    ShapeContext,
    boolean,
    define,
    integer,
    text,
    type_list,
    types,
)
from graphvm_runtime.ops.shape_functions import agreed, refused, unchanged
from graphvm_runtime.shapes import Shape


def _join(ctx: ShapeContext) -> Sequence[Shape]:
    if any(ctx.shapes):
        return (agreed([s for s in ctx.shapes if s != ()], 1),)
    return (None if None in ctx.shapes else (),)


define("StringJoin", "inputs: N*string -> output: string",
       {"N": integer(minimum=0), "separator": text(b"")}, shape=_join,
       constraints=["C1: inputs that are no scalars have the same shape"])  # fmt: skip
define("AsString", "input: T -> output: string",
       {"T": types(*FLOATS, *INTEGERS, *COMPLEX, bool_, variant, string),
        "precision": integer(-1), "scientific": boolean(False), "shortest": boolean(False),
        "width": integer(-1), "fill": text(b"")},
       shape=unchanged, doc="each element as C's printf writes it")  # fmt: skip


def placeholders(attrs: Attrs) -> int:
    """How many tensors the template of a `StringFormat` takes."""
    template: bytes = attrs["template"]
    return template.count(attrs["placeholder"])


def _format(ctx: ShapeContext) -> Sequence[Shape]:
    count = placeholders(ctx.attrs)
    if count != len(ctx.shapes):
        raise refused(f"the template takes {count} tensors, got {len(ctx.shapes)}", 1)
    return ((),)


define("StringFormat", "inputs: *T -> output: string",
       {"T": type_list(), "template": text(b"%s"), "placeholder": text(b"%s"),
        "summarize": integer(3)},
       shape=_format, constraints=["C1: a tensor for each placeholder"])  # fmt: skip
