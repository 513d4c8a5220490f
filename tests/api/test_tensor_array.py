"""TensorArray: every method, as a value and behind a handle, in loops and branches."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm.errors import InvalidArgumentError

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


def behind_handle(size: Any, **attrs: Any) -> tf.TensorArray:
    """An array as TensorFlow 1 has it."""
    handle, flow = tf.raw_ops.TensorArrayV3(
        size=size, dtype=tf.float32, clear_after_read=False, **attrs
    )
    return tf.TensorArray(tf.float32, handle=handle, flow=flow)


def value(size: Any) -> tf.TensorArray:
    return tf.TensorArray(tf.float32, size)


both = pytest.mark.parametrize("make", [value, behind_handle])


@both
def test_write_and_read(make: Any) -> None:
    array = make(2).write(1, [1.0, 2.0])
    assert array.element_shape.as_list() == [2]
    got = array.read(1)
    assert got.shape.as_list() == [2]
    assert run(got).tolist() == [1, 2]


@both
def test_unstack_and_stack(make: Any) -> None:
    array = make(3).unstack(ROWS)
    made = array.stack()
    assert made.shape.as_list()[1:] == [2]
    np.testing.assert_array_equal(run(made), ROWS)
    assert run(array.size()) == 3


@both
def test_scatter_and_gather(make: Any) -> None:
    array = make(4).scatter([3, 0, 1], ROWS)
    np.testing.assert_array_equal(run(array.gather([0, 3])), ROWS[[1, 0]])


@both
def test_split_and_concat(make: Any) -> None:
    array = make(2).split(ROWS, [1, 2])
    assert array.element_shape.as_list() == [None, 2]
    assert run(array.read(1)).tolist() == ROWS[1:].tolist()
    np.testing.assert_array_equal(run(array.concat()), ROWS)


def test_even_parts_have_a_known_length() -> None:
    array = value(3).split(ROWS, [1, 1, 1])
    assert array.element_shape.as_list() == [1, 2]


@both
def test_gradients_written_to_the_array_of_gradients_add_up(make: Any) -> None:
    array = make(2).write(0, [1.0, 2.0]).write(1, [3.0, 4.0])
    grads = array.grad("test")
    grads = grads.write(0, [1.0, 1.0]).write(0, [2.0, 2.0])
    assert run(grads.stack()).tolist() == [[3, 3], [0, 0]]
    more = make(2).unstack(ROWS[:2]).grad("x")
    assert run(more.unstack(ROWS[:2]).scatter([1], ROWS[:1]).stack()).tolist() == [[0, 1], [2, 4]]
    parts = make(2).split(ROWS, [1, 2]).grad("y").split(ROWS, [1, 2])
    np.testing.assert_array_equal(run(parts.split(ROWS, [1, 2]).concat()), ROWS * 2)


@both
def test_identity_and_close(make: Any) -> None:
    array = make(1).write(0, 3.0)
    same = array.identity()
    assert same.flow is not array.flow
    with tf.control_dependencies([same.read(0)]):
        closed = array.close()
    run(closed)


@both
def test_a_loop_writes_and_reads(make: Any) -> None:
    x = tf.placeholder(tf.float32, [3, 2])
    rows = make(3).unstack(x)

    def body(i: Any, out: Any) -> Any:
        assert isinstance(out, tf.TensorArray)
        return i + 1, out.write(i, rows.read(2 - i) * 2.0)

    _, out = tf.while_loop(lambda i, _: i < 3, body, (0, make(3)))
    assert isinstance(out, tf.TensorArray)
    np.testing.assert_array_equal(run(out.stack(), {x: ROWS}), ROWS[::-1] * 2)


def test_what_a_loop_learns_of_elements_is_known_after_it() -> None:
    def body(i: Any, out: Any) -> Any:
        return i + 1, out.write(i, tf.ones([5, 2]))

    _, out = tf.while_loop(lambda i, _: i < 3, body, (0, value(3)))
    assert out.stack().shape.as_list() == [3, 5, 2]


@both
def test_a_branch_gives_an_array(make: Any) -> None:
    p = tf.placeholder(tf.bool, [])
    array = make(2).write(0, 1.0)
    chosen = tf.cond(p, lambda: array.write(1, 5.0), lambda: array.write(1, 7.0))
    assert isinstance(chosen, tf.TensorArray)
    assert run(chosen.stack(), {p: True}).tolist() == [1, 5]
    assert run(chosen.stack(), {p: False}).tolist() == [1, 7]


def test_a_dynamic_array_grows() -> None:
    array = tf.TensorArray(tf.int32, 0, dynamic_size=True).write(2, 7)
    assert array.dynamic_size
    assert run([array.size(), array.stack()])[0] == 3
    assert run(array.stack()).tolist() == [0, 0, 7]
    with pytest.raises(InvalidArgumentError, match="element 2 of a list that has 2"):
        run(tf.TensorArray(tf.int32, 2).write(2, 7).stack())


def test_a_value_is_written_and_read_again() -> None:
    array = value(1).write(0, 1.0)
    later = array.write(0, 2.0)
    assert run([array.read(0), later.read(0), later.read(0)]) == [1, 2, 2]


def test_strings() -> None:
    array = tf.TensorArray(tf.string, 2, element_shape=[]).write(1, b"b")
    assert run(array.stack()).tolist() == [b"", b"b"]


def test_the_names_are_those_of_tensorflow() -> None:
    array = value(3)
    names = [
        array.flow.op.name,
        array.unstack(ROWS).flow.op.name,
        array.write(0, 1.0).flow.op.name,
        array.scatter([0, 1, 2], ROWS).flow.op.name,
        array.split(ROWS, [1, 2]).flow.op.name,
        array.read(0).op.name,
        array.stack().op.name,
        array.gather([0]).op.name,
    ]
    assert names == [
        "TensorArrayV2",
        "TensorArrayUnstack/TensorListFromTensor",
        "TensorArrayV2Write/TensorListSetItem",
        "TensorArrayScatter/TensorListScatterIntoExistingList",
        "TensorArraySplit/TensorListSplit",
        "TensorArrayV2Read/TensorListGetItem",
        "TensorArrayV2Stack/TensorListStack",
        "TensorListGather",
    ]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TypeError, match="a TensorArray of float32 takes no int32"):
        value(1).write(0, tf.constant(1))
    with pytest.raises(ValueError, match="infer_shape=False where shapes may differ"):
        value(2).write(0, [1.0]).write(1, [1.0, 2.0])
    with pytest.raises(ValueError, match="an element of shape"):
        tf.TensorArray(tf.float32, 2, element_shape=[3], infer_shape=False).write(0, [1.0])
    loose = tf.TensorArray(tf.float32, 2, infer_shape=False).write(0, [1.0]).write(1, [1.0, 2.0])
    assert run(loose.concat()).tolist() == [1, 1, 2]
    with pytest.raises(ValueError, match="a TensorArray needs 'size'"):
        tf.TensorArray(tf.float32)
    with pytest.raises(ValueError, match="a TensorArray needs 'flow'"):
        tf.TensorArray(tf.float32, 1, handle=behind_handle(1).handle)
    with pytest.raises(TypeError, match="the value of an array is a list, not float32"):
        tf.TensorArray(tf.float32, flow=tf.constant(0.0))
