"""Checks and messages at run time."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import (
    HOST,
    PURE,
    STATEFUL,
    TRACE,
    Effects,
    ShapeContext,
    define,
)
from graphvm_runtime.ops.shape_functions import nothing, refused, unchanged
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import Shape, shape_text

FILE = "file://"  # starts the name of a stream that is a file

define("Assert", shape=nothing, effects=STATEFUL)


def _into_file(attrs: Attrs) -> Effects:
    stream: bytes = attrs["output_stream"]
    return HOST if stream.startswith(FILE.encode()) else PURE


def _print_v2(ctx: ShapeContext) -> Sequence[Shape]:
    if ctx.shapes[0]:
        raise refused(f"the text is a scalar, got shape {shape_text(ctx.shapes[0])}")
    return ()


define("Print", shape=unchanged, effects=TRACE)
define("PrintV2", shape=_print_v2, effects=STATEFUL, effects_by=_into_file)
