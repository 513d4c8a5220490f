"""Lookup tables: from keys to values."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import (
    HOST,
    READS,
    STATEFUL,
    ShapeContext,
    define,
)
from graphvm_runtime.ops.shape_functions import agreed, refused, scalar, with_rank
from graphvm_runtime.shapes import Shape, TensorType, shape_text


def _scalars(ctx: ShapeContext, index: int) -> TensorType:
    return TensorType(ctx.attrs["value_dtype"], ())


def _tensors(ctx: ShapeContext, index: int) -> TensorType:
    return TensorType(ctx.attrs["value_dtype"], ctx.attrs["value_shape"])


def _dense(ctx: ShapeContext, index: int) -> TensorType:
    """A value for each key is known to stand behind the keys' shape where keys are scalars."""
    return TensorType(
        ctx.attrs["value_dtype"], ctx.attrs["value_shape"] if ctx.shapes[0] == () else None
    )


def _dense_handle(ctx: ShapeContext) -> Sequence[Shape]:
    agreed(ctx.shapes)
    return ((),)


def _found(ctx: ShapeContext) -> Sequence[Shape]:
    _handle(ctx)
    held, keys = ctx.handle(0), ctx.shapes[1]
    if held is None or held.shape is None or keys is None:
        return (None,)
    return ((*keys, *held.shape),)


def _handle(ctx: ShapeContext) -> Sequence[Shape]:
    """A handle is a scalar; in the form of a reference, a vector of two names."""
    with_rank(ctx, 0, 1 if ctx.op.inputs[0].is_ref else 0)
    return ()


def _counted(ctx: ShapeContext) -> Sequence[Shape]:
    _handle(ctx)
    return ((),)


def _initialised(ctx: ShapeContext) -> Sequence[Shape]:
    _handle(ctx)
    keys = with_rank(ctx, 1, 1)
    if ctx.shapes[2] is not None:
        agreed((keys, ctx.shapes[2]))
    return ()


def _from_file(ctx: ShapeContext) -> Sequence[Shape]:
    _handle(ctx)
    with_rank(ctx, 1, 0)
    return ()


def _exported(ctx: ShapeContext) -> Sequence[Shape]:
    _handle(ctx)
    held = ctx.handle(0)
    return ((None,), None if held is None or held.shape is None else (None, *held.shape))


def _pair(ctx: ShapeContext) -> Sequence[Shape]:
    return ((2,),)


def _changed(ctx: ShapeContext) -> Sequence[Shape]:
    _handle(ctx)
    keys, values = ctx.shapes[1], ctx.shapes[2]
    held = ctx.handle(0)
    if held is None or held.shape is None or keys is None:
        return ()
    wanted = (*keys, *held.shape)
    if values is not None and len(values) != len(wanted):
        raise refused(f"values must have the shape {shape_text(wanted)}, got {shape_text(values)}")
    agreed((wanted, values))
    return ()


# each op on a reference with its form for resources, which the compiler puts in its place
define("HashTable", shape=_pair, on_handles="HashTableV2")
define("InitializeTable", shape=_initialised, effects=STATEFUL, on_handles="InitializeTableV2")
define("LookupTableFind", shape=_found, effects=READS, on_handles="LookupTableFindV2")
define("LookupTableSize", shape=_counted, effects=READS, on_handles="LookupTableSizeV2")

define("HashTableV2", "MutableHashTableV2", shape=scalar, handle=_scalars)
define("MutableHashTableOfTensorsV2", shape=scalar, handle=_tensors)
define("MutableDenseHashTableV2", shape=_dense_handle, handle=_dense)
define("InitializeTableV2", shape=_initialised)
define("InitializeTableFromTextFileV2", shape=_from_file, effects=HOST)
define("LookupTableFindV2", shape=_found)
define("LookupTableSizeV2", shape=_counted)
define("LookupTableExportV2", shape=_exported)
define("LookupTableImportV2", "LookupTableInsertV2", shape=_changed)
define("LookupTableRemoveV2", shape=_handle)
