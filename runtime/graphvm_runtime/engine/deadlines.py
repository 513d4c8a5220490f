"""Ends steps that take too long, all of them by one thread."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Deadlines:
    """Calls functions when their time has come, unless they are taken back before.

    The thread starts with the first deadline and ends when none is left.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int]] = []
        self._actions: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count()
        self._running = False

    def add(self, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
        """Calls `action` in `seconds`; what it returns takes that back."""
        with self._changed:
            number = next(self._numbers)
            self._actions[number] = action
            heapq.heappush(self._heap, (time.monotonic() + seconds, number))
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="graphvm-deadlines", daemon=True).start()
            elif self._heap[0][1] == number:
                self._changed.notify()
        return lambda: self._forget(number)

    def _forget(self, number: int) -> None:
        with self._changed:
            self._actions.pop(number, None)
            if not self._actions:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._heap and self._heap[0][1] not in self._actions:
                    heapq.heappop(self._heap)
                if not self._heap:
                    self._running = False
                    return
                when, number = self._heap[0]
                wait = when - time.monotonic()
                if wait > 0:
                    self._changed.wait(wait)
                    continue
                heapq.heappop(self._heap)
                action = self._actions.pop(number)
            action()


DEADLINES = Deadlines()
