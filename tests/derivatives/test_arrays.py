"""Derivatives through arrays: lists that are values, and arrays behind handles, in both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from tests.derivatives.checks import checked

X = np.array([[0.3, -0.4], [0.7, 0.2], [0.5, -0.6]])
Y = np.float64(1.1)


def listed(size: int) -> tf.TensorArray:
    return tf.TensorArray(tf.float64, size)


def handled(size: int) -> tf.TensorArray:
    made = tf.raw_ops.TensorArrayV3(size=size, dtype=tf.float64, clear_after_read=False)
    return tf.TensorArray(tf.float64, handle=made[0], flow=made[1])


Make = Callable[[int], tf.TensorArray]


def write_and_read(make: Make, x: Any, y: Any) -> Any:
    array = make(2).write(0, tf.sin(x[0]) * y).write(1, x[1] * x[2])
    return array.read(0) * array.read(1) + array.read(0)


def rows(make: Make, x: Any, y: Any) -> Any:
    return tf.tanh(make(3).unstack(x * y).stack()) * x


def scattered(make: Make, x: Any, y: Any) -> Any:
    array = make(5).scatter([4, 0, 2], tf.sin(x) * y)
    return array.gather([0, 2, 0]) * array.gather([4, 4, 2])


def parts(make: Make, x: Any, y: Any) -> Any:
    array = make(2).split(x * x * y, [1, 2])
    return tf.reduce_sum(array.read(0)) * array.concat()


def loop(make: Make, x: Any, y: Any) -> Any:
    given = make(3).unstack(x)

    def body(i: Any, s: Any, out: Any) -> Any:
        s = tf.sin(s) * given.read(i) + s * y
        return i + 1, s, out.write(2 - i, s * given.read(0))

    _, s, out = tf.while_loop(lambda i, *_: i < 3, body, (0, x[1], make(3)))
    return tf.reduce_sum(out.gather([0, 2]) * s) * y


def branch(make: Make, x: Any, y: Any) -> Any:
    array = make(1)
    chosen = tf.cond(y > 0.0, lambda: array.write(0, x * y), lambda: array.write(0, x))
    return chosen.read(0) * x


PROGRAMS = (write_and_read, rows, scattered, parts, loop, branch)


@pytest.mark.parametrize("make", [listed, handled])
@pytest.mark.parametrize("program", PROGRAMS)
def test_array(program: Any, make: Make) -> None:
    checked(lambda x, y: program(make, x, y), [X, Y])


def test_rows_that_are_written_over_pass_nothing() -> None:
    """Of rows that go to one place only the last is there."""
    index = np.array([1, 0, 1], np.int32)

    def into(x: Any, y: Any, at: Any) -> Any:
        return listed(2).write(0, x[0]).scatter(at, x * y).stack() * y

    def fresh(x: Any, y: Any, at: Any) -> Any:
        made = tf.raw_ops.TensorListScatterV2(
            tensor=x * y, indices=at, element_shape=[2], num_elements=3
        )
        return tf.TensorArray(tf.float64, flow=made, element_shape=[2]).stack() * x

    for program in (into, fresh):
        checked(lambda x, y, p=program: p(x, y, index), [X, Y])
        checked(program, [X, Y, index], by=[0, 1])


def test_an_array_that_grows() -> None:
    def program(x: Any) -> Any:
        array = tf.TensorArray(tf.float64, 1, dynamic_size=True, element_shape=[2])
        array = array.write(0, x[0]).write(2, x[1] * x[2])
        return tf.sin(array.stack())

    checked(program, [X])


def test_an_array_made_in_each_iteration() -> None:
    def body(i: Any, s: Any) -> Any:
        array = tf.TensorArray(tf.float64, 2).write(0, s * s).write(1, tf.sin(s))
        return i + 1, array.read(0) * array.read(1) + s

    checked(lambda x: tf.while_loop(lambda i, _: i < 3, body, (0, x))[1], [X])


@pytest.mark.parametrize("function", ["map", "foldl", "foldr", "scan", "reversed"])
def test_mapping(function: str) -> None:
    def step(a: Any, x: Any) -> Any:
        return tf.sin(a) * x + a * x

    functions: dict[str, Callable[[Any], Any]] = {
        "map": lambda x: tf.map_fn(lambda r: tf.sin(r) * r, x),
        "foldl": lambda x: tf.foldl(step, x),
        "foldr": lambda x: tf.foldr(step, x, initializer=x[0]),
        "scan": lambda x: tf.scan(step, x),
        "reversed": lambda x: tf.scan(step, x, initializer=x[1], reverse=True),
    }
    checked(functions[function], [X])


def test_an_iteration_backwards_touches_one_element() -> None:
    """Otherwise a loop over n rows would take n * n steps."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [100, 2])
        tf.gradients(tf.map_fn(tf.sin, x), x)
        tf.gradients(tf.scan(lambda a, r: tf.cos(a) * r, x), x)
        bodies = [f.body for name, f in graph.library.items() if "grad_body" in name]
        ops = {
            n.op.name for b in bodies for n in b.nodes
            if any(b.type_of(e).dtype is tf.variant for e in n.inputs)
        }  # fmt: skip
    assert len(bodies) == 2
    assert ops == {"TensorListGetItem", "TensorListSetItem"}
