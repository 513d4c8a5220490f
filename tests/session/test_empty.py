"""What is checked when a graph runs: axes of scalars; values only where a result has elements."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as g:
        yield g


@pytest.mark.parametrize("axis", [0, -1, [0], 1])
@pytest.mark.parametrize(
    "reduce",
    [tf.reduce_sum, tf.reduce_mean, tf.reduce_prod, tf.reduce_max, tf.reduce_min, tf.reduce_all],
)
def test_a_scalar_has_no_axis(reduce: Callable[..., Any], axis: Any) -> None:
    x = tf.placeholder(tf.bool if reduce is tf.reduce_all else tf.float32)
    reduced, whole = reduce(x, axis), reduce(x, [])
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError, match="outside the rank 0"):
                session.run(reduced, {x: 1})
            assert session.run(whole, {x: 1}) == 1


def test_nothing_may_be_raised_to_a_negative_power() -> None:
    x, y = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    power = tf.pow(x, y)
    with tf.Session() as session:
        assert session.run(power, {x: [], y: -1}).shape == (0,)
        assert session.run(power, {x: np.zeros((0, 1)), y: [-1, 2]}).shape == (0, 2)
        assert session.run(power, {x: 2, y: []}).shape == (0,)
        with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
            session.run(power, {x: 2, y: -1})


@pytest.mark.parametrize(
    ("shape", "ids", "axis", "batch_dims", "result"),
    [
        ([2, 0], [5], 0, 0, (1, 0)),
        ([0, 2], [5, -1], 1, 0, (0, 2)),
        ([0, 0, 3], [[5]], 1, 0, (0, 1, 1, 3)),
        ([0, 2], np.full((0, 3), 5), 1, 1, (0, 3)),
        ([1, 2, 0], [[5, 6, 7]], 1, 1, (1, 3, 0)),
    ],
)
@pytest.mark.parametrize("dtype", [tf.float32, tf.string])
def test_no_index_is_wrong_where_nothing_is_gathered(
    shape: Any, ids: Any, axis: int, batch_dims: int, result: Any, dtype: Any
) -> None:
    x = tf.placeholder(dtype)
    index = tf.placeholder(tf.int32)
    found = tf.gather(x, index, axis=axis, batch_dims=batch_dims)
    with tf.Session() as session:
        got = session.run(found, {x: np.zeros(shape), index: ids})
    assert got.shape == result


def test_indices_of_something_are_checked_also_into_nothing() -> None:
    index = tf.placeholder(tf.int32)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
            session.run(tf.gather(tf.zeros([0]), index), {index: [5]})
        total = tf.unsorted_segment_sum(tf.zeros([1, 0]), index, 2)
        assert session.run(total, {index: [5]}).shape == (2, 0)


@pytest.mark.parametrize("shape", [[2], [0], [2, 2]])
def test_a_condition_is_one_bool(shape: list[int]) -> None:
    holds = tf.placeholder(tf.bool)
    loop = tf.while_loop(lambda i: tf.logical_and(i < 3, holds), lambda i: i + 1, [0])
    branch = tf.cond(holds, lambda: 1, lambda: 2)
    with tf.Session() as session:
        for fetch, result in ((loop, 3), (branch, 1)):
            assert session.run(fetch, {holds: [[True]]}) == result
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"elements, \[\] has 1"):
                session.run(fetch, {holds: np.ones(shape)})
    given = tf.ones(shape) > 0.0
    with pytest.raises(ValueError, match=r"a condition is one bool, not a tensor of shape"):
        tf.while_loop(lambda i: given, lambda i: i + 1, [0])
    with pytest.raises(ValueError, match=r"a condition is one bool, not a tensor of shape"):
        tf.cond(given, lambda: 1, lambda: 2)
    with pytest.raises(TypeError, match="gives one bool, not 2 values"):
        tf.while_loop(lambda i: [i < 3, i < 4], lambda i: i + 1, [0])
    with tf.Session() as session:
        assert session.run(tf.while_loop(lambda i: [i < 3], lambda i: i + 1, [0])) == 3


def test_integers_are_divided_without_nan_as_floating_numbers() -> None:
    x, y = tf.constant([1, 2]), tf.constant([0, 4])
    with tf.Session() as session:
        got = session.run(tf.div_no_nan(x, y))
        assert got.dtype == np.float64
        assert got.tolist() == [0, 0.5]
        short = tf.div_no_nan(tf.cast(x, tf.int8), tf.cast(y, tf.int8))
        assert short.dtype == tf.float32


def test_what_enters_a_loop_can_be_fetched() -> None:
    start = tf.placeholder(tf.int32, [])
    tf.while_loop(
        lambda i: i < 3,
        lambda i: i + tf.while_loop(lambda j: j < 2, lambda j: j + 1, [i], name="inner"),
        [start],
        name="outer",
    )
    message = tf.get_default_graph().as_graph_def(control_flow="v1")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="")
        feeds = {"Placeholder:0": 1}
        assert session.run("outer/Enter:0", feeds) == 1
        assert session.run(["outer/Enter:0", "outer/Exit:0"], feeds) == [1, 3]
        with pytest.raises(tf.errors.InvalidArgumentError, match="inside a loop"):
            session.run("outer/inner/Enter:0", feeds)
