"""Queues and stacks."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import BLOCKING, STATEFUL, ShapeContext, define
from graphvm_runtime.ops.shape_functions import nothing, refused, scalar, unknown
from graphvm_runtime.shapes import Shape


def _dequeued(ctx: ShapeContext) -> Sequence[Shape]:
    return (None,) * len(ctx.attrs["component_types"])


def _dequeued_many(ctx: ShapeContext) -> Sequence[Shape]:
    count = ctx.scalar(1)
    if count is not None and count < 0:
        raise refused(f"n must be 0 or more, got {count}")
    return _dequeued(ctx)


def _pair(ctx: ShapeContext) -> Sequence[Shape]:
    return ((2,),)


# each op on a reference with its form for resources, which the compiler puts in its place
for _kind in ("FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"):
    define(_kind, shape=_pair, on_handles=f"{_kind}V2")
    define(f"{_kind}V2", shape=scalar)
for _name, _shape, _effects in (
    ("QueueEnqueue", nothing, BLOCKING),
    ("QueueEnqueueMany", nothing, BLOCKING),
    ("QueueDequeue", _dequeued, BLOCKING),
    ("QueueDequeueMany", _dequeued_many, BLOCKING),
    ("QueueDequeueUpTo", _dequeued, BLOCKING),
    ("QueueClose", nothing, STATEFUL),
    ("QueueIsClosed", scalar, STATEFUL),
    ("QueueSize", scalar, STATEFUL),
):
    define(_name, shape=_shape, effects=_effects, on_handles=f"{_name}V2")
    define(f"{_name}V2", shape=_shape, effects=_effects)

define("StackV2", shape=scalar, effects=STATEFUL)
define("StackPushV2", shape=lambda ctx: (ctx.shapes[1],), effects=STATEFUL)
define("StackPopV2", shape=unknown, effects=STATEFUL)
