"""Queues and stacks."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import BLOCKING, STATEFUL, ShapeContext, define
from graphvm_runtime.ops.shape_functions import nothing, scalar, unknown
from graphvm_runtime.shapes import Shape


def _dequeued(ctx: ShapeContext) -> Sequence[Shape]:
    return (None,) * len(ctx.attrs["component_types"])


define("FIFOQueueV2", shape=scalar, effects=STATEFUL)
define("QueueEnqueueV2", shape=nothing, effects=BLOCKING)
define("QueueDequeueV2", shape=_dequeued, effects=BLOCKING)
define("QueueCloseV2", shape=nothing, effects=STATEFUL)
define("QueueSizeV2", shape=scalar, effects=STATEFUL)

define("StackV2", shape=scalar, effects=STATEFUL)
define("StackPushV2", shape=lambda ctx: (ctx.shapes[1],), effects=STATEFUL)
define("StackPopV2", shape=unknown, effects=STATEFUL)
