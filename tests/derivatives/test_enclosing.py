"""Derivatives asked for in a body, by tensors of graphs around it: the path goes through captures.

The same computed with all of it made inside of the innermost body is the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphvm as tf
from graphvm.functions import defun

Make = Callable[[], Any]


def in_cond(make: Make) -> Any:
    return tf.cond(tf.constant(True), make, lambda: tf.constant(0.0))


def in_case(make: Make) -> Any:
    return tf.case([(tf.constant(False), lambda: tf.constant(0.0))], make)


def in_switch(make: Make) -> Any:
    return tf.switch_case(tf.constant(1), [lambda: tf.constant(0.0), make])


def in_loop(make: Make) -> Any:
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a + make() / 2.0), [0, 0.0])[1]


def in_map(make: Make) -> Any:
    return tf.reduce_sum(tf.map_fn(lambda r: r * make(), tf.constant([0.25, 0.75])))


def in_scan(make: Make) -> Any:
    return tf.scan(lambda a, r: a + r * make(), tf.constant([0.25, 0.75]), tf.constant(0.0))[-1]


def in_function(make: Make) -> Any:
    return tf.reshape(defun.Defun()(make)(), [])


BODIES = [in_cond, in_case, in_switch, in_loop, in_map, in_scan, in_function]


def square(x: Any) -> Any:
    return x * x


def branch(x: Any) -> Any:
    return tf.cond(x > 0.0, lambda: x * x * x, lambda: x)


def power(x: Any) -> Any:
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), [0, x])[1]


STEPS = [lambda x: 3.0 * x, square, tf.sin, branch, power]


def nested(bodies: list[Any], steps: list[Any], ends: Callable[[list[Any]], Any]) -> Any:
    """Bodies one in the other, a step of the chain made in each; `ends` gets all its values."""

    def inside(level: int, values: list[Any]) -> Any:
        values = [*values, steps[level](values[-1])]
        if level == len(bodies):
            return ends(values)
        return bodies[level](lambda: inside(level + 1, values))

    return inside(0, [tf.constant(1.25)])


def all_inside(bodies: list[Any], steps: list[Any], ends: Callable[[list[Any]], Any]) -> Any:
    """The same, but that the whole chain is made in the innermost body."""

    def innermost() -> Any:
        values = [tf.constant(1.25)]
        for step in steps:
            values.append(step(values[-1]))
        return ends(values)

    make: Make = innermost
    for body in reversed(bodies):
        make = partial(body, make)
    return make()


def check(bodies: list[Any], steps: list[Any], ends: Callable[[list[Any]], Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = nested(bodies, steps, ends)
        wanted = all_inside(bodies, steps, ends)
        got, want = session.run([found, wanted])
        assert got == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("body", BODIES)
def test_by_a_tensor_of_the_graph_around(body: Any) -> None:
    check([body], [square, tf.sin], lambda v: tf.gradients(v[-1], v[0])[0])


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_through_several_levels(data: Any) -> None:
    bodies = data.draw(st.lists(st.sampled_from(BODIES[:-1]), min_size=1, max_size=3))
    steps = [data.draw(st.sampled_from(STEPS)) for _ in range(len(bodies) + 1)]
    x = data.draw(st.integers(0, len(steps) - 1))
    y = data.draw(st.integers(x, len(steps)))
    order = data.draw(st.sampled_from([1, 2]))

    def ends(values: list[Any]) -> Any:
        (g,) = tf.gradients(values[y] * values[-1], values[x])
        return tf.gradients(g * values[-1], values[x])[0] if order == 2 else g

    check(bodies, steps, ends)


@pytest.mark.parametrize("body", BODIES)
def test_forward_mode_too(body: Any) -> None:
    check([body, in_cond], [square, branch, tf.sin], lambda v: tf.jvp(v[-1], v[0], 2.0)[0])


def test_stops_of_any_level() -> None:
    check([in_cond, in_loop], [square, tf.sin, square], lambda v: tf.gradients(
        v[3] * v[1], [v[0], v[1]], stop_gradients=[v[1]])[1])  # fmt: skip


def test_a_cotangent_made_inside_for_a_y_outside() -> None:
    check([in_cond], [square, tf.sin], lambda v: tf.gradients(v[1], v[0], grad_ys=v[2])[0])


@pytest.mark.parametrize("use_resource", [False, True])
def test_by_a_variable(use_resource: bool) -> None:
    v = tf.get_variable("v", initializer=3.0, use_resource=use_resource)
    y = v * v
    g = in_cond(lambda: in_loop(lambda: tf.gradients(y * y, v)[0]))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(g) == 4 * 27


def test_control_flow_around_that_has_state_is_refused() -> None:
    x = tf.constant(2.0)
    y = tf.cond(tf.constant(True), lambda: x * tf.random_uniform([]), lambda: x)
    with pytest.raises(tf.errors.GraphvmError, match="cannot be repeated"):
        in_cond(lambda: tf.gradients(y * tf.constant(2.0), x)[0])
