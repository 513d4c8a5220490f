"""The plans of a session, each made once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from graphvm_runtime.engine.steps import session_closed

P = TypeVar("P")


class Plans(Generic[P]):
    """Plans by request and options, until the session is closed. Thread-safe."""

    def __init__(self) -> None:
        self.closed = False
        self._lock = threading.Lock()
        self._made: dict[Hashable, P] = {}

    def get(self, key: Hashable, make: Callable[[], P]) -> P:
        """The plan of that key, made once.

        Raises:
            InvalidArgumentError: the session is closed.
        """
        found = self._made.get(key)
        if found is None:
            with self._lock:
                if self.closed:
                    raise session_closed()
                found = self._made.get(key)
                if found is None:
                    found = self._made[key] = make()
        return found

    def close(self) -> bool:
        """Forgets all plans and makes no more; whether it was open."""
        with self._lock:
            was_open, self.closed = not self.closed, True
            self._made.clear()
        return was_open
