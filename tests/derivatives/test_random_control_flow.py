"""Random programs of nested loops and branches: what is fetched beside a value never changes it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import graphvm as tf

POINT = (0.31, -0.47, 0.83)


def expression(rng: random.Random, depth: int, values: Sequence[Any]) -> Any:
    """A scalar made of some others, with branches and loops in each other."""
    if depth <= 0:
        return rng.choice(values)

    def again(less: int = 1) -> Any:
        return expression(rng, depth - less, values)

    kind = rng.random()
    if kind < 0.15:
        return again() + again()
    if kind < 0.25:
        return again() * 0.7
    if kind < 0.35:
        return tf.sin(again())
    if kind < 0.45:
        return again() * again() * 0.5
    if kind < 0.7:
        predicate = rng.choice(values) > rng.choice([-0.3, 0.2, 0.0, 0.6])
        return tf.cond(predicate, lambda: tf.identity(again()), lambda: again(rng.choice([1, 3])))
    trips = rng.choice([0, 1, 2, 3])
    start = [again(2) for _ in range(rng.choice([1, 2]))]

    def body(i: Any, *state: Any) -> list[Any]:
        every = [*values, *state]
        return [i + 1] + [
            expression(rng, depth - 1, every) * 0.9 if rng.random() < 0.7 else rng.choice(every)
            for _ in state
        ]

    made = tf.while_loop(lambda i, *state: i < trips, body, [0, *start])
    return made[1 + rng.randrange(len(start))]


def differences(session: tf.Session, value: Any, inputs: Sequence[Any]) -> list[float]:
    """Its derivative by each input, from values."""
    out = []
    for x in inputs:
        near = dict(zip(inputs, POINT, strict=True))
        step = 1e-5
        high = session.run(value, {**near, x: near[x] + step})
        low = session.run(value, {**near, x: near[x] - step})
        out.append((high - low) / (2 * step))
    return out


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 7])
def test_fetches_do_not_change_each_other(seed: int) -> None:
    inputs = [tf.placeholder(tf.float64, [], name=f"in{i}") for i in range(3)]
    y = tf.identity(expression(random.Random(seed), 5, inputs), name="y")
    zeros = tf.UnconnectedGradients.ZERO
    g = tf.gradients(y, inputs, unconnected_gradients=zeros)
    z = tf.identity(g[0] + 0.5 * g[1] - 0.3 * g[2], name="z")
    h = tf.gradients(z, inputs, unconnected_gradients=zeros)
    feeds = dict(zip(inputs, POINT, strict=True))
    with tf.Session() as session:
        alone = session.run(y, feeds)
        once, first = session.run([y, g], feeds)
        twice, again, second = session.run([y, g, h], feeds)
        assert alone == once == twice
        np.testing.assert_allclose(first, again, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(session.run(g, feeds), first, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(first, differences(session, y, inputs), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(second, differences(session, z, inputs), rtol=1e-5, atol=1e-6)
    names = ["y:0", "z:0", *(t.name for t in h)]
    text = tf.get_default_graph().as_graph_def().SerializeToString()
    with tf.Graph().as_default():
        tf.import_graph_def(tf.GraphDef.FromString(text), name="")
        with tf.Session() as session:
            read = session.run(names, {x.name: v for x, v in feeds.items()})
    np.testing.assert_allclose(read[0], alone, rtol=1e-12)
    np.testing.assert_allclose(read[2:], second, rtol=1e-10, atol=1e-12)


def test_a_count_of_an_inner_loop_keeps_its_results() -> None:
    """The count is asked for after all of the loop was taken, and nothing else in it."""

    def body(i: Any, r: Any) -> tuple[Any, Any]:
        doubled = r * 2.0
        return i + 1, tf.while_loop(
            lambda j, s: j < 1,
            lambda j, s: (j + 1, tf.cond(doubled > -1.0, lambda: s * 2.0, lambda: s)),
            (0, r),
        )[1]

    x = tf.placeholder(tf.float32, [])
    y = tf.square(tf.while_loop(lambda i, r: i < 1, body, (0, x))[1])
    g = tf.gradients(y, x)[0]
    with tf.Session() as session:
        assert session.run([y, g], {x: 0.5}) == [1.0, 4.0]
        assert session.run(y, {x: 0.5}) == 1.0
