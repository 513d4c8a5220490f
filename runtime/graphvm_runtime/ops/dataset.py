"""Datasets, which are variants, and iterators, which are resources."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import (
    BLOCKING,
    PURE,
    STATEFUL,
    AttrDef,
    Effects,
    ShapeContext,
    boolean,
    define,
    function_attr,
    integer,
    list_of,
    text,
    type_list,
)
from graphvm_runtime.ops.shape_functions import nothing, refused, scalar, with_rank
from graphvm_runtime.shapes import Shape

SCALARS = "C1: numbers and datasets are scalars"
COMPONENTS = "C2: there is a shape for each type"

_TYPES: dict[str, AttrDef] = {
    "output_types": type_list(minimum=1), "output_shapes": list_of("shape", minimum=1),
}  # fmt: skip
_METADATA = {"metadata": text(b"")}
_CALL = {"Targuments": type_list()}


def _made(ctx: ShapeContext) -> Sequence[Shape]:
    """A dataset, from the inputs that have no declared list of types."""
    at = 0
    for arg in ctx.op.inputs:
        count = len(arg.dtypes(ctx.attrs)) if arg.is_list else 1
        if not arg.list_attr and not (arg.number_attr and arg.dtype is None):
            for index in range(at, at + count):
                if arg.name not in ("padded_shapes", "components"):
                    with_rank(ctx, index, 0, 1)
        at += count
    _check_components(ctx)
    return ((),)


def _check_components(ctx: ShapeContext) -> None:
    types = ctx.attrs.get("output_types", ctx.attrs.get("Toutput_types", ()))
    shapes = ctx.attrs["output_shapes"]
    if len(types) != len(shapes):
        raise refused(f"{len(shapes)} shapes for {len(types)} types", 2)


def _sliced(ctx: ShapeContext) -> Sequence[Shape]:
    for shape in ctx.shapes:
        if shape == ():
            raise refused("a scalar has no slices", 3)
    counts = {s[0] for s in ctx.shapes if s is not None and s[0] is not None}
    if len(counts) > 1:
        raise refused(f"components have {sorted(counts)} slices", 3)
    return _made(ctx)


def _next(ctx: ShapeContext) -> Sequence[Shape]:
    _check_components(ctx)
    return tuple(ctx.attrs["output_shapes"])


def _dataset(
    name: str, takes: str, more: dict[str, AttrDef] | None = None, effects: Effects = PURE
) -> None:
    define(name, f"{takes} -> handle: variant", {**(more or {}), **_TYPES, **_METADATA},
           shape=_made, effects=effects, constraints=[SCALARS, COMPONENTS])  # fmt: skip


_SOURCE = {
    "Toutput_types": type_list(minimum=1), "output_shapes": list_of("shape", minimum=1),
    **_METADATA,
}  # fmt: skip
define("TensorDataset", "components: *Toutput_types -> handle: variant", _SOURCE, shape=_made,
       effects=STATEFUL, constraints=[SCALARS, COMPONENTS])  # fmt: skip
define("TensorSliceDataset", "components: *Toutput_types -> handle: variant",
       {**_SOURCE, "is_files": boolean(False), "replicate_on_split": boolean(False)},
       shape=_sliced, effects=STATEFUL,
       constraints=[SCALARS, COMPONENTS,
                    "C3: components have the same number of slices"])  # fmt: skip
_dataset("RangeDataset", "start: int64, stop: int64, step: int64",
         {"replicate_on_split": boolean(False)}, STATEFUL)  # fmt: skip
_OTHERS = "input_dataset: variant, other_arguments: *Targuments"
_MAP = {"f": function_attr(), **_CALL, "use_inter_op_parallelism": boolean(True),
        "preserve_cardinality": boolean(False)}  # fmt: skip
_dataset("MapDataset", _OTHERS, {**_MAP, "force_synchronous": boolean(False)})
_dataset("ParallelMapDataset", f"{_OTHERS}, num_parallel_calls: int32",
         {**_MAP, "sloppy": boolean(False)})  # fmt: skip
_dataset("ParallelMapDatasetV2", f"{_OTHERS}, num_parallel_calls: int64",
         {**_MAP, "deterministic": text(b"default"),
          "use_unbounded_threadpool": boolean(False)})  # fmt: skip
_dataset("FilterDataset", _OTHERS, {"predicate": function_attr(), **_CALL})
_dataset("FlatMapDataset", _OTHERS, {"f": function_attr(), **_CALL})
_dataset("InterleaveDataset", f"{_OTHERS}, cycle_length: int64, block_length: int64",
         {"f": function_attr(), **_CALL})  # fmt: skip
_dataset("BatchDataset", "input_dataset: variant, batch_size: int64")
_dataset("BatchDatasetV2", "input_dataset: variant, batch_size: int64, drop_remainder: bool",
         {"parallel_copy": boolean(False)})  # fmt: skip
define("PaddedBatchDatasetV2",
       "input_dataset: variant, batch_size: int64, padded_shapes: N*int64, "
       "padding_values: *Toutput_types, drop_remainder: bool -> handle: variant",
       {"parallel_copy": boolean(False), **_SOURCE, "N": integer(minimum=1)}, shape=_made,
       constraints=[SCALARS, COMPONENTS])  # fmt: skip
for _name in ("RepeatDataset", "TakeDataset", "SkipDataset"):
    _dataset(_name, "input_dataset: variant, count: int64")
_dataset("ShardDataset", "input_dataset: variant, num_shards: int64, index: int64",
         {"require_non_empty": boolean(False)})  # fmt: skip
_dataset("ShuffleDataset",
         "input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64",
         {"reshuffle_each_iteration": boolean(True)}, STATEFUL)  # fmt: skip
_dataset("ZipDataset", "input_datasets: N*variant", {"N": integer(minimum=1)})
_dataset("ConcatenateDataset", "input_dataset: variant, another_dataset: variant")
_dataset("PrefetchDataset", "input_dataset: variant, buffer_size: int64",
         {"slack_period": integer(0), "legacy_autotune": boolean(True),
          "buffer_size_min": integer(0)})  # fmt: skip

_NAMED = {"shared_name": text(), "container": text()}
for _name in ("Iterator", "IteratorV2"):
    define(_name, "-> handle: resource", {**_NAMED, **_TYPES}, shape=scalar,
           effects=STATEFUL)  # fmt: skip
define("OneShotIterator", "-> handle: resource",
       {"dataset_factory": function_attr(), **_TYPES, "container": text(b""),
        "shared_name": text(b"")}, shape=scalar, effects=STATEFUL)  # fmt: skip
define("MakeIterator", "dataset: variant, iterator: resource ->", shape=nothing,
       effects=STATEFUL)  # fmt: skip
for _name in ("IteratorGetNext", "IteratorGetNextSync"):
    define(_name, "iterator: resource -> components: *output_types", _TYPES, shape=_next,
           effects=BLOCKING, constraints=[SCALARS, COMPONENTS])  # fmt: skip
define("IteratorToStringHandle", "resource_handle: resource -> string_handle: string",
       shape=scalar, effects=STATEFUL)  # fmt: skip
for _name in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    define(_name, "string_handle: string -> resource_handle: resource",
           {"output_types": type_list(()), "output_shapes": list_of("shape", ())}, shape=scalar,
           effects=STATEFUL)  # fmt: skip
