"""State that outlives a step: variables, queues, stacks, and the containers that hold them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from graphvm_runtime.dtypes import Array, DType, float32
from graphvm_runtime.errors import (
    CancelledError,
    FailedPreconditionError,
    GraphvmError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
)
from graphvm_runtime.shapes import TensorType
from graphvm_runtime.values.handle_value import HandleValue

R = TypeVar("R")


class Cancellation:
    """Tells everything that runs or waits in a step to stop.

    Thread-safe. `cancel` calls each registered callback once, outside the lock.
    """

    def __init__(self) -> None:
        self.error: GraphvmError | None = None
        self._lock = threading.Lock()
        self._callbacks: dict[int, Callable[[GraphvmError], None]] = {}
        self._next = 0

    def cancel(self, error: GraphvmError | None = None) -> None:
        """Stops the step with this error; the first call wins."""
        with self._lock:
            if self.error is not None:
                return
            self.error = error or CancelledError("the step was cancelled")
            callbacks = list(self._callbacks.values())
            self._callbacks.clear()
        for callback in callbacks:
            callback(self.error)

    def check(self) -> None:
        """Raises the error of the cancellation, if there was one."""
        if self.error is not None:
            raise self.error

    def on_cancel(self, callback: Callable[[GraphvmError], None]) -> Callable[[], None]:
        """Calls `callback` on cancellation, at once if it was; returns what takes it back."""
        with self._lock:
            if self.error is None:
                key = self._next
                self._next += 1
                self._callbacks[key] = callback
                return lambda: self._forget(key)
            error = self.error
        callback(error)
        return lambda: None

    def _forget(self, key: int) -> None:
        with self._lock:
            self._callbacks.pop(key, None)


class Variable(HandleValue):
    """A mutable tensor.

    Attributes:
        value: the array, None before the first assignment. Readers hold the array itself; a
            writer replaces it, or writes in place only where nobody else holds it.
        is_reference: whether the graph has it as a reference (`VariableV2`), not as a handle.
        busy: whether a writer is at work, perhaps in place; a reader that finds it set waits.
        lock: held by writers.
        type: element type and static shape.
    """

    __slots__ = ("busy", "is_reference", "lock", "name", "type", "value")

    kind = "a variable"

    def __init__(self, name: str, type_: TensorType, is_reference: bool = False) -> None:
        self.name = name
        self.type = type_
        self.is_reference = is_reference
        self.value: Array | None = None
        self.busy = False
        self.lock = threading.Lock()

    def read(self) -> Array:
        """The current array. Raises FailedPreconditionError before the first assignment."""
        value = self.value
        if value is None or self.busy:
            # whoever set `busy` may have counted its readers before this one took the array
            with self.lock:
                value = self.value
            if value is None:
                raise self.uninitialised()
        return value

    def uninitialised(self, updated: bool = False) -> GraphvmError:
        """The error of a use, or an update, before the first assignment.

        TensorFlow does not find the resource that it should update.
        """
        kind = NotFoundError if updated and not self.is_reference else FailedPreconditionError
        return kind(
            f"variable {self.name!r} is {'updated' if updated else 'read'} before it was "
            "initialised",
            do="run its initializer, or global_variables_initializer(), first",
        )

    def assign(self, value: Array) -> None:
        """Replaces the value by an array that nobody else will write."""
        with self.lock:
            self.value = value

    def update(self, function: Callable[..., Array], operand: Array) -> None:
        """Replaces the value by `function(value, operand)`, in place where nobody else holds it.

        Args:
            function: a NumPy function with an `out` argument.
            operand: of the value's shape.

        Raises:
            FailedPreconditionError: there is no value yet; NotFoundError for a handle's variable.
            InvalidArgumentError: the shapes differ.
        """
        with self.lock:
            self.busy = True
            try:
                alone = sys.getrefcount(self.value) == _ALONE
                value = self.value
                if value is None:
                    raise self.uninitialised(updated=True)
                if value.shape != operand.shape:
                    raise InvalidArgumentError(
                        f"variable {self.name!r} of shape {list(value.shape)} cannot be updated "
                        f"by a value of shape {list(operand.shape)}"
                    )
                if alone and value.ndim and value.flags.writeable:
                    function(value, operand, value)
                else:
                    self.value = function(value, operand)
            finally:
                self.busy = False

    def is_private(self) -> bool:
        """Whether nobody but this variable holds its array. For writers, which hold the lock."""
        return sys.getrefcount(self.value) == _ALONE

    def __repr__(self) -> str:
        return f"<Variable {self.name}: {self.type}>"


def _references_alone() -> int:
    """What counting the references to a variable's value gives when there is no other."""
    variable = Variable("", TensorType(float32, (1,)))
    variable.value = np.zeros(1, np.float32)
    return sys.getrefcount(variable.value)


_ALONE = _references_alone()


class ResourceManager:
    """Resources by container and name; one for a session, or for a server."""

    def __init__(self) -> None:
        self.generation = 0  # counts what was dropped: a resource found before may be gone
        self._lock = threading.Lock()
        self._held: dict[tuple[str, str, str], Any] = {}

    def find_or_make(self, kind: type[R], container: str, name: str, make: Callable[[], R]) -> R:
        """The resource of that kind and name, made by `make` the first time."""
        key = (kind.__name__, container, name)
        with self._lock:
            found = self._held.get(key)
            if found is None:
                found = self._held[key] = make()
        return found

    def find(self, kind: type[R], container: str, name: str) -> R | None:
        """The resource of that kind and name, None where there is none."""
        return self._held.get((kind.__name__, container, name))

    def forget(self, resource: object) -> bool:
        """Drops a resource; whether it was held."""
        with self._lock:
            for key, value in list(self._held.items()):
                if value is resource:
                    del self._held[key]
                    self.generation += 1
                    return True
        return False

    def clear(self, container: str | None = None) -> None:
        """Drops every resource, of one container or of all."""
        with self._lock:
            for key in [k for k in self._held if container is None or k[1] == container]:
                del self._held[key]
            self.generation += 1


class Step:
    """One run of a program: what its kernels may reach.

    Attributes:
        resources: the session's state.
        cancel: stops this step.
        session: random streams and the like, private to the session: `session["random"]`.
        channels: tensors on their way between devices of this step; None in one process.
        step_id: unique in the session.
        trace: where spans of the step go, None where it is not traced.
        state: resources that live for this step alone, such as stacks.
        timely: takes the step's deadline back; None without one.
    """

    __slots__ = (
        "cancel",
        "channels",
        "resources",
        "session",
        "state",
        "step_id",
        "timely",
        "trace",
    )

    def __init__(
        self,
        resources: ResourceManager,
        session: dict[str, Any],
        step_id: int = 0,
        cancel: Cancellation | None = None,
        channels: Any = None,
        trace: Any = None,
    ) -> None:
        self.resources = resources
        self.session = session
        self.step_id = step_id
        self.cancel = Cancellation() if cancel is None else cancel
        self.channels = channels
        self.trace = trace
        self.state: dict[Any, Any] = {}
        self.timely: Callable[[], None] | None = None


def wait_for(
    step: Step, start: Callable[[Callable[[Any, GraphvmError | None], None]], None]
) -> Any:
    """Runs the non-waiting form of a blocking kernel and waits for it.

    Raises:
        GraphvmError: what the kernel reported, or the cancellation of the step.
    """
    ready = threading.Lock()  # costs much less than an event
    ready.acquire()
    box: list[Any] = [None, None]

    def done(outputs: Any, error: GraphvmError | None) -> None:
        box[0], box[1] = outputs, error
        ready.release()

    start(done)
    ready.acquire()
    if box[1] is not None:
        raise box[1]
    return box[0]


class Queue(HandleValue):
    """A bounded queue of tuples of arrays, first in, first out.

    Requests that cannot be served wait in line and are served in order; none of them holds a
    thread. Other kinds of queue say which elements they hold how: `_add`, `_pop`, `_has_room`,
    `_available`. Source: TF op `FIFOQueueV2`.

    Args:
        name: of the resource.
        types: element type and shape of each component.
        capacity: how many elements fit in; less than one for any number.

    Attributes:
        made_by: the op and the capacity that a second node of its name must have.
    """

    kind = "a queue"
    gathers = True  # somebody who takes several gets them as they come

    def __init__(self, name: str, types: tuple[TensorType, ...], capacity: int) -> None:
        self.name = name
        self.types = types
        self.capacity = capacity if capacity > 0 else None
        self.made_by = ("FIFOQueueV2", capacity)
        self.closed = False
        self.items: list[Any] = []
        self._lock = threading.Lock()
        self._putting: list[_Request | None] = []  # None closes the queue
        self._taking: list[_Request] = []

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self.items)} of {self.capacity}>"

    def size(self) -> int:
        """Number of elements."""
        with self._lock:
            return len(self.items)

    def put(self, step: Step, done: Callable[..., None], items: list[tuple[Array, ...]]) -> None:
        """Adds elements, all of them, once there is room for each in turn."""
        self._request(step, _Request(done, items, 0, False), self._putting)

    def take(self, step: Step, done: Callable[..., None], count: int, up_to: bool = False) -> None:
        """Takes `count` elements together; `up_to` lets a closed queue give fewer."""
        self._request(step, _Request(done, [], count, up_to), self._taking)

    def close(self, cancel_pending: bool = False) -> None:
        """Lets no more elements in; waiting takers get what is left, then OutOfRangeError.

        Elements that wait for room are let in first, unless `cancel_pending` refuses them.

        Raises:
            CancelledError: it is closed already.
        """
        with self._lock:
            if self.closed and not cancel_pending:
                raise CancelledError(f"queue {self.name!r} must be open, got one closed already")
            refused: list[_Request] = []
            if cancel_pending:
                refused = [r for r in self._putting if r is not None]
                self._putting.clear()  # the same list: requests on their way hold it
            self._putting.append(None)
            served = self._serve()
        error = CancelledError(f"queue {self.name!r} was closed")
        for request in refused:
            request.finish(None, error)
        for finish in served:
            finish()

    def _add(self, element: tuple[Array, ...]) -> None:
        self.items.append(element)

    def _pop(self) -> tuple[Array, ...]:
        found: tuple[Array, ...] = self.items.pop(0)
        return found

    def _put_back(self, elements: list[tuple[Array, ...]]) -> None:
        self.items[:0] = elements

    def _has_room(self, element: tuple[Array, ...]) -> bool:
        return self.capacity is None or len(self.items) < self.capacity

    def _available(self) -> int:
        """How many elements may be taken now."""
        return len(self.items)

    def _request(self, step: Step, request: _Request, line: list[Any]) -> None:
        def cancelled(error: GraphvmError) -> None:
            with self._lock:
                if request not in line:
                    return
                line.remove(request)
                if line is self._taking:
                    self._put_back(request.items)
                served = self._serve()
            request.finish(None, error)
            for finish in served:
                finish()

        with self._lock:
            line.append(request)
            served = self._serve()
            waits = request in line
        for finish in served:
            finish()
        if waits:
            request.forget = step.cancel.on_cancel(cancelled)

    def _serve(self) -> list[Callable[[], None]]:
        """Serves whatever can be served; what it returns is called outside the lock."""
        finishes: list[Callable[[], None]] = []
        while self._serve_putting(finishes) or self._serve_taking(finishes):
            pass
        return finishes

    def _serve_putting(self, finishes: list[Callable[[], None]]) -> bool:
        """Whether something moved."""
        if not self._putting:
            return False
        request = self._putting[0]
        if request is None:
            self.closed = True
        elif self.closed:
            error = CancelledError(f"queue {self.name!r} is closed")
            finishes.append(request.failing(error))
        else:
            moved = False
            while request.items and self._has_room(request.items[0]):
                self._add(request.items.pop(0))
                moved = True
            if request.items:
                return moved
            finishes.append(request.serving(()))
        self._putting.pop(0)
        return True

    def _serve_taking(self, finishes: list[Callable[[], None]]) -> bool:
        """Whether something moved."""
        if not self._taking:
            return False
        request = self._taking[0]
        missing, have = request.count - len(request.items), len(self.items)
        if self.closed and have < missing:
            if not request.up_to or not (have or request.items):
                self._put_back(request.items)
                finishes.append(request.failing(_out_of_range(self, missing, have)))
                self._taking.pop(0)
                return True
            request.count -= missing - have
            missing = have
        count = min(missing, max(self._available(), 0))
        if missing and (not count or (count < missing and not self.gathers)):
            return False
        request.items += [self._pop() for _ in range(count)]
        if count == missing:
            finishes.append(request.serving(request.items))
            self._taking.pop(0)
        return True


def _out_of_range(queue: Queue, count: int, have: int) -> GraphvmError:
    return OutOfRangeError(
        f"queue {queue.name!r} is closed and has too few elements (requested {count}, has {have})"
    )


class _Request:
    """A put or take that waits in line, with the elements that it still has, or has by now."""

    __slots__ = ("count", "done", "forget", "items", "up_to")

    def __init__(
        self, done: Callable[..., None], items: list[tuple[Array, ...]], count: int, up_to: bool
    ) -> None:
        self.done = done
        self.items = list(items)
        self.count = count
        self.up_to = up_to
        self.forget: Callable[[], None] | None = None

    def finish(self, value: Any, error: GraphvmError | None) -> None:
        if self.forget is not None:
            self.forget()
        self.done(value, error)

    def serving(self, value: Any) -> Callable[[], None]:
        return lambda: self.finish(value, None)

    def failing(self, error: GraphvmError) -> Callable[[], None]:
        return lambda: self.finish(None, error)


class Stack(HandleValue):
    """A stack of one step. Source: TF op `StackV2`."""

    kind = "a stack"

    def __init__(self, name: str, dtype: DType, limit: int) -> None:
        self.name = name
        self.dtype = dtype
        self.limit = limit if limit >= 0 else None
        self.elements: list[Any] = []
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Stack {self.name}: {len(self.elements)} elements>"

    def push(self, element: Any) -> None:
        """Puts an element on top. Raises InvalidArgumentError when the stack is full."""
        with self._lock:
            if self.limit is not None and len(self.elements) >= self.limit:
                raise InvalidArgumentError(
                    f"stack {self.name!r} is full: it takes {self.limit} elements"
                )
            self.elements.append(element)

    def pop(self) -> Any:
        """Takes the element on top. Raises InvalidArgumentError when there is none."""
        with self._lock:
            if not self.elements:
                raise InvalidArgumentError(f"stack {self.name!r} is empty: nothing to pop")
            return self.elements.pop()


__all__ = ["Cancellation", "Queue", "ResourceManager", "Stack", "Step", "Variable", "wait_for"]
