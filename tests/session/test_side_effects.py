"""What is left out of a program takes no side effect along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf

# each does nothing to a vector of three
IDLE: list[Callable[[Any], Any]] = [
    lambda x: tf.reshape(x, [3]),
    lambda x: tf.tile(x, [1]),
    lambda x: tf.pad(x, [[0, 0]]),
    lambda x: tf.broadcast_to(x, [3]),
    lambda x: x * tf.reshape(tf.constant([1.0, 1.0, 1.0]), [3]),
    tf.identity,
]


@pytest.mark.parametrize("idle", IDLE)
def test_what_a_node_comes_after_happens_where_the_node_is_left_out(
    idle: Callable[[Any], Any],
) -> None:
    with tf.Graph().as_default():
        count = tf.Variable(0, use_resource=True)
        x = tf.placeholder(tf.float32, [3])

        def counted(value: Any) -> Any:
            with tf.control_dependencies([count.assign_add(1)]):
                return idle(value)

        once = counted(x)
        loop = tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, counted(v)), [0, x])[1]
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for runs in range(1, 5):
                np.testing.assert_array_equal(sess.run(once, {x: np.ones(3)}), np.ones(3))
                assert sess.run(count) == runs
            np.testing.assert_array_equal(sess.run(loop, {x: np.ones(3)}), np.ones(3))
            assert sess.run(count) == 4 + 3
