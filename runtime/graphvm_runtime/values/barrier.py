"""Barriers: elements whose components come one by one, and leave when they are complete."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import (
    CancelledError,
    GraphvmError,
    InvalidArgumentError,
    OutOfRangeError,
)
from graphvm_runtime.shapes import TensorType
from graphvm_runtime.values.handle_value import HandleValue
from graphvm_runtime.values.resources import Step

FIRST = -(2**63)  # the least index, of what is inserted first

# called once with what was taken, or with an error
Done = Callable[[Any, GraphvmError | None], None]


class _Taker:
    """Somebody who waits for elements."""

    __slots__ = ("count", "done", "fewer", "forget")

    def __init__(self, done: Done, count: int, fewer: bool) -> None:
        self.done = done
        self.count = count
        self.fewer = fewer
        self.forget: Callable[[], None] | None = None

    def finish(self, value: Any, error: GraphvmError | None) -> None:
        """Tells it."""
        if self.forget is not None:
            self.forget()
        self.done(value, error)


class Barrier(HandleValue):
    """A barrier. Thread-safe; who waits holds no thread. Source: TF op `Barrier`.

    Args:
        name: of the resource.
        types: element type and whole shape of each component.
    """

    kind = "a barrier"

    def __init__(self, name: str, types: tuple[TensorType, ...]) -> None:
        self.name = name
        self.types = types
        self._lock = threading.Lock()
        self._partial: dict[bytes, tuple[int, list[Any]]] = {}
        self._ready: list[tuple[int, int, bytes, list[Any]]] = []  # a heap, by index
        self._serial = itertools.count()
        self._index = FIRST
        self._takers: list[_Taker] = []
        self._closed = self._cancelled = self._ended = False

    def __repr__(self) -> str:
        return f"<Barrier {self.name}>"

    def ready_size(self) -> int:
        """Number of complete elements."""
        with self._lock:
            return len(self._ready)

    def incomplete_size(self) -> int:
        """Number of elements that lack a component."""
        with self._lock:
            return len(self._partial)

    def insert(self, place: int, keys: Sequence[bytes], values: Array) -> None:
        """Gives a component to elements, which are new where their keys are.

        Raises:
            CancelledError: the barrier is closed, and the keys are new or all was cancelled.
            InvalidArgumentError: an element has that component already.
        """
        with self._lock:
            if self._closed and (self._cancelled or (len(keys) and not self._partial)):
                raise CancelledError(f"barrier {self.name!r} is closed")
            any_new = False
            try:
                for key, value in zip(keys, values, strict=True):
                    any_new |= self._insert_one(place, key, value)
            finally:
                self._index += any_new
                served = self._after_change()
        for finish in served:
            finish()

    def _insert_one(self, place: int, key: bytes, value: Any) -> bool:
        entry = self._partial.get(key)
        is_new = entry is None
        if entry is None:
            if self._closed:
                raise CancelledError(f"barrier {self.name!r} is closed: {key!r} would be new")
            entry = self._partial[key] = (self._index, [None] * len(self.types))
        index, parts = entry
        if parts[place] is not None:
            raise InvalidArgumentError(
                f"key {key!r} of barrier {self.name!r} has its component {place} already"
            )
        parts[place] = value
        if all(part is not None for part in parts):
            del self._partial[key]
            heapq.heappush(self._ready, (index, next(self._serial), key, parts))
        return is_new

    def take(self, step: Step, done: Done, count: int, fewer: bool) -> None:
        """Takes complete elements, those of the least index first.

        Args:
            step: on behalf of which.
            done: gets indices, keys and the components, put together.
            count: how many; waits until there are as many.
            fewer: take what there is once the barrier is closed.
        """
        taker = _Taker(done, count, fewer)

        def cancelled(error: GraphvmError) -> None:
            with self._lock:
                if taker not in self._takers:
                    return
                self._takers.remove(taker)
                served = self._serve()
            taker.finish(None, error)
            for finish in served:
                finish()

        with self._lock:
            refused = self._closed and self._refuses(taker)
            if not refused:
                self._takers.append(taker)
            served = self._serve()
            waits = taker in self._takers
        if refused:
            done(None, self._too_few(count))
        for finish in served:
            finish()
        if waits:
            taker.forget = step.cancel.on_cancel(cancelled)

    def _refuses(self, taker: _Taker) -> bool:
        """Whether a closed barrier can never serve it."""
        have = len(self._ready)
        if taker.fewer:
            taker.count = min(taker.count, have)
        else:
            have += len(self._partial)
        return have < max(taker.count, 1)

    def close(self, cancel: bool) -> None:
        """Lets in no new keys; `cancel` also drops what is incomplete.

        Raises:
            CancelledError: it is closed already, and this closes no more.
        """
        with self._lock:
            if self._closed and (self._cancelled or not cancel):
                raise CancelledError(f"barrier {self.name!r} is closed already")
            self._closed, self._cancelled = True, cancel
            if cancel:
                self._partial.clear()
            served = self._after_change()
        for finish in served:
            finish()

    def _after_change(self) -> list[Callable[[], None]]:
        self._ended = self._closed and not self._partial
        return self._serve()

    def _serve(self) -> list[Callable[[], None]]:
        """Serves whom it can; what it returns is called outside the lock."""
        finishes: list[Callable[[], None]] = []
        while self._takers:
            taker = self._takers[0]
            have = len(self._ready)
            if have >= taker.count or (self._ended and taker.fewer and have):
                taken = [heapq.heappop(self._ready) for _ in range(min(have, taker.count))]
                finishes.append(_telling(taker, self._together(taken), None))
            elif self._ended:
                finishes.append(_telling(taker, None, self._too_few(taker.count)))
            else:
                break
            self._takers.pop(0)
        return finishes

    def _too_few(self, count: int) -> OutOfRangeError:
        return OutOfRangeError(
            f"barrier {self.name!r} is closed and has too few elements (requested {count})"
        )

    def _together(self, taken: Sequence[tuple[int, int, bytes, list[Any]]]) -> list[Array]:
        keys = np.empty(len(taken), object)
        keys[:] = [key for _, _, key, _ in taken]
        out = [np.array([index for index, *_ in taken], np.int64), keys]
        for place, type_ in enumerate(self.types):
            whole: tuple[Any, ...] = type_.shape or ()
            column = np.empty((len(taken), *whole), type_.dtype.numpy)
            for row, (_, _, _, parts) in enumerate(taken):
                column[row] = parts[place]
            out.append(column)
        return out


def _telling(taker: _Taker, value: Any, error: GraphvmError | None) -> Callable[[], None]:
    return lambda: taker.finish(value, error)
