"""Checks and messages at run time."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import (
    HOST,
    PURE,
    STATEFUL,
    TRACE,
    Attrs,
    Effects,
    ShapeContext,
    define,
    integer,
    text,
    type_list,
    types,
)
from graphvm_runtime.ops.shape_functions import nothing, refused, unchanged
from graphvm_runtime.shapes import Shape, shape_text

FILE = "file://"  # starts the name of a stream that is a file

define("Assert", "condition: bool, data: *T ->",
       {"T": type_list(minimum=1), "summarize": integer(3)}, shape=nothing,
       effects=STATEFUL)  # fmt: skip


def _into_file(attrs: Attrs) -> Effects:
    stream: bytes = attrs["output_stream"]
    return HOST if stream.startswith(FILE.encode()) else PURE


def _print_v2(ctx: ShapeContext) -> Sequence[Shape]:
    if ctx.shapes[0]:
        raise refused(f"the text is a scalar, got shape {shape_text(ctx.shapes[0])}", 1)
    return ()


define("Print", "input: T, data: *U -> output: T",
       {"T": types(), "U": type_list(), "message": text(b""), "first_n": integer(-1),
        "summarize": integer(3)},
       shape=unchanged, effects=TRACE)  # fmt: skip
define("PrintV2", "input: string ->",
       {"output_stream": text(b"stderr"), "end": text(b"\n")}, shape=_print_v2, effects=STATEFUL,
       effects_by=_into_file, constraints=["C1: the text is a scalar"])  # fmt: skip
