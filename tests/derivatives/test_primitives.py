"""Derivatives of TensorFlow 1's control flow primitives, by way of the functional form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.ops.control_flow import PRIMITIVES
from tests.derivatives.test_control_flow import FORMS, leaf

Program = Callable[[Any, Any], Any]
X, Y = np.array([0.3, -0.4, 0.7]), np.float64(1.1)


def in_primitives(program: Program) -> tuple[Any, Any, Any]:
    """A program in a fresh default graph, its control flow written as primitives."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float64, [3], "x")
        y = tf.placeholder(tf.float64, [], "y")
        z = tf.identity(program(x, y), "z")
        message = graph.as_graph_def(control_flow="v1")
    tf.import_graph_def(message, name="")
    assert any(op.type in PRIMITIVES for op in tf.get_default_graph().get_operations())
    find = tf.get_default_graph().get_tensor_by_name
    del z
    return find("x:0"), find("y:0"), find("z:0")


def derivatives(x: Any, y: Any, z: Any) -> list[Any]:
    """Values of first and second derivatives in both modes."""
    grads = tf.gradients(z, [x, y])
    second = tf.gradients(tf.reduce_sum(grads[0]) + grads[1], [x, y])
    pushed = tf.jvp(z, [x, y], [tf.ones_like(x), tf.ones_like(y)])
    with tf.Session() as session:
        values = session.run([z, *grads, *second, *pushed], {x: X, y: Y})
    return list(values)


def nested(outer: str, inner: str) -> Program:
    """A leaf in one form of control flow in another."""
    return lambda x, y: FORMS[outer](lambda a, b: FORMS[inner](leaf, a, b), x, y)


def alone(form: str) -> Program:
    """A leaf in one form of control flow."""
    return lambda x, y: FORMS[form](leaf, x, y)


PROGRAMS: dict[str, Program] = {
    **{form: alone(form) for form in FORMS if form != "call"},
    "loop in branch": nested("branch", "loop"),
    "branch in loop": nested("loop", "branch"),
    "loop in loop": nested("loop", "loop"),
    "branch in branch": nested("branch", "other"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_the_functional_form(name: str) -> None:
    program = PROGRAMS[name]
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float64, [3]), tf.placeholder(tf.float64, [])
        want = derivatives(x, y, program(x, y))
    got = derivatives(*in_primitives(program))
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_only_a_part_is_run() -> None:
    """Values keep their names when the rest of a loop is not needed."""

    def program(x: Any, y: Any) -> Any:
        def body(i: Any, a: Any, b: Any) -> Any:
            return i + 1, tf.sin(a) * y, tf.cos(b) + a

        _, a, b = tf.while_loop(lambda i, a, b: i < 3, body, [0, x, x * y])
        return a * 2.0 + b * 0.0 if program.both else tf.stack([a, b])[0]  # type: ignore[attr-defined]

    for both in (False, True):
        program.both = both  # type: ignore[attr-defined]
        x, y, z = in_primitives(program)
        with tf.Session() as session:
            assert np.isfinite(session.run(tf.gradients(z, [x])[0], {x: X, y: Y})).all()
        tf.reset_default_graph()
