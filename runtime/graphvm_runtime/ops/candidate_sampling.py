"""Candidates for sampled losses."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, with_rank
from graphvm_runtime.shapes import Shape


def _hits(ctx: ShapeContext) -> Sequence[Shape]:
    agreed([with_rank(ctx, 0, 2), (None, ctx.attrs["num_true"])])
    with_rank(ctx, 1, 1)
    return ((None,),) * 3


define("ComputeAccidentalHits", shape=_hits)
