"""Connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, with_rank
from graphvm_runtime.shapes import Shape


def _loss(ctx: ShapeContext) -> Sequence[Shape]:
    times, batch, classes = with_rank(ctx, 0, 3)
    indices, values = with_rank(ctx, 1, 2), with_rank(ctx, 2, 1)
    agreed([indices[:1], values])
    agreed([indices[1:], (2,)])
    (batch,) = agreed([(batch,), with_rank(ctx, 3, 1)]) or (None,)
    return ((batch,), (times, batch, classes))


def _greedy(ctx: ShapeContext) -> Sequence[Shape]:
    _, batch, _ = with_rank(ctx, 0, 3)
    (batch,) = agreed([(batch,), with_rank(ctx, 1, 1)]) or (None,)
    return ((None, 2), (None,), (2,), (batch, 1))


define("CTCLoss", shape=_loss)
define("CTCGreedyDecoder", shape=_greedy)
