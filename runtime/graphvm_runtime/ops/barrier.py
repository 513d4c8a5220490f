"""Barriers: references to strings in files, resources when they run."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import BLOCKING, STATEFUL, ShapeContext, define
from graphvm_runtime.ops.shape_functions import nothing, refused, scalar, with_rank
from graphvm_runtime.shapes import Shape, shape_text


def _inserted(ctx: ShapeContext) -> Sequence[Shape]:
    (count,) = with_rank(ctx, 1, 1)
    values = ctx.shapes[2]
    if values == ():
        raise refused("values have a first axis, of the keys, got a scalar")
    if values is not None and count is not None and values[0] not in (None, count):
        raise refused(f"{count} keys for values of shape {shape_text(values)}")
    return ()


def _taken(ctx: ShapeContext) -> Sequence[Shape]:
    with_rank(ctx, 1, 0)
    count = ctx.scalar(1)
    if count is not None and count < 0:
        raise refused(f"a number of elements is not negative, got {count}")
    return ((count,), (count,), *(None for _ in ctx.attrs["component_types"]))


def _handle(ctx: ShapeContext) -> Sequence[Shape]:
    return ((2,),)


# each op on a reference with its form for resources, which the compiler puts in its place
define("Barrier", shape=_handle, effects=STATEFUL)
define("_Barrier", shape=scalar, effects=STATEFUL)
for _prefix, _kind in (("", "ref string"), ("_", "resource")):
    define(f"{_prefix}BarrierInsertMany", shape=_inserted, effects=STATEFUL)
    define(f"{_prefix}BarrierTakeMany", shape=_taken, effects=BLOCKING)
    define(f"{_prefix}BarrierClose", shape=nothing, effects=STATEFUL)
    for _name in ("BarrierReadySize", "BarrierIncompleteSize"):
        define(f"{_prefix}{_name}", shape=scalar, effects=STATEFUL)
