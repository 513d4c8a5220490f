"""Datasets, which are variants, and iterators, which are resources."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import BLOCKING, STATEFUL, ShapeContext, define
from graphvm_runtime.ops.shape_functions import nothing, refused, scalar, with_rank
from graphvm_runtime.ops.signature import AttrDef, list_of, type_list
from graphvm_runtime.shapes import Shape

_TYPES: dict[str, AttrDef] = {
    "output_types": type_list(minimum=1), "output_shapes": list_of("shape", minimum=1),
}  # fmt: skip


def _made(ctx: ShapeContext) -> Sequence[Shape]:
    """A dataset, from the inputs that have no declared list of types."""
    at = 0
    for arg in ctx.op.inputs:
        count = len(arg.dtypes(ctx.attrs)) if arg.is_list else 1
        if not arg.list_attr and not (arg.number_attr and arg.dtype is None):
            for index in range(at, at + count):
                if arg.name not in ("padded_shapes", "components"):
                    with_rank(ctx, index, 0)
        at += count
    _check_components(ctx)
    return ((),)


def _check_components(ctx: ShapeContext) -> None:
    types = ctx.attrs.get("output_types", ctx.attrs.get("Toutput_types", ()))
    shapes = ctx.attrs["output_shapes"]
    if len(types) != len(shapes):
        raise refused(f"{len(shapes)} shapes for {len(types)} types")


def _sliced(ctx: ShapeContext) -> Sequence[Shape]:
    for shape in ctx.shapes:
        if shape == ():
            raise refused("a scalar has no slices")
    counts = {s[0] for s in ctx.shapes if s is not None and s[0] is not None}
    if len(counts) > 1:
        raise refused(f"components have {sorted(counts)} slices")
    return _made(ctx)


def _next(ctx: ShapeContext) -> Sequence[Shape]:
    _check_components(ctx)
    return tuple(ctx.attrs["output_shapes"])


define(
    "MapDataset",
    "ParallelMapDataset",
    "ParallelMapDatasetV2",
    "FilterDataset",
    "FlatMapDataset",
    "InterleaveDataset",
    "BatchDataset",
    "BatchDatasetV2",
    "PaddedBatchDatasetV2",
    "RepeatDataset",
    "TakeDataset",
    "SkipDataset",
    "ShardDataset",
    "ZipDataset",
    "ConcatenateDataset",
    "PrefetchDataset",
    shape=_made,
)
define("TensorDataset", "RangeDataset", "ShuffleDataset", shape=_made, effects=STATEFUL)
define("TensorSliceDataset", shape=_sliced, effects=STATEFUL)
define(
    "Iterator",
    "IteratorV2",
    "OneShotIterator",
    "IteratorToStringHandle",
    "IteratorFromStringHandle",
    "IteratorFromStringHandleV2",
    shape=scalar,
)
define("MakeIterator", shape=nothing)
define("IteratorGetNext", "IteratorGetNextSync", shape=_next, effects=BLOCKING)
