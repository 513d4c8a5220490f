"""Programs of staging areas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ops.programs import made, outcomes


def elements_pass_through(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        dtypes = [tf.float32, tf.string]

        def stage(number: float, text: str) -> Any:
            values = [tf.constant(number), tf.constant([text])]
            return made(tf, "Stage", values=values, shared_name="area")

        taken = made(tf, "Unstage", dtypes=dtypes, shared_name="area")
        size = made(tf, "StageSize", dtypes=dtypes, shared_name="area")
        return outcomes(
            tf, graph, size, stage(1.0, "a"), stage(2.0, "b"), size, taken, taken, size,
        )  # fmt: skip


def other_elements(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        name = {"shared_name": "area"}
        stage = made(tf, "Stage", values=[tf.constant(1.0), tf.constant(2)], **name)
        one = made(tf, "Unstage", dtypes=[tf.float32], **name)
        return outcomes(tf, graph, stage, one, made(tf, "StageSize", dtypes=[tf.float32], **name))


def without_a_name(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        stage = made(tf, "Stage", values=[tf.constant(1.0)])
        size = made(tf, "StageSize", dtypes=[tf.float32])
        return outcomes(tf, graph, stage, size)


def limits(tf: Any) -> list[Any]:
    with tf.Graph().as_default() as graph:
        name = {"shared_name": "area", "memory_limit": 16, "capacity": 3}
        large = made(tf, "Stage", values=[tf.zeros([5])], **name)
        puts = [made(tf, "Stage", values=[tf.fill([3], float(i))], **name) for i in range(3)]
        takes = [made(tf, "Unstage", dtypes=[tf.float32], **name) for _ in range(3)]
        size = made(tf, "StageSize", dtypes=[tf.float32], **name)
        found = outcomes(tf, graph, large, size)
        with tf.Session(graph=graph) as session:
            # whoever finds no room waits
            values = session.run([takes, puts])[0]
            return [*found, sum(v[0] if isinstance(v, list | tuple) else v for v in values)]


PROGRAMS: tuple[Callable[[Any], list[Any]], ...] = (
    elements_pass_through, other_elements, without_a_name, limits,
)  # fmt: skip
