"""Barriers: references to strings in files, resources when they run."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import (
    BLOCKING,
    STATEFUL,
    ShapeContext,
    boolean,
    define,
    integer,
    list_of,
    text,
    type_list,
    types,
)
from graphvm_runtime.ops.shape_functions import nothing, refused, scalar, with_rank
from graphvm_runtime.shapes import Shape, shape_text


def _inserted(ctx: ShapeContext) -> Sequence[Shape]:
    (count,) = with_rank(ctx, 1, 1, 1)
    values = ctx.shapes[2]
    if values == ():
        raise refused("values have a first axis, of the keys, got a scalar", 2)
    if values is not None and count is not None and values[0] not in (None, count):
        raise refused(f"{count} keys for values of shape {shape_text(values)}", 2)
    return ()


def _taken(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 1, 0, 1)
    count = ctx.scalar(1)
    if count is not None and count < 0:
        raise refused(f"a number of elements is not negative, got {count}", 1)
    return ((count,), (count,), *(None for _ in ctx.attrs["component_types"]))


def _handle(ctx: ShapeContext) -> Sequence[Shape]:
    return ((2,),)


_MADE = {
    "component_types": type_list(minimum=1), "shapes": list_of("shape", ()),
    "capacity": integer(-1), "container": text(b""), "shared_name": text(b""),
}  # fmt: skip
_TAKE = {
    "component_types": type_list(minimum=1), "allow_small_batch": boolean(False),
    "wait_for_incomplete": boolean(False), "timeout_ms": integer(-1),
}  # fmt: skip
# each op on a reference with its form for resources, which the compiler puts in its place
define("Barrier", "-> handle: ref string", _MADE, shape=_handle, effects=STATEFUL)
define("_Barrier", "-> handle: resource", _MADE, shape=scalar, effects=STATEFUL)
for _prefix, _kind in (("", "ref string"), ("_", "resource")):
    define(f"{_prefix}BarrierInsertMany", f"handle: {_kind}, keys: string, values: T ->",
           {"T": types(), "component_index": integer()}, shape=_inserted, effects=STATEFUL,
           constraints=["C1: keys are a vector",
                        "C2: values have as many rows as there are keys"])  # fmt: skip
    define(f"{_prefix}BarrierTakeMany",
           f"handle: {_kind}, num_elements: int32 -> indices: int64, keys: string, "
           "values: *component_types", _TAKE, shape=_taken, effects=BLOCKING,
           constraints=["C1: the number of elements is a scalar, 0 or more"])  # fmt: skip
    define(f"{_prefix}BarrierClose", f"handle: {_kind} ->",
           {"cancel_pending_enqueues": boolean(False)}, shape=nothing,
           effects=STATEFUL)  # fmt: skip
    for _name in ("BarrierReadySize", "BarrierIncompleteSize"):
        define(f"{_prefix}{_name}", f"handle: {_kind} -> size: int32", shape=scalar,
               effects=STATEFUL)  # fmt: skip
