"""Iterators: where a session stands in a dataset."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime.errors import FailedPreconditionError, GraphvmError, OutOfRangeError
from graphvm_runtime.shapes import TensorType
from graphvm_runtime.values.dataset import Dataset, Element, check_types, dataset_of
from graphvm_runtime.values.handle_value import HandleValue
from graphvm_runtime.values.resources import Step

# takes an element, or what failed
Done: TypeAlias = "Callable[[Element | None, Exception | None], None]"


class Iterator(HandleValue):
    """Where a session stands in a dataset. Thread-safe. Source: TF op `IteratorV2`.

    Args:
        container: of the resource.
        name: of the resource.
        types: of the components; none at all where any will do.
    """

    kind = "an iterator"

    def __init__(self, container: str, name: str, types: tuple[TensorType, ...]) -> None:
        self.container = container
        self.name = name
        self.types = types
        self._place: _Place | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Iterator {self.name}>"

    def begin(self, step: Step, dataset: Dataset) -> None:
        """Goes to the beginning of a dataset; who asked before gets what comes there.

        Raises:
            InvalidArgumentError: it has other types.
        """
        check_types(f"iterator {self.name!r}", self.types, dataset.types)
        self._place = _Place(step, dataset)

    def begin_once(self, step: Step, make: Callable[[], Sequence[Any]]) -> None:
        """Goes to the beginning of the dataset that `make` gives, where it stands nowhere yet."""
        with self._lock:
            if self._place is None:
                self.begin(step, dataset_of(make()))

    def ask(self, step: Step, done: Done, apart: bool = True) -> None:
        """Asks for the next element; those who ask are served in order, one at a time.

        Args:
            step: that asks.
            done: `done(element, error)` is called once, perhaps at once: OutOfRangeError tells
                the end.
            apart: an element that may have to wait is made on a thread of its own.

        Raises:
            FailedPreconditionError: it stands nowhere yet.
        """
        place = self._place
        if place is None:
            raise FailedPreconditionError(
                f"iterator {self.name!r} is asked before it was initialised",
                do="run its initializer first",
            )
        place.ask(_Request(step, done), apart)


class _Request:
    """Somebody who asks for an element."""

    __slots__ = ("done", "forget", "step")

    def __init__(self, step: Step, done: Done) -> None:
        self.step = step
        self.done = done
        self.forget: Callable[[], None] | None = None


class _Place:
    """A place in a dataset, and the line of those who ask there; none of them holds a thread."""

    __slots__ = ("_busy", "_line", "_lock", "_source", "_waits")

    def __init__(self, step: Step, dataset: Dataset) -> None:
        self._source = dataset.start(step)
        self._waits = dataset.waits
        self._busy = False
        self._line: deque[_Request] = deque()
        self._lock = threading.Lock()

    def ask(self, request: _Request, apart: bool) -> None:
        """Serves a request, now or in its turn; see `Iterator.ask`."""
        with self._lock:
            queued = self._busy
            if queued:
                self._line.append(request)
            self._busy = True
        if queued:
            self._forgettable(request)
        elif apart and self._waits:
            self._serve_apart(request)
        else:
            self._serve(request)

    def _forgettable(self, request: _Request) -> None:
        """Takes the request out of the line when its step is cancelled."""

        def cancelled(error: GraphvmError) -> None:
            with self._lock:
                if request not in self._line:
                    return
                self._line.remove(request)
            request.done(None, error)

        request.forget = request.step.cancel.on_cancel(cancelled)

    def _serve_apart(self, request: _Request) -> None:
        thread = threading.Thread(
            target=self._serve, args=(request,), name="graphvm-iterator", daemon=True
        )
        thread.start()

    def _serve(self, request: _Request) -> None:
        if request.forget is not None:
            request.forget()
        element: Element | None = None
        failure: Exception | None = None
        try:
            with np.errstate(all="ignore"):  # a thread of its own has NumPy's own setting
                element = self._source(request.step)
        except Exception as error:
            failure = error
        finally:
            with self._lock:
                following = self._line.popleft() if self._line else None
                self._busy = following is not None
            if following is not None:
                self._serve_apart(following)
        if element is None and failure is None:
            failure = OutOfRangeError("end of sequence")
        request.done(element, failure)
