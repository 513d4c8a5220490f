"""Bodies of functions take tensors from around as parameters, at any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm.functions.function import FuncGraph, body_of
from graphvm_runtime.errors import FinalizedError, GraphError
from graphvm_runtime.ir.verify import verify
from graphvm_runtime.ops.signature import FuncRef
from graphvm_runtime.protos.types_pb2 import DT_FLOAT


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as graph:
        yield graph


def test_a_tensor_from_around_becomes_a_parameter(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2, None], "x")
    body = FuncGraph("body")
    with body.as_default():
        inner = tf.negative(x) + x
    function = body.finish([inner])
    assert [outer for outer, _ in body.captures] == [x]
    assert repr(function) == "<Function body(x: f32[2,?]) -> (f32[2,?])>"
    assert graph.library == {"body": function}
    verify(graph.ir())


def test_captures_reach_through_any_depth(graph: tf.Graph) -> None:
    x, y = tf.constant(1.0, name="x"), tf.constant([2.0, 3.0], name="y")
    one = FuncGraph("one")
    with one.as_default():
        mine = tf.negative(x, name="mine")
        two = FuncGraph("two")
        with two.as_default():
            three = FuncGraph("three")
            with three.as_default():
                deep = tf.add(mine, y)
            three.finish([deep])
            assert [t.graph for t, _ in three.captures] == [two, two]
        two.finish([])
        assert [t.name for t, _ in two.captures] == ["mine:0", "y:0"]
    one.finish([])
    assert [t for t, _ in one.captures] == [x, y]
    assert list(graph.library) == ["three", "two", "one"]
    assert deep.shape.as_list() == [2]
    verify(graph.ir())


def test_a_result_from_around_is_captured_and_names_stay_unique() -> None:
    x = tf.constant(1.0, name="a/x")
    body = FuncGraph("body")
    with body.as_default():
        param = body.add_arg(tf.float32, [], "x")
    function = body.finish([x, param, x])
    assert [e.node for e in function.params] == ["x", "x_1"]
    assert [e.node for e in function.results] == ["x_1", "x", "x_1"]
    assert function.result_names == ("x_1", "x", "x_1_1")


def test_parameters_declared_late_come_before_captures(graph: tf.Graph) -> None:
    x = tf.constant(1.0, name="x")
    body = FuncGraph("body")
    with body.as_default():
        y = tf.negative(x)
        body.add_arg(tf.int32, [3], "late")
    function = body.finish([y])
    assert [e.node for e in function.params] == ["late", "x"]
    assert [n.attrs["index"] for n in function.body.nodes if n.op.name == "_Arg"] == [0, 1]
    verify(graph.ir())


def test_shapes_inside_follow_from_constants_around() -> None:
    shape = tf.constant([2, 3])
    body = FuncGraph("body")
    with body.as_default():
        inner = FuncGraph("inner")
        with inner.as_default():
            assert tf.zeros(shape).shape.as_list() == [2, 3]
            assert tf.zeros(shape * 2).shape.as_list() == [4, 6]


def test_handles_know_what_they_hold_inside() -> None:
    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2, 3])
    body = FuncGraph("body")
    with body.as_default():
        read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
    assert read.shape.as_list() == [2, 3]


def test_control_edges_from_around_are_told_by_a_node_of_the_body(graph: tf.Graph) -> None:
    before = tf.no_op("before")
    with tf.control_dependencies([before]):
        body = FuncGraph("body")
        with body.as_default():
            free = tf.constant(1.0)
            with tf.control_dependencies([before, free]):
                bound = tf.identity(free), tf.constant(2.0)
            nested = FuncGraph("nested")
            with nested.as_default(), tf.control_dependencies([before]):
                three = tf.constant(3.0)
    assert free.op.control_inputs == []
    assert [o.name for o in bound[1].op.control_inputs] == ["after_before", "Const"]
    assert [o.type for o in three.op.control_inputs] == ["NoOp"]
    assert body.control_captures == [before]
    assert nested.control_captures == [before]
    finished = body.finish([bound[1]])
    assert finished.body.by_name[bound[1].op.name].after == ("Const",)


def test_devices_and_colocation_are_inherited_names_are_not() -> None:
    x = tf.constant(1.0)
    with tf.device("/job:a"), tf.name_scope("scope"):
        body = FuncGraph("body")
        with body.as_default():
            y = tf.negative(x, name="y")
            with tf.device("/task:1"):
                z = tf.negative(y)
    assert (y.op.name, y.device) == ("y", "/job:a")
    assert z.device == "/job:a/task:1"


def test_collections_seed_and_library_are_the_outermost_graphs(graph: tf.Graph) -> None:
    graph.seed = 7
    outer = FuncGraph("outer")
    with outer.as_default():
        inner = FuncGraph("inner")
        with inner.as_default():
            tf.add_to_collection("k", 1)
            assert inner.seed == 7
            assert [
                graph.functions.next_seed(),
                inner.functions.next_seed(),
                outer.functions.next_seed(),
            ] == [0, 1, 2]
            with tf.init_scope():
                assert tf.get_default_graph() is graph
    assert graph.get_collection("k") == [1]
    assert inner.outermost is graph
    assert graph.outermost is graph
    assert (inner.building_function, graph.building_function) == (True, False)


def test_names_of_functions_are_unique_in_the_library(graph: tf.Graph) -> None:
    for _ in range(3):
        FuncGraph("f").finish([])
    assert list(graph.library) == ["f", "f_1", "f_2"]


def test_a_finished_body_takes_nothing_more() -> None:
    x = tf.constant(1.0)
    body = FuncGraph("body")
    body.finish([])
    with body.as_default(), pytest.raises(FinalizedError, match="finalized"):
        tf.negative(x)


def test_a_tensor_from_no_graph_around_is_refused() -> None:
    with tf.Graph().as_default():
        stranger = tf.constant(1.0)
    body = FuncGraph("body")
    with body.as_default(), pytest.raises(GraphError, match="another graph"):
        body.capture(stranger)


def test_bodies_can_be_looked_into_by_name(graph: tf.Graph) -> None:
    x = tf.constant([1.0, 2.0])
    body = FuncGraph("body")
    with body.as_default():
        y = tf.negative(x, name="y")
    body.finish([y])
    assert body_of(graph, "body") is body
    file = graph.as_graph_def()
    call = file.node.add(name="call", op="PartitionedCall")
    call.attr["f"].func.name = "body"
    call.attr["Tin"].list.type.append(DT_FLOAT)
    call.attr["Tout"].list.type.append(DT_FLOAT)
    call.input.append("Const")
    with tf.Graph().as_default() as other:
        tf.import_graph_def(file, name="")
        seen = body_of(other, "body")
        assert seen is body_of(other, "body")
        assert [o.type for o in seen.get_operations()] == ["_Arg", "Neg"]
        assert seen.inputs[0].shape.as_list() == [2]
    with pytest.raises(GraphError, match="no function 'nothing'"):
        body_of(graph, "nothing")


def test_a_body_alone_is_written_with_placeholders() -> None:
    x = tf.constant([1.0, 2.0], name="x")
    body = FuncGraph("body")
    with body.as_default():
        tf.negative(x, name="y")
    assert [(n.name, n.op) for n in body.as_graph_def().node] == [
        ("x", "Placeholder"),
        ("y", "Neg"),
    ]


def test_a_function_is_called_from_the_graph(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2], "x")
    body = FuncGraph("twice")
    with body.as_default():
        param = body.add_arg(tf.float32, [2], "p")
        y = param * 2.0
    function = body.finish([y])
    call = graph.add_node(
        "PartitionedCall",
        [[x]],
        {"f": FuncRef(function.name), "Tout": (tf.float32,)},
    )
    with tf.Session(graph=graph) as session:
        assert np.array_equal(session.run(call.outputs[0], {x: [1.0, 2.0]}), [2.0, 4.0])


def test_a_value_of_a_body_is_none_outside() -> None:
    held: list[Any] = []

    def body(i: Any) -> Any:
        held.append(i * 2)
        return i + 1

    with tf.Graph().as_default():
        x = tf.constant(1)
        tf.while_loop(lambda i: i < 3, body, [0])
        sess = tf.Session()
        uses: list[Callable[[], Any]] = [
            lambda: held[0] + 1, lambda: x + held[0], lambda: sess.run(held[0])
        ]  # fmt: skip
        for use in uses:
            with pytest.raises(GraphError, match=r"made inside 'while_body'") as caught:
                use()
            assert "give it back" in str(caught.value)
            assert "test_function.py" in str(caught.value)
