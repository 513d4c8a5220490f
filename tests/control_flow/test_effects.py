"""An effect in a body that no result of it reaches does not run, in whatever form."""

from __future__ import annotations

from typing import Any

import pytest

import graphvm as tf


def branch(v: Any) -> Any:
    def taken() -> Any:
        tf.assign_add(v, 100.0)
        return tf.constant(1)

    return tf.cond(tf.placeholder_with_default(True, []), taken, lambda: tf.constant(0))


def loop(v: Any) -> Any:
    def body(i: Any) -> Any:
        tf.assign_add(v, 100.0)
        return i + 1

    return tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])


def branch_that_binds(v: Any) -> Any:
    def taken() -> Any:
        tf.assign_add(v, 100.0)
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return tf.constant(1)

    return tf.cond(tf.placeholder_with_default(True, []), taken, lambda: tf.constant(0))


def loop_that_binds(v: Any) -> Any:
    def body(i: Any) -> Any:
        tf.assign_add(v, 100.0)
        with tf.control_dependencies([tf.assign_add(v, 1.0)]):
            return i + 1

    return tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("control_flow", ["functional", "v1"])
@pytest.mark.parametrize(
    ("program", "added"),
    [(branch, 0), (loop, 0), (branch_that_binds, 1), (loop_that_binds, 3)],
)
def test_only_what_results_reach_runs(
    program: Any, added: int, control_flow: str, use_resource: bool
) -> None:
    with tf.Graph().as_default() as graph:
        v = tf.Variable(0.0, use_resource=use_resource)
        result = tf.identity(program(v), name="result")
        with tf.control_dependencies([result]):
            tf.identity(v.read_value(), name="after")
        start = tf.global_variables_initializer().name
        message = graph.as_graph_def(control_flow=control_flow)
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        with tf.Session() as sess:
            sess.run(start)
            for run in range(1, 5):
                assert sess.run(["result:0", "after:0"])[1] == run * added
