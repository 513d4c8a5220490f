"""Conditional accumulators: gradients that leave together once there are enough."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import GraphvmError, InvalidArgumentError
from graphvm_runtime.shapes import TensorType, is_compatible, shape_text
from graphvm_runtime.values.handle_value import HandleValue
from graphvm_runtime.values.resources import Step

# called once with what was taken, or with an error
Done = Callable[[Any, GraphvmError | None], None]


class _Taker:
    """Somebody who waits for gradients."""

    __slots__ = ("count", "done", "forget")

    def __init__(self, done: Done, count: int) -> None:
        self.done = done
        self.count = count
        self.forget: Callable[[], None] | None = None

    def finish(self, value: Any, error: GraphvmError | None) -> None:
        """Tells it."""
        if self.forget is not None:
            self.forget()
        self.done(value, error)


class Accumulator(HandleValue):
    """Adds up gradients. Thread-safe; who waits holds no thread.

    Args:
        name: of the resource.
        type_: element type and static shape of the gradients.
        is_mean: whether what is taken is their mean; otherwise their sum.

    Source: TF op `ResourceConditionalAccumulator`.
    """

    kind = "an accumulator"

    def __init__(self, name: str, type_: TensorType, is_mean: bool) -> None:
        self.name = name
        self.type = type_
        self.is_mean = is_mean
        self._lock = threading.Lock()
        self._sum: Any = None
        self._count = 0
        self._step = 0
        self._takers: list[_Taker] = []

    def __repr__(self) -> str:
        return f"<Accumulator {self.name}: {self.type}>"

    def count(self) -> int:
        """Number of gradients since the last were taken."""
        with self._lock:
            return self._count

    def apply(self, local_step: int, gradient: Array) -> None:
        """Adds a gradient; one of a step before the last that was taken is dropped.

        Raises:
            InvalidArgumentError: it has another shape.
        """
        with self._lock:
            shape = self._sum.shape if self._count else self.type.shape
            if not is_compatible(shape, gradient.shape):
                raise InvalidArgumentError(
                    f"a gradient for accumulator {self.name!r} must have the shape "
                    f"{shape_text(shape)}, got {list(gradient.shape)}"
                )
            if local_step < self._step:
                return
            # the sum is never written to: the first gradient is the caller's
            self._sum = gradient if self._count == 0 else np.add(self._sum, gradient)
            self._count += 1
            served = self._serve()
        for finish in served:
            finish()

    def take(self, step: Step, done: Done, count: int) -> None:
        """Gives out what was added up, once there are that many gradients."""
        taker = _Taker(done, count)

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
            self._takers.append(taker)
            served = self._serve()
            waits = taker in self._takers
        for finish in served:
            finish()
        if waits:
            taker.forget = step.cancel.on_cancel(cancelled)

    def _serve(self) -> list[Callable[[], None]]:
        """Serves whom it can; what it returns is called outside the lock."""
        finishes = []
        while self._takers and self._count >= self._takers[0].count:
            value = self._sum
            if self.is_mean:
                value = np.divide(value, value.dtype.type(self._count))
            finishes.append(_telling(self._takers.pop(0), value))
            self._sum, self._count = None, 0
            self._step += 1
        return finishes


def _telling(taker: _Taker, value: Any) -> Callable[[], None]:
    return lambda: taker.finish(value, None)
