"""Graphs are cut down and frozen; frozen ones run alone, and give the same."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf

KINDS = pytest.mark.parametrize("resource", [True, False], ids=["resource", "reference"])


def alone(message: tf.GraphDef, fetch: str, feeds: Any) -> Any:
    with tf.Graph().as_default():
        tf.import_graph_def(message, name="")
        with tf.Session() as session:
            return session.run(fetch, feeds)


def ops(message: tf.GraphDef) -> set[str]:
    bodies = [n for f in message.library.function for n in f.node_def]
    return {node.op for node in [*message.node, *bodies]}


@KINDS
def test_a_frozen_graph_needs_no_variable(resource: bool) -> None:
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.Variable([[1.0], [2.0]], use_resource=resource)
    tf.matmul(x, w, name="y")
    unused = tf.Variable(1.0, use_resource=resource)
    with tf.Session() as session:
        session.run(w.initializer)
        session.run(w.assign([[3.0], [4.0]]))
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
    assert not ops(frozen) & {"VarHandleOp", "VariableV2", "ReadVariableOp", "Assign"}
    assert unused.op.name not in [node.name for node in frozen.node]
    np.testing.assert_array_equal(alone(frozen, "y:0", {"x:0": [[1, 1]]}), [[7]])


@KINDS
def test_variables_in_bodies_are_frozen_too(resource: bool) -> None:
    v = tf.Variable([1.0, 2.0], use_resource=resource)
    x = tf.placeholder(tf.float32, [2], name="x")
    _, y = tf.while_loop(
        lambda i, a: tf.reduce_sum(v.read_value()) * tf.to_float(i) < 9.0,
        lambda i, a: (i + 1, a + tf.cond(i > 1, lambda: v.read_value() * 2.0, lambda: v + 0.0)),
        (0, x),
    )
    tf.identity(y, name="y")
    feeds = {"x:0": [1.0, 1.0]}
    with tf.Session() as session:
        session.run(v.initializer)
        expected = session.run("y:0", feeds)
        frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
    assert not ops(frozen) & {"VarHandleOp", "VariableV2", "ReadVariableOp"}
    np.testing.assert_array_equal(alone(frozen, "y:0", feeds), expected)


def test_variables_are_chosen_by_name() -> None:
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
    tf.add(a, b, name="y")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        convert = tf.graph_util.convert_variables_to_constants
        only_a = convert(session, session.graph_def, ["y"], variable_names_whitelist=["a"])
        not_a = convert(session, session.graph_def, ["y"], variable_names_blacklist=["a"])
    assert [n.name for n in only_a.node if n.op == "VarHandleOp"] == ["b"]
    assert [n.name for n in not_a.node if n.op == "VarHandleOp"] == ["a"]


@KINDS
def test_a_variable_that_is_written_cannot_be_frozen(resource: bool) -> None:
    v = tf.Variable(1.0, use_resource=resource)
    tf.identity(v.assign_add(1.0), name="y")
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(ValueError, match="writes to a variable"):
            tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])


def test_a_sub_graph_has_what_it_needs() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.add(x, 1.0, name="y")
    with tf.control_dependencies([tf.constant(1.0, name="before")]):
        tf.negative(y, name="z")
    tf.constant(1.0, name="unused")
    message = tf.get_default_graph().as_graph_def()
    part = tf.graph_util.extract_sub_graph(message, ["z"])
    assert {node.name for node in part.node} == {"x", "y/y", "y", "before", "z"}
    with pytest.raises(ValueError, match="no node 'nothing'"):
        tf.graph_util.extract_sub_graph(message, ["nothing"])
    with pytest.raises(TypeError, match="list of names"):
        tf.graph_util.extract_sub_graph(message, "z")


def test_identities_are_taken_out_where_they_do_nothing() -> None:
    x = tf.placeholder(tf.float32, [], name="x")
    passed = tf.identity(tf.identity(x, name="one"), name="two")
    with tf.control_dependencies([tf.identity(x, name="ordering")]):
        tf.add(passed, passed, name="y")
    tf.identity(x, name="kept")
    message = tf.get_default_graph().as_graph_def()
    small = tf.graph_util.remove_training_nodes(message, protected_nodes=["kept"])
    assert [node.name for node in small.node] == ["x", "ordering", "y", "kept"]
    assert alone(small, "y:0", {"x:0": 2.0}) == alone(message, "y:0", {"x:0": 2.0}) == 4


@pytest.mark.parametrize("change", [tf.assign, tf.assign_add, tf.assign_sub])
def test_identities_that_read_a_reference_stay(change: Any) -> None:
    variable = tf.Variable(1.0, use_resource=False)
    tf.identity(change(variable, 2.0), name="read")
    message = tf.get_default_graph().as_graph_def()
    small = tf.graph_util.remove_training_nodes(message)
    assert "read" in [node.name for node in small.node]
