"""Kernels of queues and stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import GraphvmError, InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.kernels.state import resource_name
from graphvm_runtime.shapes import TensorType, is_compatible
from graphvm_runtime.values.resources import Queue, Stack, Step, wait_for

Done = Callable[[Any, GraphvmError | None], None]


@kernel("FIFOQueueV2")
def _queue(node: Node) -> Kernel:
    container, name = resource_name(node)
    dtypes, shapes = node.attrs["component_types"], node.attrs["shapes"]
    if shapes and len(shapes) != len(dtypes):
        raise InvalidArgumentError(f"{len(shapes)} shapes for {len(dtypes)} components")
    types = tuple(map(TensorType, dtypes, shapes or (None,) * len(dtypes)))
    capacity: int = node.attrs["capacity"]

    def make() -> Queue:
        return Queue(name, types, capacity)

    def call(step: Step) -> Queue:
        queue = step.resources.find_or_make(Queue, container, name, make)
        if queue.types != types:
            raise InvalidArgumentError(
                f"queue {name!r} holds {', '.join(map(str, queue.types))}, not "
                f"{', '.join(map(str, types))}"
            )
        return queue

    return Kernel(call, step=True)


def _check_element(queue: Queue, components: tuple[Array, ...]) -> None:
    if len(components) != len(queue.types):
        raise InvalidArgumentError(
            f"an element of {len(components)} components for queue {queue.name!r} of "
            f"{len(queue.types)}"
        )
    for i, (component, want) in enumerate(zip(components, queue.types, strict=True)):
        if component.dtype != want.dtype.numpy or not is_compatible(want.shape, component.shape):
            raise InvalidArgumentError(
                f"component {i} of queue {queue.name!r} is {want}, got {component.dtype}"
                f"{list(component.shape)}"
            )


@kernel("QueueEnqueueV2")
def _enqueue(node: Node) -> Kernel:
    def start(step: Step, done: Done, queue: Queue, *components: Array) -> None:
        _check_element(queue, components)
        queue.put(step, done, [components])

    def call(step: Step, *inputs: Any) -> None:
        wait_for(step, lambda done: start(step, done, *inputs))

    keeps = tuple(range(1, len(node.inputs)))
    return Kernel(call, step=True, keeps=keeps, start=start)


@kernel("QueueDequeueV2")
def _dequeue(node: Node) -> Kernel:
    dtypes = tuple(node.attrs["component_types"])

    def start(step: Step, done: Done, queue: Queue) -> None:
        if tuple(t.dtype for t in Queue.of(queue).types) != dtypes:
            raise InvalidArgumentError(
                f"queue {queue.name!r} holds {', '.join(map(str, queue.types))}, not "
                f"{', '.join(map(str, dtypes))}"
            )

        def taken(elements: Any, error: GraphvmError | None) -> None:
            if error is not None:
                done(None, error)
            else:
                (element,) = elements
                done(element[0] if len(dtypes) == 1 else element, None)

        queue.take(step, taken, 1)

    def call(step: Step, queue: Queue) -> Any:
        return wait_for(step, lambda done: start(step, done, queue))

    return Kernel(call, step=True, start=start)


@kernel("QueueCloseV2")
def _close(node: Node) -> Callable[..., Any]:
    cancel: bool = node.attrs["cancel_pending_enqueues"]
    return lambda queue: Queue.of(queue).close(cancel)


plain("QueueSizeV2", lambda queue: np.int32(queue.size()))


@kernel("StackV2")
def _stack(node: Node) -> Callable[..., Any]:
    name = (node.attrs["stack_name"] or node.name.encode()).decode(errors="backslashreplace")
    dtype = node.attrs["elem_type"]
    return lambda max_size: Stack(name, dtype, int(max_size))


@kernel("StackPushV2")
def _push(node: Node) -> Kernel:
    dtype = node.attrs["T"]

    def call(stack: Stack, element: Any) -> Any:
        if stack.dtype is not dtype:
            raise InvalidArgumentError(f"stack {stack.name!r} holds {stack.dtype}, not {dtype}")
        stack.push(element)
        return element

    return Kernel(call, aliases=(1,), borrowed=True, keeps=(1,))


@kernel("StackPopV2")
def _pop(node: Node) -> Kernel:
    return Kernel(Stack.pop, borrowed=True)
