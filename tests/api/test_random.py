"""Seeds are TensorFlow 2.21's pairs; numbers follow from them alone."""

import numpy as np
import pytest

import graphvm as tf

UNSEEDED = (0, 0)


def pair(tensor: tf.Tensor) -> tuple[int, int]:
    scope = tensor.op.name.partition("/")[0] + "/"
    (op,) = [
        o
        for o in tensor.graph.get_operations()
        if o.type.startswith(("Random", "Truncated")) and o.name.startswith(scope)
    ]
    return op.get_attr("seed"), op.get_attr("seed2")


def test_a_graph_seed_counts_the_operations_that_have_none() -> None:
    tf.set_random_seed(42)
    pairs = [
        pair(tf.random_uniform([2])),
        pair(tf.random_normal([2], seed=7)),
        pair(tf.truncated_normal([2])),
    ]
    assert pairs == [(42, 0), (42, 7), (42, 1)]


def test_seeds_without_a_graph_seed() -> None:
    pairs = [
        pair(tf.random_uniform([2])),
        pair(tf.random_normal([2], seed=7)),
        pair(tf.random_uniform([2], seed=0, name="zero")),
    ]
    assert pairs == [UNSEEDED, (87654321, 7), (87654321, 0)]
    assert tf.get_seed(None) == (None, None)


def test_zero_and_zero_is_a_seed_too() -> None:
    tf.set_random_seed(0)
    assert tf.get_seed(None) == (0, 2**31 - 1)
    assert tf.get_seed(0) == (0, 2**31 - 1)
    tf.set_random_seed(2**31)
    assert tf.get_seed(5) == (1, 5)


def test_bodies_count_along() -> None:
    tf.set_random_seed(1)
    tf.random_uniform([])
    tf.cond(tf.constant(True), lambda: tf.random_uniform([]), lambda: tf.random_uniform([]))
    assert pair(tf.random_uniform([], name="last")) == (1, 3)


def test_seeds_by_name_do_not_move() -> None:
    def second(extra: bool) -> tuple[int, int]:
        with tf.Graph().as_default():
            tf.set_random_seed(3, by="name")
            if extra:
                tf.random_uniform([], name="extra")
            return pair(tf.random_normal([], name="noise"))

    assert second(False) == second(True)
    with pytest.raises(ValueError, match="by count or by name"):
        tf.set_random_seed(3, by="place")  # type: ignore[arg-type]


def test_the_same_seeds_give_the_same_numbers() -> None:
    tf.set_random_seed(42)
    x = tf.random_uniform([3])
    draws = []
    for _ in range(2):
        with tf.Session() as session:
            draws.append([session.run(x), session.run(x)])
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0][0], draws[0][1])


def test_without_a_seed_each_session_draws_its_own() -> None:
    x = tf.random_normal([3])
    with tf.Session() as one, tf.Session() as two:
        assert not np.array_equal(one.run(x), two.run(x))


def test_distributions() -> None:
    tf.set_random_seed(1)
    uniform = tf.random_uniform([20000], -1.0, 3.0, tf.float64)
    normal = tf.random.normal([20000], 2.0, 0.5)
    cut = tf.random.truncated_normal([20000], 1.0, 2.0)
    with tf.Session() as session:
        u, n, c = session.run([uniform, normal, cut])
    assert u.dtype == np.float64
    assert -1 <= u.min() < u.max() < 3
    assert (u.mean(), n.mean(), n.std()) == pytest.approx((1, 2, 0.5), abs=0.05)
    assert (np.abs(c - 1) <= 4).all()


def test_a_shape_may_be_a_tensor() -> None:
    n = tf.placeholder(tf.int32, [])
    x = tf.random_uniform([n, 2])
    assert x.shape.as_list() == [None, 2]
    with tf.Session() as session:
        assert session.run(x, {n: 3}).shape == (3, 2)
    with pytest.raises(TypeError):
        tf.random_uniform([2], dtype=tf.int32)
