"""Where the values of one step meet those who wait for them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from graphvm_runtime.cluster.codec import copied
from graphvm_runtime.errors import GraphvmError, InternalError

Done = Callable[[Any, GraphvmError | None], None]


class Spoiled:
    """Stands for a value that could not be taken in; who receives it gets the error."""

    __slots__ = ("error",)

    def __init__(self, error: GraphvmError) -> None:
        self.error = error


class Route(Protocol):
    """Takes values of one step to other tasks."""

    def send(self, task: str, channel: int, sequence: int, value: Any) -> None:
        """Sends a value; returns at once. Raises UnavailableError."""


class Channels:
    """The channels of one step at one task: first in, first out, each with one receiver.

    The k-th value that is received is the k-th that was sent; numbers that go with the values
    prove it. Thread-safe.
    """

    def __init__(self, route: Route | None = None) -> None:
        self.route = route
        self._lock = threading.Lock()
        self._waiting: dict[int, Callable[[], None]] = {}
        self._arrived: dict[int, deque[Any]] = {}
        self._came: dict[int, int] = {}
        self._sent: dict[int, int] = {}
        self._lags: dict[int, int] = {}
        self._error: GraphvmError | None = None

    def send(self, task: str, channel: int, value: Any) -> None:
        """Sends the next value of a channel. Raises UnavailableError."""
        assert self.route is not None
        number = self._sent.get(channel, 0)
        self._sent[channel] = number + 1
        self.route.send(task, channel, number, value)

    def deliver(self, channel: int, sequence: int, value: Any) -> None:
        """Takes in a value that came from another task.

        Raises:
            InternalError: it is not the next one of its channel.
        """
        with self._lock:
            if self._error is not None:
                return
            expected = self._came.get(channel, 0)
            if sequence != expected:
                raise InternalError(
                    f"value {sequence} of channel {channel} came where {expected} was due"
                )
            self._came[channel] = expected + 1
            found = self._arrived.get(channel)
            if found is None:
                found = self._arrived[channel] = deque()
            found.append(value)
            wake = self._waiting.pop(channel, None)
        if wake is not None:
            wake()

    def receive(self, channel: int, lag: int = 0) -> Any:
        """The next value of a channel; waits for it.

        Args:
            channel: its number.
            lag: so many receives go ahead of the sends: they give None and do not wait.

        Raises:
            GraphvmError: the step was cancelled.
        """
        arrived = self._arrived.get(channel)
        if not lag and arrived and self._error is None:
            return _taken(arrived)
        with self._lock:
            if self._error is not None:
                raise copied(self._error)
            if lag:
                ahead = self._lags.get(channel, 0)
                if ahead < lag:
                    self._lags[channel] = ahead + 1
                    return None
            arrived = self._arrived.get(channel)
            if arrived:
                return _taken(arrived)
            ready = threading.Lock()
            ready.acquire()
            self._waiting[channel] = ready.release
        ready.acquire()
        if self._error is not None:
            raise copied(self._error)
        return _taken(self._arrived[channel])

    def start_receive(self, channel: int, lag: int, done: Done) -> None:
        """Calls `done` with the next value once it is there, perhaps at once."""

        def finish(value: Any) -> None:
            if type(value) is Spoiled:
                done(None, value.error)
            else:
                done(value, None)

        def ready() -> None:
            if self._error is not None:
                done(None, copied(self._error))
            else:
                finish(self._arrived[channel].popleft())

        with self._lock:
            if self._error is None:
                ahead = self._lags.get(channel, 0)
                if ahead < lag:
                    self._lags[channel] = ahead + 1
                    value: Any = None
                elif self._arrived.get(channel):
                    value = self._arrived[channel].popleft()
                else:
                    self._waiting[channel] = ready
                    return
        if self._error is not None:
            done(None, copied(self._error))
        else:
            finish(value)

    def fail(self, error: GraphvmError) -> None:
        """Wakes all that wait, with this error; later receives raise it too."""
        with self._lock:
            if self._error is not None:
                return
            self._error = error
            waiting = list(self._waiting.values())
            self._waiting.clear()
            self._arrived.clear()
        for wake in waiting:
            wake()


def _taken(arrived: deque[Any]) -> Any:
    """The first value in line. Raises the error of one that could not be taken in."""
    value = arrived.popleft()
    if type(value) is Spoiled:
        raise value.error
    return value
