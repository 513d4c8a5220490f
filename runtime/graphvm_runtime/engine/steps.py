"""The steps of a session that run, and the state that they share."""

from __future__ import annotations

import itertools
import threading
from typing import Any

from graphvm_runtime.engine.deadlines import DEADLINES
from graphvm_runtime.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from graphvm_runtime.trace import Trace
from graphvm_runtime.values.resources import Cancellation, ResourceManager, Step


class Steps:
    """Begins and ends steps; any number may run at the same time.

    Args:
        resources: variables, queues and the like; shared where a server gives its own.
    """

    def __init__(self, resources: ResourceManager | None = None) -> None:
        self.resources = ResourceManager() if resources is None else resources
        self.state: dict[str, Any] = {}  # random streams and the like
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._running: set[Cancellation] = set()
        self._closed = False

    def begin(self, timeout: float | None = None, trace: Trace | None = None) -> Step:
        """A new step; it must be ended with `end`.

        Args:
            timeout: seconds after which it is cancelled.
            trace: where its spans go.

        Raises:
            InvalidArgumentError: the session is closed.
        """
        step = Step(self.resources, self.state, next(self._numbers), trace=trace)
        with self._lock:
            if self._closed:
                raise session_closed()
            self._running.add(step.cancel)
        if timeout is not None:
            error = DeadlineExceededError(
                f"the step took longer than its {timeout:g} seconds",
                do="give it more time, or look for an op that waits for ever",
            )
            step.timely = DEADLINES.add(timeout, lambda: step.cancel.cancel(error))
        return step

    def end(self, step: Step) -> None:
        """Forgets a step."""
        if step.timely is not None:
            step.timely()
        with self._lock:
            self._running.discard(step.cancel)

    def close(self) -> None:
        """Cancels what runs; no step begins any more."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for cancel in running:
            cancel.cancel(CancelledError("the session was closed"))


def session_closed() -> InvalidArgumentError:
    """The error of whoever uses a session that is closed."""
    return InvalidArgumentError("the session is closed", do="make a new one")
