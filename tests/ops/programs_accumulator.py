"""Programs of accumulators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.ops.programs import made, outcomes


class Accumulator:
    """The ops on an accumulator."""

    def __init__(self, tf: Any, dtype: Any, shape: Any, **attrs: Any) -> None:
        self.tf = tf
        self.dtype = dtype
        self.handle = made(tf, "ResourceConditionalAccumulator", dtype=dtype, shape=shape, **attrs)

    def apply(self, step: int, gradient: Any) -> Any:
        value = self.tf.constant(gradient, self.dtype)
        return made(
            self.tf, "ResourceAccumulatorApplyGradient", handle=self.handle,
            local_step=self.tf.constant(step, self.tf.int64), gradient=value,
        )  # fmt: skip

    def take(self, count: int) -> Any:
        return made(
            self.tf, "ResourceAccumulatorTakeGradient", handle=self.handle, num_required=count,
            dtype=self.dtype,
        )  # fmt: skip

    def count(self) -> Any:
        return made(self.tf, "ResourceAccumulatorNumAccumulated", handle=self.handle)


def means(tf: Any) -> list[Any]:
    found = []
    for dtype in (tf.float32, tf.float16, tf.float64):
        with tf.Graph().as_default() as graph:
            a = Accumulator(tf, dtype, [2])
            found += outcomes(
                tf, graph, a.count(), a.apply(0, [1.0, 2.0]), a.apply(0, [0.1, np.inf]),
                a.apply(3, [0.3, 1.0]), a.count(), a.take(2), a.count(), a.apply(0, [5.0, 5.0]),
                a.count(), a.apply(1, [7.0, 5.0]), a.take(1), a.take(0),
            )  # fmt: skip
    return found


def sums(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        a = Accumulator(tf, tf.float32, [None], reduction_type="SUM")
        return outcomes(
            tf, graph, a.apply(0, [1.0, 2.0]), a.apply(0, [1.0, 2.0, 3.0]), a.count(),
            a.apply(0, [1.5, 2.0]), a.take(1), a.apply(1, [1.0, 2.0, 3.0]), a.count(),
        )  # fmt: skip


def what_does_not_fit(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        a = Accumulator(tf, tf.float32, [2])
        return outcomes(tf, graph, a.apply(0, [1.0]), a.count())


def waiting(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        a = Accumulator(tf, tf.float32, [])
        applied = [a.apply(0, float(i)) for i in range(4)]
        taken = a.take(4)
        with tf.Session(graph=graph) as session:
            return [session.run([taken, applied])[0], session.run(a.count())]


PROGRAMS: tuple[Callable[[Any], list[Any]], ...] = (means, sums, what_does_not_fit, waiting)
