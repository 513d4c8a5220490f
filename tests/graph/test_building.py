"""Graphs are built cheaply, safely and with errors that name the user's own line."""

from __future__ import annotations

import inspect
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import (
    DTypeError,
    FinalizedError,
    GraphError,
    NameNotFoundError,
    OperatorNotAllowedInGraphError,
    ShapeError,
)


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default() as graph:
        yield graph


def line() -> str:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return f"{__file__}:{frame.f_back.f_lineno}"


def test_a_shape_error_names_the_node_its_inputs_and_the_users_line() -> None:
    x, w = tf.placeholder(tf.float32, [3], "x"), tf.placeholder(tf.float32, [4], "w")
    number = line().rpartition(":")[2]
    with pytest.raises(ShapeError) as raised:
        x * w
    text = str(raised.value).split("\n")
    assert text[0].startswith("shapes [3] and [4] do not broadcast: 3 against 4 on axis 0")
    assert text[1] == "  node  mul = Mul(x: f32[3], w: f32[4])"
    assert text[2].startswith(f"  made  {__file__}:{int(number) + 2}, in test_a_shape_error")
    assert text[3] == "  do  reshape one side, or reduce it first"


def test_a_type_error_names_the_node() -> None:
    x = tf.placeholder(tf.float32, [3], "x")
    with pytest.raises(DTypeError, match=r"(?s)int32.*node  add = AddV2\(x: f32\[3\]"):
        tf.raw_ops.AddV2(x=x, y=tf.constant([1, 2, 3]), name="add")


def test_a_node_that_failed_leaves_no_trace(graph: tf.Graph) -> None:
    x, w = tf.placeholder(tf.float32, [3]), tf.placeholder(tf.float32, [4])
    before = graph.version
    with pytest.raises(ShapeError):
        graph.add_node("Mul", (x, w), name="m")
    assert graph.version == before
    assert graph.add_node("Mul", (x, x), name="m").name == "m"


def test_every_node_knows_the_line_that_made_it() -> None:
    here, made = line(), tf.constant(1.0) + 2.0
    assert made.op.traceback.startswith(here + ", in test_every_node")
    with tf.name_scope("s"):
        here, made = line(), tf.identity(made)
    assert made.op.traceback.startswith(here)


def test_shapes_follow_from_values() -> None:
    x = tf.placeholder(tf.float32, [2, None, 6])
    shape = tf.shape(x)
    target = tf.stack([shape[0] * 2, -1, 3])
    assert tf.reshape(x, target).shape.as_list() == [4, None, 3]
    assert tf.zeros(shape[::2]).shape.as_list() == [2, 6]


def test_a_shape_that_was_set_counts_for_what_is_made_later(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32)
    early = tf.shape(x)
    assert early.shape.as_list() == [None]
    x.set_shape([2, None])
    assert x.shape.as_list() == [2, None]
    x.set_shape([None, 3])
    assert x.shape.as_list() == [2, 3]
    assert tf.matmul(x, x, transpose_b=True).shape.as_list() == [2, 2]
    assert tf.zeros(tf.shape(x)).shape.as_list() == [2, 3]
    assert graph.node("Placeholder").outputs[0].shape == (2, 3)
    with pytest.raises(ShapeError, match=r"(?s)\[2,3\].*node  Placeholder"):
        x.set_shape([4, 3])


@pytest.mark.parametrize(
    ("use", "hint"),
    [
        (lambda t: bool(t), "cond or while_loop"),
        (lambda t: 1 if t > 0 else 2, "cond or while_loop"),
        (lambda t: list(t), "while_loop"),
        (lambda t: len(t), "shape"),
        (lambda t: [1, 2][t], "operations of the graph"),
        (lambda t: float(t), "session"),
        (lambda t: np.asarray(t), "session"),
        (lambda t: np.add(t, 1), "session"),
    ],
)
def test_python_cannot_look_into_a_tensor(use: Any, hint: str) -> None:
    x = tf.placeholder(tf.float32, [], "x")
    with pytest.raises(OperatorNotAllowedInGraphError, match=hint) as raised:
        use(x)
    assert __file__ in str(raised.value)
    assert isinstance(raised.value, TypeError)


def test_tensors_are_keys_by_identity() -> None:
    x, y = tf.constant(1.0), tf.constant(1.0)
    assert x == x
    assert (x == y) is False
    assert {x: 1, y: 2}[x] == 1
    assert x in [y, x]


def test_views_of_one_node_are_one_object(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [4], "x")
    a, b = tf.unstack(tf.reshape(x, [2, 2]))
    assert graph.get_tensor_by_name("x:0") is x
    assert a.op is b.op
    assert b.op.outputs[1] is b
    assert a.op.inputs[0].op.inputs[0] is x
    file = graph.as_graph_def()
    with tf.Graph().as_default() as other:
        tf.import_graph_def(file, name="")
        assert other.get_tensor_by_name("x:0") is other.get_operation_by_name("x").outputs[0]


def test_attributes_are_given_as_tensorflow_gives_them() -> None:
    c = tf.constant([1.0, 2.0])
    op = tf.placeholder(tf.float32, [2, None]).op
    assert op.get_attr("dtype") is tf.float32
    assert [d.size for d in op.get_attr("shape").dim] == [2, -1]
    assert c.op.get_attr("value").tensor_content == np.array([1, 2], np.float32).tobytes()
    assert op.node_def.attr["dtype"].type == 1
    assert [a.name for a in op.op_def.attr] == ["dtype", "shape"]
    with pytest.raises(GraphError, match="has no attribute 'T'"):
        op.get_attr("T")


def test_a_tensor_of_another_graph_is_refused() -> None:
    x = tf.constant(1.0)
    with tf.Graph().as_default() as other, pytest.raises(GraphError, match="another graph"):
        other.add_node("Neg", (x,))


def test_a_closed_graph_takes_nothing(graph: tf.Graph) -> None:
    x = tf.constant(1.0)
    graph.finalize()
    with pytest.raises(FinalizedError, match="finalized") as raised:
        tf.negative(x)
    assert isinstance(raised.value, RuntimeError)


def test_missing_names_are_key_errors_that_pickle(graph: tf.Graph) -> None:
    with pytest.raises(NameNotFoundError) as raised:
        graph.get_tensor_by_name("nothing:0")
    assert isinstance(raised.value, KeyError)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (
        str(copy) == str(raised.value) == "'nothing:0' is not in the graph: there is no "
        "operation 'nothing'"
    )


def test_threads_build_one_graph_with_scopes_of_their_own(graph: tf.Graph) -> None:
    x = tf.constant(1.0, name="x")
    barrier = threading.Barrier(4)

    def build(which: int) -> None:
        barrier.wait()
        with graph.as_default(), graph.name_scope(f"t{which}"), graph.device(f"/cpu:{which}"):
            for _ in range(200):
                y = tf.add(x, x, name="same")
                assert y.op.name.startswith(f"t{which}/")
                assert y.device == f"/device:CPU:{which}"
        with graph.as_default():
            for _ in range(200):
                tf.identity(x, name="shared")

    threads = [threading.Thread(target=build, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    names = [o.name for o in graph.get_operations()]
    assert len(names) == len(set(names)) == 1 + 4 * 400
    assert {f"shared_{i}" for i in range(1, 800)} <= set(names)


def calls_of(build: Callable[[], Any]) -> int:
    """How many functions are called while `build` runs."""
    seen = 0

    def notice(frame: Any, event: str, arg: Any) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    sys.setprofile(notice)
    try:
        build()
    finally:
        sys.setprofile(None)
    return seen


def test_the_cost_of_a_node_does_not_grow_with_the_graph() -> None:
    """Counted in calls of functions, under every kind of block."""

    def calls(count: int) -> int:
        with tf.Graph().as_default() as g:
            x = tf.placeholder(tf.float32, [2])

            def build() -> None:
                y = x
                with g.name_scope("s"), g.control_dependencies([x]), g.device("/cpu:0"):
                    for _ in range(count):
                        y = tf.add(y, x)

            return calls_of(build)

    calls(10)
    small, large = calls(100), calls(1600)
    assert large < 16.5 * small


@pytest.mark.parametrize(
    ("step", "times"),
    [
        pytest.param(lambda x, i: tf.add(x, float(i)), 1.5, id="number"),
        pytest.param(lambda x, i: x * (1e9 + i), 2.0, id="operator"),
        pytest.param(lambda x, i: tf.add(x, np.float32(i)), 1.6, id="numpy"),
        pytest.param(lambda x, i: tf.reduce_sum(x, axis=i % 2), 1.8, id="axis"),
        pytest.param(lambda x, i: tf.reshape(x, [i + 1, -1]), 2.3, id="shape"),
        pytest.param(
            lambda x, i: [tf.constant(float(i)), tf.constant([i, i])], 1.3, id="constants"
        ),
        pytest.param(lambda x, i: tf.add(x, 1.0, name=f"layer/add{i}"), 1.5, id="named"),
    ],
)
def test_nodes_with_constants_cost_little_more_than_nodes_without(
    step: Callable[[tf.Tensor, int], Any], times: float, graph: tf.Graph
) -> None:
    x = tf.placeholder(tf.float32, [None, None])

    def calls(one: Callable[[tf.Tensor, int], Any]) -> float:
        one(x, 0)
        one(x, 1)
        before = graph.version
        found = calls_of(lambda: [one(x, i) for i in range(2, 102)])
        return found / (graph.version - before)

    assert calls(step) <= times * calls(lambda x, i: tf.identity(x))


def test_nodes_since_a_version_are_those_made_since(graph: tf.Graph) -> None:
    tf.constant(1.0)
    version = graph.version
    made = tf.constant(2.0)
    assert graph.nodes_since(version) == [made.op.node]
    assert [n.name for n in graph.as_graph_def(from_version=version).node] == [made.op.name]


def test_a_graph_prints_as_text(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2, None], "x")
    tf.negative(x, name="y")
    lines = str(graph).split("\n")
    assert lines[2].startswith("%x = Placeholder() {dtype=f32, shape=[2,?]} : f32[2,?] # ")
    assert lines[3].startswith("%y = Neg(x:0) {T=f32} : f32[2,?] # ")
    tf.constant(np.zeros(10_000, np.float32))
    assert len(str(graph)) < 2000


def test_containers_reach_stateful_nodes_only(graph: tf.Graph) -> None:
    with graph.container("box"):
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[])
        plain = tf.constant(1.0)
    assert handle.op.get_attr("container") == b"box"
    assert "container" not in plain.op.node_def.attr


def test_feeding_and_fetching_can_be_forbidden(graph: tf.Graph) -> None:
    x = tf.constant(1.0)
    assert graph.is_feedable(x)
    assert graph.is_fetchable(x)
    graph.prevent_feeding(x)
    graph.prevent_fetching(x.op)
    assert not graph.is_feedable(x)
    assert not graph.is_fetchable(x)


def test_create_op_makes_a_node_from_messages(graph: tf.Graph) -> None:
    x = tf.placeholder(tf.float32, [2])
    attrs = tf.raw_ops.ConcatV2(values=[x, x], axis=0).op.node_def.attr
    axis = tf.constant(0)
    op = graph.create_op(
        "ConcatV2",
        [x, x, x, axis],
        [tf.float32],
        attrs={
            "N": type(attrs["N"])(i=3),
            "T": attrs["T"],
        },
    )
    assert op.outputs[0].shape.as_list() == [6]
    with pytest.raises(GraphError, match="takes 4 inputs, got 3"):
        graph.create_op("ConcatV2", [x, x, axis], attrs={"N": type(attrs["N"])(i=3)})
    with pytest.raises(DTypeError, match="gives"):
        graph.create_op("Neg", [x], [tf.int32])


def test_the_default_graph_of_the_process_is_replaced_by_reset() -> None:
    def main() -> None:
        before = tf.get_default_graph()
        assert tf.get_default_graph() is before
        tf.reset_default_graph()
        seen.append(tf.get_default_graph() is before)

    seen: list[bool] = []
    thread = threading.Thread(target=main)  # a thread has no default graph of its own
    thread.start()
    thread.join()
    assert seen == [False]
    with pytest.raises(GraphError, match="inside"):
        tf.reset_default_graph()
