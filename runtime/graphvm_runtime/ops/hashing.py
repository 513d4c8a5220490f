"""Strings and rows hashed to numbers."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    ranked,
    unchanged,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Shape

define("StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong", shape=unchanged)


def _fingerprint(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 1)
    return ((None if shape is None else shape[0], 8),)


define("Fingerprint", shape=ranked(_fingerprint, method=0))
define("SparseCrossHashed", shape=lambda ctx: ((None, 2), (None,), (2,)))
