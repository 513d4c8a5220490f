"""Queues and stacks."""

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
)  # fmt: skip
from graphvm_runtime.ops.shape_functions import nothing, scalar, unknown
from graphvm_runtime.shapes import Shape


def _dequeued(ctx: ShapeContext) -> Sequence[Shape]:
    return (None,) * len(ctx.attrs["component_types"])


define("FIFOQueueV2", "-> handle: resource",
       {"component_types": type_list(minimum=1), "shapes": list_of("shape", ()),
        "capacity": integer(-1), "container": text(b""), "shared_name": text(b"")},
       shape=scalar, effects=STATEFUL)  # fmt: skip
define("QueueEnqueueV2", "handle: resource, components: *Tcomponents ->",
       {"Tcomponents": type_list(minimum=1), "timeout_ms": integer(-1)}, shape=nothing,
       effects=BLOCKING)  # fmt: skip
define("QueueDequeueV2", "handle: resource -> components: *component_types",
       {"component_types": type_list(minimum=1), "timeout_ms": integer(-1)}, shape=_dequeued,
       effects=BLOCKING)  # fmt: skip
define("QueueCloseV2", "handle: resource ->", {"cancel_pending_enqueues": boolean(False)},
       shape=nothing, effects=STATEFUL)  # fmt: skip
define("QueueSizeV2", "handle: resource -> size: int32", shape=scalar, effects=STATEFUL)

define("StackV2", "max_size: int32 -> handle: resource",
       {"elem_type": types(), "stack_name": text(b"")}, shape=scalar, effects=STATEFUL)  # fmt: skip
define("StackPushV2", "handle: resource, elem: T -> output: T",
       {"T": types(), "swap_memory": boolean(False)}, shape=lambda ctx: (ctx.shapes[1],),
       effects=STATEFUL)  # fmt: skip
define("StackPopV2", "handle: resource -> elem: elem_type", {"elem_type": types()},
       shape=unknown, effects=STATEFUL)  # fmt: skip
