"""Regular expressions."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define, text
from graphvm_runtime.ops.shape_functions import unchanged, with_rank
from graphvm_runtime.shapes import Shape


def _matched(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 1, 0, 1)
    return (ctx.shapes[0],)


define("StaticRegexFullMatch", "input: string -> output: bool", {"pattern": text()},
       shape=unchanged)  # fmt: skip
define("RegexFullMatch", "input: string, pattern: string -> output: bool", shape=_matched,
       constraints=["C1: the pattern is a scalar"])  # fmt: skip
