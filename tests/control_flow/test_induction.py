"""Loops that count in Python's own integers give what loops of NumPy's scalars give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime import config

TOP = np.iinfo(np.int32).max


def up_to(test: Callable[..., Any], step: int, start: int, dtype: Any = tf.int32) -> Any:
    """A loop over a counter; `test` is given the counter and a limit that is fed."""

    def make(limit: Any) -> Any:
        return tf.while_loop(
            lambda i, n: test(i, limit),
            lambda i, n: (i + tf.constant(step, dtype), n + 1),
            [tf.constant(start, dtype), tf.constant(0)],
        )

    return make


def used_everywhere(limit: Any) -> Any:
    """The counter is used in the condition, in the body, and so is its next value."""

    def body(i: Any, total: Any, last: Any) -> Any:
        following = i + 1
        return following, total * 2 + following * i, i

    return tf.while_loop(
        lambda i, total, last: (i < limit) & (last < 6) & (i * 2 < 17),
        body,
        [tf.constant(-3), tf.constant(1), tf.constant(0)],
    )


def nested(limit: Any) -> Any:
    """Loops in loops that count to each other's counters, and an inner body used twice."""

    def inner(n: Any, x: Any) -> Any:
        return tf.while_loop(lambda j, x: j < n, lambda j, x: (j + 1, x + j * n), [0, x])[1]

    return tf.while_loop(
        lambda i, x: i < limit,
        lambda i, x: (i + 1, inner(limit, inner(i, x)) % 1009),
        [tf.constant(0), tf.constant(1)],
    )


def swapped(limit: Any) -> Any:
    """Variables that change places: neither counts."""
    return tf.while_loop(
        lambda i, j: i < limit, lambda i, j: (j + 1, i), [tf.constant(0), tf.constant(2)]
    )


def moving_bound(limit: Any) -> Any:
    """A bound that the loop changes."""
    return tf.while_loop(
        lambda i, n: i < n, lambda i, n: (i + 1, n - 1), [tf.constant(0), limit + 0]
    )


def named_twice(limit: Any) -> Any:
    """Each result is written where something still needs the old value."""
    return tf.while_loop(
        lambda i, a, b, c: i < limit,
        lambda i, a, b, c: (i + 1, b + c, a * 1, a + b),
        [tf.constant(0), tf.constant(1), tf.constant(2), tf.constant(3)],
    )


def out_of_branches(limit: Any) -> Any:
    """A counter that a branch looks at, and a loop inside the branch."""

    def body(i: Any, x: Any) -> Any:
        return i + 1, tf.cond(
            tf.equal(i % 2, 0),
            lambda: tf.while_loop(lambda j, y: j < i, lambda j, y: (j + 1, y + j), [0, x])[1],
            lambda: x - i,
        )

    return tf.while_loop(lambda i, x: i < limit, body, [tf.constant(0), tf.constant(0)])


LOOPS: dict[str, Callable[[Any], Any]] = {
    "less": up_to(lambda i, n: i < n, 1, 0),
    "greater": up_to(lambda i, n: n > i, 1, -2),
    "less or equal": up_to(lambda i, n: i <= n, 1, 0),
    "greater or equal": up_to(lambda i, n: n >= i, 2, 0),
    "steps of three": up_to(lambda i, n: i < n, 3, 1),
    "to a constant": up_to(lambda i, n: i < 10, 1, 0),
    "in threes to a constant": up_to(lambda i, n: i <= 10, 3, -1),
    "down": up_to(lambda i, n: i > -5, -1, 3),
    "near the end": up_to(lambda i, n: i < TOP, 1, TOP - 3),
    "over the end": up_to(lambda i, n: (i > 0) & (i <= TOP), 2, TOP - 3),
    "not at all": up_to(lambda i, n: i < n, 1, 1000),
    "used everywhere": used_everywhere,
    "nested": nested,
    "swapped": swapped,
    "moving bound": moving_bound,
    "named twice": named_twice,
    "out of branches": out_of_branches,
}


@pytest.mark.parametrize("limit", [-1, 0, 1, 7])
@pytest.mark.parametrize("name", LOOPS)
def test_emitted_loops_agree_with_interpreted_ones(name: str, limit: int) -> None:
    results = []
    for switch in (config.INTERPRET, config.EMIT):
        with switch.set(True), tf.Graph().as_default(), tf.Session() as sess:
            fed = tf.placeholder(tf.int32, [])
            results.append(sess.run(list(LOOPS[name](fed)), {fed: limit}))
    for interpreted, emitted in zip(*results, strict=True):
        assert interpreted == emitted
        assert type(interpreted) is type(emitted)


def test_a_long_counter_counts_past_32_bits() -> None:
    start = 2**31 - 2
    with tf.Graph().as_default(), tf.Session() as sess:
        limit = tf.placeholder(tf.int64, [])
        loop = up_to(lambda i, n: i < n, 1, start, tf.int64)(limit)
        for _ in range(4):
            count, trips = sess.run(list(loop), {limit: start + 5})
            assert (count, trips) == (start + 5, 5)
            assert count.dtype == np.int64


def test_such_loops_are_written_as_ranges() -> None:
    with config.EMIT.set(True), tf.Graph().as_default(), tf.Session() as sess:
        limit = tf.placeholder(tf.int32, [])
        loop = up_to(lambda i, n: i < n, 1, 0)(limit)
        sess.run(loop[1], {limit: 3})
        assert "in range(" in str(sess.program(loop[1], [limit]))
