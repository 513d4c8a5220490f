"""A random op's stream belongs to the session and the op's path."""

from typing import Any

import numpy as np

import graphvm as tf


def _in_branch(seed: Any) -> Any:
    return tf.cond(
        tf.placeholder_with_default(True, []),
        lambda: tf.random_uniform([4], seed=seed),
        lambda: tf.zeros([4]),
    )


def test_ops_of_one_name_and_seed_in_two_bodies_draw_from_streams_of_their_own() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        one, other = _in_branch(7), _in_branch(7)
        first = sess.run(one)
        # the second body's stream has not moved, whatever the first drew
        np.testing.assert_array_equal(sess.run(other), first)
        second = sess.run(one)
        assert not np.array_equal(first, second)
        np.testing.assert_array_equal(sess.run(other), second)


def test_a_stream_goes_on_through_additions_other_fetches_and_tiers() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        draw = tf.random_uniform([3], seed=1)
        want = [sess.run(draw) for _ in range(6)]
    with tf.Graph().as_default(), tf.Session() as sess:
        draw = tf.random_uniform([3], seed=1)
        got = []
        for k in range(6):
            got.append(sess.run(draw))
            sess.run(tf.constant(k) + 1)
        np.testing.assert_array_equal(got, want)
