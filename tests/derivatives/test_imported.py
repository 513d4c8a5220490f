"""Derivatives of graphs that were read from files, and their derivatives, in both forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import GraphError, RuleError

AT = 0.7


def sines(x: Any) -> Any:
    """A loop that needs two inner values of each iteration."""
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, tf.sin(a) * 1.5 + x], [0, x])[1]


def powers(x: Any) -> Any:
    """A loop that is a polynomial."""
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, a * x], [0, x])[1]


def nested(x: Any) -> Any:
    """A branch in a loop in a branch."""

    def body(i: Any, a: Any) -> list[Any]:
        return [i + 1, tf.cond(a > 0.5, lambda: tf.sin(a) * x, lambda: a * a + x)]

    return tf.cond(x > 0.0, lambda: tf.while_loop(lambda i, a: i < 3, body, [0, x])[1], lambda: x)


PROGRAMS: dict[str, Callable[[Any], Any]] = {"sines": sines, "powers": powers, "nested": nested}


def derivatives(y: Any, x: Any, order: int) -> list[Any]:
    """The first ones."""
    out = []
    for _ in range(order):
        y = tf.gradients(y, x)[0]
        out.append(y)
    return out


def run(fetches: Any) -> Any:
    """Their values."""
    with tf.Session() as session:
        return session.run(fetches, {"x:0": AT})


def written(form: str | None) -> Any:
    """The default graph as a file holds it."""
    graph = tf.get_default_graph()
    return graph.as_graph_def() if form is None else graph.as_graph_def(control_flow=form)


@pytest.mark.slow
@pytest.mark.parametrize("form", [None, "v1"])
@pytest.mark.parametrize("known", [0, 1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_of_what_is_read(name: str, known: int, form: str | None) -> None:
    """The file holds so many derivatives; the others are made after it is read."""
    x = tf.placeholder(tf.float64, [], name="x")
    y = tf.identity(PROGRAMS[name](x), name="y")
    every = derivatives(y, x, 3)
    want = run(every)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [], name="x")
        y = tf.identity(PROGRAMS[name](x), name="y")
        last = [y, *derivatives(y, x, known)][-1]
        tf.identity(last, name="last")
        file = written(form)
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(file, name="")
        x, last = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("last:0")
        more = [tf.identity(d, f"d{i}") for i, d in enumerate(derivatives(last, x, 3 - known))]
        np.testing.assert_allclose(run(more), want[known:], rtol=1e-9)
        for each, value in zip(more, want[known:], strict=True):
            np.testing.assert_allclose(run(each), value, rtol=1e-9)
        for again in (None, "v1"):
            text = written(again)
            with tf.Graph().as_default():
                tf.import_graph_def(text, name="")
                np.testing.assert_allclose(run([m.name for m in more]), want[known:], rtol=1e-9)


def read_loop() -> tuple[Any, Any]:
    """A loop as primitives, called `while`: input and output."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [], name="x")
        tf.identity(powers(x), name="y")
        file = written("v1")
    tf.import_graph_def(file, name="")
    graph = tf.get_default_graph()
    return graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")


def test_a_loop_made_later_does_not_take_the_name() -> None:
    x, y = read_loop()
    g = tf.gradients(y, x)[0]
    other = tf.gradients(sines(x), x)[0]
    both = run([g, other])
    np.testing.assert_allclose(both, [run(g), run(other)])
    np.testing.assert_allclose(both[0], 4 * AT**3)


def test_a_loop_made_before_has_taken_the_name() -> None:
    x, y = read_loop()
    functional = sines(x)
    g, other = tf.gradients(y, x)[0], tf.gradients(functional, x)[0]
    both = run([g, other])
    np.testing.assert_allclose(both, [run(g), run(other)])
    np.testing.assert_allclose(both[0], 4 * AT**3)


def test_a_value_inside_beside_the_gradient() -> None:
    """A region that somebody looks into is not raised, so it cannot be derived: that is said."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [], name="x")
        tf.identity(tf.cond(x > 0.0, lambda: tf.sin(x) * x, lambda: x), name="y")
        file = written("v1")
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(file, name="")
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        g = tf.gradients(y, x)[0]
        inside = next(o for o in graph.get_operations() if o.type == "Sin").outputs[0]
        np.testing.assert_allclose(run(inside), np.sin(AT))
        with pytest.raises(GraphError, match="which is not there"):
            run([inside, g])


# A gradient as TensorFlow 1 writes it: what the loop pushes on a stack, the gradient pops.
def with_stack(x: Any, pushed: Any) -> Any:
    """The product of x and a value that went over a stack."""
    handle = tf.raw_ops.StackV2(max_size=-1, elem_type=tf.float64)
    push = tf.raw_ops.StackPushV2(handle=handle, elem=pushed)
    with tf.control_dependencies([push]):
        return x * tf.raw_ops.StackPopV2(handle=handle, elem_type=tf.float64)


def test_what_comes_from_a_stack_is_no_constant() -> None:
    x = tf.placeholder(tf.float64, [], name="x")
    y = with_stack(x, x * x)
    np.testing.assert_allclose(run(y), AT**3)
    with pytest.raises(RuleError, match="takes from a stack what depends"):
        tf.gradients(y, x)


def test_what_comes_from_a_stack_is_constant_where_it_does_not_depend() -> None:
    x = tf.placeholder(tf.float64, [], name="x")
    y = with_stack(x, tf.constant(3.0, tf.float64))
    assert run(tf.gradients(y, x)) == [3.0]
    stopped = tf.stop_gradient(with_stack(x, x)) * x
    np.testing.assert_allclose(run(tf.gradients(stopped, x)[0]), AT**2)
    assert run(tf.gradients(tf.raw_ops.StackPushV2(
        handle=tf.raw_ops.StackV2(max_size=-1, elem_type=tf.float64), elem=x * 2.0
    ), x)) == [2.0]  # fmt: skip
