"""What no result and no effect of a body needs makes nothing needed outside of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graphvm as tf
from graphvm.functions import defun

Make = Callable[[], Any]

BODIES: dict[str, Callable[[Make], Any]] = {
    "cond": lambda make: tf.cond(tf.constant(True), make, lambda: tf.constant(0.0)),
    "case": lambda make: tf.case([(tf.constant(True), make)], lambda: tf.constant(0.0)),
    "switch_case": lambda make: tf.switch_case(tf.constant(0), [make, make]),
    "while_loop": lambda make: tf.while_loop(lambda a: a < 3.0, lambda a: a + make(), [0.0]),
    "map_fn": lambda make: tf.map_fn(lambda r: r * 0.0 + make(), tf.constant([1.0]))[0],
    "scan": lambda make: tf.scan(lambda a, r: a + make(), tf.constant([1.0]), 0.0)[0],
    "Defun": lambda make: tf.reshape(defun.Defun()(make)(), []),
    "nested": lambda make: BODIES["cond"](lambda: BODIES["while_loop"](make)),
    "deeper": lambda make: BODIES["nested"](lambda: BODIES["Defun"](make)),
}


def run(x: Any) -> Any:
    with tf.Session() as session:
        return session.run(x)


@pytest.mark.parametrize("body", BODIES)
def test_inputs_and_control_inputs_of_unused_nodes_are_not_needed(body: str) -> None:
    hold = tf.placeholder(tf.float32, [])
    a = tf.constant(1.0)

    def make() -> Any:
        hold * 2.0
        with tf.control_dependencies([hold]):
            tf.identity(a)
            tf.cond(hold > 0.0, lambda: hold, lambda: a)
        return a + 2.0

    assert run(BODIES[body](make)) == 3


@pytest.mark.parametrize("body", [b for b in BODIES if b not in ("Defun", "deeper")])
def test_control_inputs_of_used_nodes_are_needed(body: str) -> None:
    hold = tf.placeholder(tf.float32, [])
    a = tf.constant(1.0)

    def make() -> Any:
        with tf.control_dependencies([hold]):
            return a + 2.0

    with pytest.raises(tf.errors.InvalidArgumentError, match="not fed"):
        run(BODIES[body](make))


@pytest.mark.parametrize("body", ["cond", "while_loop", "nested"])
def test_what_waits_in_a_body_runs_after_what_it_waits_for(body: str) -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    assign = v.assign(3.0)

    def make() -> Any:
        with tf.control_dependencies([assign]):
            return v.read_value() + 0.0

    result = BODIES[body](make)
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(result) == 3


def test_effects_of_a_function_stay() -> None:
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    step = tf.placeholder_with_default(2.0, [])

    def make() -> Any:
        v.assign_add(step)
        return tf.constant(1.0)

    result = BODIES["Defun"](make)
    with tf.Session() as session:
        session.run(v.initializer)
        session.run(result)
        assert session.run(v) == 3
