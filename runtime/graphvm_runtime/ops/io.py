"""Checkpoints on disk."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import HOST, ShapeContext, define
from graphvm_runtime.ops.shape_functions import nothing, ranked, scalar
from graphvm_runtime.shapes import Shape


def _restored(ctx: ShapeContext) -> Sequence[Shape]:
    return (None,) * len(ctx.attrs["dtypes"])


define("SaveV2", shape=nothing, effects=HOST)
define("RestoreV2", shape=_restored, effects=HOST)
define("MergeV2Checkpoints", shape=nothing, effects=HOST)
define("ShardedFilename", shape=ranked(scalar, basename=0, shard=0, num_shards=0))
