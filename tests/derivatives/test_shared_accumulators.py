"""What derivatives keep of a loop is shared with it, not copied, and nothing writes to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphvm as tf

SHAPE = (200, 300)  # large enough for buffers that are used again, and for writing in place


def start() -> Any:
    return np.random.default_rng(5).uniform(0.5, 1.5, SHAPE).astype(np.float32)


def run(fetches: Any, feeds: Any) -> list[Any]:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found: list[Any] = []
        for _ in range(4):  # first runs are interpreted, later ones emitted
            found.append(session.run(fetches, feeds))
            session.run(tf.global_variables_initializer())
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    last: list[Any] = found[-1]
    return last


def test_a_variable_that_changes_meanwhile_is_seen_as_it_was() -> None:
    v = tf.get_variable("v", SHAPE, initializer=tf.ones_initializer())
    x = tf.placeholder(tf.float32, SHAPE)

    def body(i: Any, y: Any) -> Any:
        y = y * v.read_value()
        with tf.control_dependencies([y]), tf.control_dependencies([v.assign_add(tf.ones(SHAPE))]):
            return i + 1, tf.identity(y)

    _, y = tf.while_loop(lambda i, y: i < 4, body, (0, x))
    (slope,) = tf.gradients(y, [x])
    value = start()
    got = run([y, slope], {x: value})
    np.testing.assert_allclose(got[0], value * 24, rtol=1e-6)
    np.testing.assert_allclose(got[1], np.full(SHAPE, 24.0), rtol=1e-6)


def test_nothing_is_written_into_what_is_kept() -> None:
    x = tf.placeholder(tf.float32, SHAPE)

    def body(i: Any, y: Any, z: Any) -> Any:
        e = tf.exp(-y)
        w = (e + 1.0) * 0.5 - z  # each may be written into the one before
        return i + 1, tf.sin(w) * e, tf.tanh(w)

    _, y, z = tf.while_loop(lambda i, y, z: i < 5, body, (0, x, x * 0.1))
    loss = tf.reduce_sum(y * z + y)
    (slope,) = tf.gradients(loss, [x])
    value = start()
    (got,) = run([slope], {x: value})

    def f(v: Any) -> Any:
        y, z = v, v * 0.1
        for _ in range(5):
            e = np.exp(-y)
            w = (e + 1) * 0.5 - z
            y, z = np.sin(w) * e, np.tanh(w)
        return y * z + y

    wide = value.astype(np.float64)
    want = (f(wide + 1e-5) - f(wide - 1e-5)) / 2e-5
    np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("fed", [True, False])
def test_a_first_value_outlives_what_is_made_of_it(fed: bool) -> None:
    x = tf.placeholder(tf.float32, SHAPE)
    first = x if fed else x * 2.0
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * y * 0.5), (0, first))
    more = first + 3.0  # the last use of `first` beside the loop
    (slope,) = tf.gradients(y, [first])
    value = start()
    got = run([y, slope, more], {x: value})
    a = value.astype(np.float64) * (1 if fed else 2)
    np.testing.assert_allclose(got[0], a**8 / 2**7, rtol=1e-5)
    np.testing.assert_allclose(got[1], 8 * a**7 / 2**7, rtol=1e-5)
    np.testing.assert_allclose(got[2], a + 3, rtol=1e-6)
    np.testing.assert_array_equal(value, start())
