"""FIFOQueue: order, capacity, structures, closing."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf


def test_elements_come_out_in_the_order_in_which_they_went_in() -> None:
    queue = tf.FIFOQueue(3, tf.float32, shapes=[()])
    x = tf.placeholder(tf.float32, [])
    put, take, size = queue.enqueue(x), queue.dequeue(), queue.size()
    assert (put.name, take.name, size.name) == (
        "fifo_queue_enqueue", "fifo_queue_Dequeue:0", "fifo_queue_Size:0",
    )  # fmt: skip
    assert (queue.name, queue.dtypes, take.shape.as_list()) == ("fifo_queue", [tf.float32], [])
    with tf.Session() as session:
        for value in (1.0, 2.0, 3.0):
            session.run(put, {x: value})
        assert session.run(size) == 3
        assert [session.run(take) for _ in range(3)] == [1, 2, 3]


def test_components_come_as_lists_or_by_name() -> None:
    pairs = tf.FIFOQueue(3, [tf.float32, tf.int32], name="pairs")
    named = tf.FIFOQueue(3, [tf.float32, tf.int32], names=["a", "b"], shapes=[[2], []])
    put = tf.group(pairs.enqueue([1.5, 2]), named.enqueue({"a": [1.0, 2.0], "b": 3}))
    first, second = pairs.dequeue(), named.dequeue()
    assert second["a"].shape.as_list() == [2]
    with tf.Session() as session:
        session.run(put)
        assert session.run(first) == [1.5, 2]
        value = session.run(second)
    np.testing.assert_array_equal(value["a"], [1, 2])
    assert value["b"] == 3


def test_a_closed_queue_gives_what_is_in_it_and_no_more() -> None:
    queue = tf.FIFOQueue(3, tf.int32)
    put, take, close = queue.enqueue(5), queue.dequeue(), queue.close()
    with tf.Session() as session:
        session.run(put)
        session.run(close)
        assert session.run(take) == 5
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(take)
        with pytest.raises(tf.errors.CancelledError):
            session.run(put)


def test_queues_of_one_shared_name_are_one() -> None:
    one, two = (tf.FIFOQueue(3, tf.int32, shared_name="q") for _ in range(2))
    with tf.Session() as session:
        session.run(one.enqueue(7))
        assert session.run(two.dequeue()) == 7


BAD: list[tuple[Any, Any, type[Exception], str]] = [
    ({}, ["a"], TypeError, "cannot be of type float32"),
    ({}, [1.0, 2.0], TypeError, ""),
    ({"shapes": [[2]]}, [[1.0, 2.0, 3.0]], ValueError, "not compatible"),
    ({}, {"a": 1.0}, ValueError, "are no dictionaries"),
    ({"names": ["a"]}, [1.0], ValueError, "are dictionaries"),
    ({"names": ["a"]}, {"b": 1.0}, ValueError, "components"),
]


def test_elements_that_do_not_fit_are_refused() -> None:
    for options, value, error, says in BAD:
        queue = tf.FIFOQueue(3, tf.float32, **options)
        if not says:
            assert queue.enqueue(value).type == "QueueEnqueueV2"  # one component, a vector
            continue
        with pytest.raises(error, match=says):
            queue.enqueue(value)
    with pytest.raises(ValueError, match="has 2 components, not 3"):
        tf.FIFOQueue(3, [tf.float32, tf.int32]).enqueue([1.0, 2, 3])
    with pytest.raises(ValueError, match="known whole"):
        tf.FIFOQueue(3, tf.float32, shapes=[[None]])
    with pytest.raises(ValueError, match="2 components with 1 shapes"):
        tf.FIFOQueue(3, [tf.float32, tf.int32], shapes=[[]])
