"""A read of a reference variable shares its memory: assignments in bodies show through it.

Values are those of TensorFlow 2.21's `compat.v1`, which refuses assignments to references in
`switch_case`; here that is like `cond`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphvm as tf

Make = Callable[[], Any]


def in_cond(make: Make) -> Any:
    return tf.cond(tf.constant(True), make, lambda: tf.constant(0.0))


def in_switch(make: Make) -> Any:
    return tf.switch_case(tf.constant(0), [make, lambda: tf.constant(0.0)])


def in_loop(make: Make) -> Any:
    return tf.while_loop(lambda i, a: i < 1, lambda i, a: (i + 1, make()), [0, 0.0])[1]


BODIES = [in_cond, in_switch, in_loop]


def run(v: Any, *fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(v.initializer)
        return [session.run(f) for f in fetches]


def test_a_loop_squares_a_variable_through_a_read_made_outside() -> None:
    v = tf.get_variable("v", initializer=2.0, use_resource=False)

    def body(i: Any) -> Any:
        square = tf.cond(tf.constant(True), lambda: tf.assign(v, tf.square(v)), lambda: v)
        with tf.control_dependencies([square]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 4, body, [0])
    assert run(v, loop, v) == [4, 65536]


@pytest.mark.parametrize("inner", BODIES)
@pytest.mark.parametrize("outer", [lambda make: make(), *BODIES])
def test_who_is_ordered_after_an_assignment_sees_it(outer: Any, inner: Any) -> None:
    v = tf.get_variable("v", initializer=2.0, use_resource=False)

    def make() -> Any:
        with tf.control_dependencies([tf.assign(v, v * 3.0)]):
            return v * 10.0  # `v` is read outside

    assert run(v, outer(lambda: inner(make)), v) == [60, 6]


@pytest.mark.parametrize("body", BODIES)
def test_each_iteration_sees_the_last_one(body: Any) -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=False)

    def step(i: Any, a: Any) -> Any:
        return i + 1, a + body(lambda: tf.assign_add(v, v.value()) * 1.0)

    loop = tf.while_loop(lambda i, a: i < 3, step, [0, 0.0])[1]
    assert run(v, loop, v) == [2 + 4 + 8, 8]


# a number is an assignment; a pair is a body with a program in it
PROGRAMS = st.recursive(
    st.lists(st.integers(1, 3), min_size=1, max_size=2),
    lambda inner: st.lists(
        st.integers(1, 3) | st.tuples(st.sampled_from(BODIES), inner), min_size=1, max_size=3
    ),
    max_leaves=6,
)


def chained(v: Any, program: list[Any], before: Any) -> Any:
    """Each step after the one before it."""
    for step in program:
        with tf.control_dependencies([] if before is None else [before]):
            if isinstance(step, int):
                before = tf.identity(tf.assign_add(v, v * float(step) + 1.0))
            else:
                body, inner = step
                before = body(partial(chained, v, inner, None))
    return before


@settings(max_examples=15, deadline=None)
@given(PROGRAMS)
def test_references_and_resources_agree_in_bodies_where_all_is_ordered(program: Any) -> None:
    found = []
    for use_resource in (False, True):
        with tf.Graph().as_default():
            v = tf.get_variable("v", initializer=1.0, use_resource=use_resource)
            result = in_cond(partial(chained, v, program, None))
            found.append(run(v, result, v))
    assert found[0] == found[1]


def _scaled(v: Any) -> Any:
    return v * 10.0


def _read_before(v: Any) -> Any:
    read = v.value()
    with tf.control_dependencies([tf.square(read)]):
        assigned = tf.assign(v, 5.0)
    with tf.control_dependencies([assigned]):
        return [tf.square(read), read + 0.0]


def _assigned_twice(v: Any) -> Any:
    with tf.control_dependencies([tf.assign(v, v + 3.0)]):
        second = tf.assign(v, v * v)
    with tf.control_dependencies([second]):
        return v + 1.0


def _in_a_branch(v: Any) -> Any:
    return tf.cond(tf.constant(True), lambda: v * 10.0, lambda: v)


def _in_a_loop(v: Any) -> Any:
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + v), [0, 0.0])[1]


@pytest.mark.parametrize(("late", "wanted"), [
    (_scaled, 50.0), (_in_a_branch, 50.0), (_in_a_loop, 15.0), (_assigned_twice, 65.0),
    (_read_before, [25.0, 5.0]),
])  # fmt: skip
def test_a_read_made_before_shows_what_was_assigned_since(late: Any, wanted: Any) -> None:
    """Values of TensorFlow 2.21; the read that `v` stands for is made with the variable."""
    v = tf.Variable(2.0, use_resource=False)
    with tf.control_dependencies([tf.assign(v, 5.0)]):
        value = late(v)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(value) == wanted


def _constant_after(v: Any, value: float) -> Any:
    with tf.control_dependencies([tf.assign_add(v, value)]):
        return tf.constant(0.0)


def _loop_of(v: Any, step: Any) -> Any:
    def body(i: Any) -> Any:
        with tf.control_dependencies([step()]):
            return i + 1

    return tf.while_loop(lambda i: i < 4, body, [tf.constant(0)])


@pytest.mark.parametrize(("changed", "wanted"), [
    (lambda v, t: tf.cond(t, lambda: _constant_after(v, 2.0), lambda: 0.0), 3.0),
    (lambda v, t: tf.cond(t, lambda: tf.assign_add(v, 2.0) + 0.0, lambda: 0.0), 3.0),
    (lambda v, t: tf.cond(
        t, lambda: tf.cond(t, lambda: tf.assign_add(v, 2.0) + 0.0, lambda: 0.0), lambda: 0.0
    ), 3.0),
    (lambda v, t: _loop_of(v, lambda: tf.assign_add(v, 1.0)), 5.0),
    (lambda v, t: _loop_of(
        v, lambda: tf.cond(t, lambda: tf.assign_add(v, 1.0) + 0.0, lambda: 0.0)
    ), 5.0),
])  # fmt: skip
def test_a_read_after_a_body_that_assigned_sees_it(changed: Any, wanted: float) -> None:
    """Only a control dependency orders them; values of TensorFlow 2.21."""
    v = tf.Variable(1.0, use_resource=False)
    t = tf.placeholder_with_default(True, [])
    with tf.control_dependencies([changed(v, t)]):
        value = v * 1.0
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(value) == wanted
