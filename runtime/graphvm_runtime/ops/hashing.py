"""Strings and rows hashed to numbers."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    ranked,
    unchanged,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Shape

define("StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong", shape=unchanged)


def _fingerprint(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 1)
    return ((None if shape is None else shape[0], 8),)


define("Fingerprint", shape=ranked(_fingerprint, method=0))


def _crossed(ctx: ShapeContext) -> Sequence[Shape]:
    last, count = len(ctx.shapes), ctx.attrs["N"]
    for i in range(count):
        agreed([with_rank(ctx, i, 2)[:1], with_rank(ctx, count + i, 1)])
        with_rank(ctx, 2 * count + i, 1)
    for index in (last - 3, last - 2):  # num_buckets, strong_hash
        with_rank(ctx, index, 0)
    return ((None, 2), (None,), (2,))


define("SparseCrossHashed", shape=_crossed)
