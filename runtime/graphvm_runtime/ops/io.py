"""Checkpoints on disk."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import HOST, ShapeContext, boolean, define, type_list
from graphvm_runtime.ops.shape_functions import nothing, ranked, scalar
from graphvm_runtime.shapes import Shape


def _restored(ctx: ShapeContext) -> Sequence[Shape]:
    return (None,) * len(ctx.attrs["dtypes"])


define("SaveV2",
       "prefix: string, tensor_names: string, shape_and_slices: string, tensors: *dtypes ->",
       {"dtypes": type_list(minimum=1)}, shape=nothing, effects=HOST)  # fmt: skip
define("RestoreV2",
       "prefix: string, tensor_names: string, shape_and_slices: string -> tensors: *dtypes",
       {"dtypes": type_list(minimum=1)}, shape=_restored, effects=HOST)  # fmt: skip
define("MergeV2Checkpoints", "checkpoint_prefixes: string, destination_prefix: string ->",
       {"delete_old_dirs": boolean(True), "allow_missing_files": boolean(False)}, shape=nothing,
       effects=HOST)  # fmt: skip
define("ShardedFilename", "basename: string, shard: int32, num_shards: int32 -> filename: string",
       shape=ranked(scalar, basename=0, shard=0, num_shards=0),
       constraints=["C1: all inputs are scalars"])  # fmt: skip
