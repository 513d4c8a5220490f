"""Regular expressions."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import unchanged, with_rank
from graphvm_runtime.shapes import Shape


def _matched(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 1, 0)
    return (ctx.shapes[0],)


def _replaced(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 2, 0)
    return _matched(ctx)


define("StaticRegexFullMatch", "StaticRegexReplace", shape=unchanged)
define("RegexReplace", shape=_replaced)
define("RegexFullMatch", shape=_matched)
