"""Kernels of queues and stacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType, int64, string
from graphvm_runtime.errors import GraphvmError, InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.random import Stream, philox
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.kernels.state import resource_name
from graphvm_runtime.shapes import TensorType, is_compatible, is_known
from graphvm_runtime.values.queue_kinds import PaddingQueue, PriorityQueue, ShuffleQueue
from graphvm_runtime.values.resources import Queue, Stack, Step, wait_for

Done = Callable[[Any, GraphvmError | None], None]
_BLOCKS = 64  # of 128 random bits drawn at a time


def _made(node: Node, make: Callable[[str, tuple[TensorType, ...]], Queue]) -> Kernel:
    """A kernel that finds the node's queue, or makes it: `make(name, types)`."""
    container, name = resource_name(node)
    dtypes, shapes = node.attrs["component_types"], node.attrs["shapes"]
    if node.op.name == "PriorityQueueV2":
        dtypes, shapes = (int64, *dtypes), ((), *shapes)
    if shapes and len(shapes) != len(dtypes):
        raise InvalidArgumentError(f"{len(shapes)} shapes for {len(dtypes)} components")
    types = tuple(map(TensorType, dtypes, shapes or (None,) * len(dtypes)))

    def made() -> Queue:
        queue = make(name, types)
        queue.made_by = node.op.name, node.attrs["capacity"]
        return queue

    def call(step: Step) -> Queue:
        queue = step.resources.find_or_make(Queue, container, name, made)
        if queue.types != types:
            raise InvalidArgumentError(
                f"queue {name!r} holds {', '.join(map(str, queue.types))}, not "
                f"{', '.join(map(str, types))}"
            )
        if queue.made_by != (node.op.name, node.attrs["capacity"]):
            raise InvalidArgumentError(
                f"queue {name!r} must be of one kind and capacity, got {node.op.name} of "
                f"{node.attrs['capacity']} for {queue!r}"
            )
        return queue

    return Kernel(call, step=True)


@kernel("FIFOQueueV2")
def _queue(node: Node) -> Kernel:
    capacity: int = node.attrs["capacity"]
    return _made(node, lambda name, types: Queue(name, types, capacity))


@kernel("PaddingFIFOQueueV2")
def _padding_queue(node: Node) -> Kernel:
    if not node.attrs["shapes"]:
        raise InvalidArgumentError("components of a padding queue must have shapes, got none")
    capacity: int = node.attrs["capacity"]
    return _made(node, lambda name, types: PaddingQueue(name, types, capacity))


@kernel("PriorityQueueV2")
def _priority_queue(node: Node) -> Kernel:
    capacity: int = node.attrs["capacity"]
    return _made(node, lambda name, types: PriorityQueue(name, types, capacity))


@kernel("RandomShuffleQueueV2")
def _shuffle_queue(node: Node) -> Kernel:
    capacity, least = node.attrs["capacity"], node.attrs["min_after_dequeue"]
    if least < 0 or (capacity > 0 and least >= capacity):
        raise InvalidArgumentError(
            f"min_after_dequeue must be less than the capacity {capacity}, got {least}"
        )
    seeds = node.attrs["seed"], node.attrs["seed2"]
    return _made(
        node, lambda name, types: ShuffleQueue(name, types, capacity, least, _numbers(*seeds))
    )


def _numbers(seed: int, seed2: int) -> Callable[[], int]:
    """What gives the words of a stream, one after the other."""
    stream = Stream(seed, seed2)

    def words() -> Iterator[int]:
        while True:
            counter = stream.reserved_blocks(_BLOCKS)
            yield from philox(stream.key, counter, np.arange(_BLOCKS)).ravel().tolist()

    return words().__next__


def _check_element(queue: Queue, components: tuple[Array, ...], leading: int = 0) -> None:
    """Raises InvalidArgumentError where components do not fit behind so many leading axes."""
    if len(components) != len(queue.types):
        raise InvalidArgumentError(
            f"an element of {len(components)} components for queue {queue.name!r} of "
            f"{len(queue.types)}"
        )
    for i, (component, want) in enumerate(zip(components, queue.types, strict=True)):
        if (
            component.dtype != want.dtype.numpy
            or component.ndim < leading
            or not is_compatible(want.shape, component.shape[leading:])
        ):
            raise InvalidArgumentError(
                f"component {i} of queue {queue.name!r} is {want}, got {component.dtype}"
                f"{list(component.shape)}" + (" for several elements" if leading else "")
            )


def _check_timeout(node: Node) -> None:
    if node.attrs["timeout_ms"] != -1:
        raise InvalidArgumentError("a queue takes no time limit", do="give one to the run")


@kernel("QueueEnqueueV2", "QueueEnqueueManyV2")
def _enqueue(node: Node) -> Kernel:
    _check_timeout(node)
    many = node.op.name == "QueueEnqueueManyV2"

    def start(step: Step, done: Done, queue: Any, *components: Array) -> None:
        _check_element(Queue.of(queue), components, int(many))
        queue.put(step, done, _cut(queue, components) if many else [components])

    def call(step: Step, *inputs: Any) -> None:
        wait_for(step, lambda done: start(step, done, *inputs))

    keeps = tuple(range(1, len(node.inputs)))
    return Kernel(call, step=True, keeps=keeps, start=start)


def _cut(queue: Queue, components: Sequence[Array]) -> list[tuple[Array, ...]]:
    """The elements along the first axis."""
    if len({len(c) for c in components}) > 1:
        raise InvalidArgumentError(
            f"components for queue {queue.name!r} must have one first dimension, got "
            f"{[list(c.shape) for c in components]}"
        )
    return [tuple(c[i, ...] for c in components) for i in range(len(components[0]))]


def _check_types(queue: Any, dtypes: tuple[DType, ...]) -> None:
    if tuple(t.dtype for t in Queue.of(queue).types) != dtypes:
        raise InvalidArgumentError(
            f"queue {queue.name!r} holds {', '.join(map(str, queue.types))}, not "
            f"{', '.join(map(str, dtypes))}"
        )


@kernel("QueueDequeueV2")
def _dequeue(node: Node) -> Kernel:
    _check_timeout(node)
    dtypes = tuple(node.attrs["component_types"])

    def start(step: Step, done: Done, queue: Any) -> None:
        _check_types(queue, dtypes)

        def taken(elements: Any, error: GraphvmError | None) -> None:
            if error is not None:
                done(None, error)
            else:
                (element,) = elements
                done(element[0] if len(dtypes) == 1 else element, None)

        queue.take(step, taken, 1)

    def call(step: Step, queue: Any) -> Any:
        return wait_for(step, lambda done: start(step, done, queue))

    return Kernel(call, step=True, start=start)


@kernel("QueueDequeueManyV2", "QueueDequeueUpToV2")
def _dequeue_many(node: Node) -> Kernel:
    _check_timeout(node)
    dtypes = tuple(node.attrs["component_types"])
    up_to = node.op.name == "QueueDequeueUpToV2"

    def start(step: Step, done: Done, queue: Any, count: Any) -> None:
        _check_types(queue, dtypes)
        if np.ndim(count) or count < 0:
            raise InvalidArgumentError(f"a number of elements must be 0 or more, got {count}")
        put_together = _padded if isinstance(queue, PaddingQueue) else _stacked
        known = isinstance(queue, PaddingQueue) or all(is_known(t.shape) for t in queue.types)
        if not known:
            raise InvalidArgumentError(
                f"components of queue {queue.name!r} must have shapes, known whole, got "
                f"{', '.join(map(str, queue.types))}",
                do="give shapes to the queue, or take its elements one by one",
            )

        def taken(elements: Any, error: GraphvmError | None) -> None:
            if error is not None:
                done(None, error)
                return
            out = [
                put_together([element[i] for element in elements], type_)
                for i, type_ in enumerate(queue.types)
            ]
            done(out[0] if len(out) == 1 else out, None)

        if count:
            queue.take(step, taken, int(count), up_to)
        else:
            taken([], None)

    def call(step: Step, *inputs: Any) -> Any:
        return wait_for(step, lambda done: start(step, done, *inputs))

    return Kernel(call, step=True, start=start)


def _stacked(parts: list[Array], type_: TensorType) -> Array:
    """Parts of one shape along a new first axis."""
    shape: Any = type_.shape or ()  # known whole
    out: Array = np.empty((len(parts), *shape), type_.dtype.numpy)
    for i, part in enumerate(parts):
        out[i, ...] = part
    return out


def _padded(parts: list[Array], type_: TensorType) -> Array:
    """Parts along a new first axis; where they end before the greatest, zeros."""
    fixed = type_.shape or ()
    sizes = zip(*(np.shape(p) for p in parts), strict=True) if parts else ((d or 0,) for d in fixed)
    whole = [max(size) for size in sizes]
    fill = b"" if type_.dtype is string else 0
    out: Array = np.full((len(parts), *whole), fill, type_.dtype.numpy)
    for i, part in enumerate(parts):
        place: tuple[Any, ...] = (i, *map(slice, np.shape(part)), ...)
        out[place] = part
    return out


@kernel("QueueCloseV2")
def _close(node: Node) -> Callable[..., Any]:
    cancel: bool = node.attrs["cancel_pending_enqueues"]
    return lambda queue: Queue.of(queue).close(cancel)


plain("QueueSizeV2", lambda queue: np.int32(Queue.of(queue).size()))
plain("QueueIsClosedV2", lambda queue: np.bool_(Queue.of(queue).closed))


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
