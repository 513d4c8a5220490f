"""Files hold what TensorFlow expects, and nothing of our own."""

from __future__ import annotations

import numpy as np
import pytest

import graphvm as tf
from graphvm.functions.function import FuncGraph
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Graph
from graphvm_runtime.ir.graphdef.write import write_graph, write_op_def
from graphvm_runtime.ops.registry import lookup
from graphvm_runtime.ops.signature import FuncRef
from graphvm_runtime.protos.types_pb2 import DT_FLOAT, DT_RESOURCE


def test_inputs_are_written_short_and_control_inputs_last() -> None:
    with tf.Graph().as_default() as graph:
        a, b = tf.unstack(tf.constant([1.0, 2.0]), name="u")
        with tf.control_dependencies([tf.no_op("first")]), tf.device("/cpu:1"):
            tf.add(a, b, name="sum")
    node = graph.as_graph_def().node[-1]
    assert list(node.input) == ["u", "u:1", "^first"]
    assert node.device == "/device:CPU:1"


def test_all_attributes_are_written_and_ours_are_not() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 2])
        attrs = {"_family": b"loop", "_order": 1, "_class": (b"loc:@Placeholder",)}
        graph.add_node("MatMul", (x, x), attrs)
    written = graph.as_graph_def().node[-1].attr
    declared = {"T", "transpose_a", "transpose_b", "grad_a", "grad_b"}
    assert set(written) == declared | {"_class"}
    assert list(written["_class"].list.s) == [b"loc:@Placeholder"]
    inside = write_graph(graph.ir(), internal=True).node[-1].attr
    assert set(inside) == set(written) | {"_family", "_order"}


def test_shapes_are_written_when_asked_for() -> None:
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [2, None])
        tf.placeholder(tf.float32)
    nodes = graph.as_graph_def(add_shapes=True).node
    assert [d.size for d in nodes[0].attr["_output_shapes"].list.shape[0].dim] == [2, -1]
    assert nodes[1].attr["_output_shapes"].list.shape[0].unknown_rank
    assert "_output_shapes" not in graph.as_graph_def().node[0].attr


def test_functions_are_written_as_tensorflow_writes_them() -> None:
    with tf.Graph().as_default() as graph:
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], name="v")
        body = FuncGraph("f")
        with body.as_default():
            p = body.add_arg(tf.float32, [2], "p")
            off, on = tf.unstack(p, name="parts")
            assigned = tf.raw_ops.AssignVariableOp(resource=handle, value=p, name="assign")
            with tf.control_dependencies([assigned]):
                total = tf.add(off, on, name="total")
        function = body.finish([total, p], control=[assigned])
        attrs = {"f": FuncRef(function.name), "Tout": (tf.float32, tf.float32)}
        x = tf.constant([1.0, 2.0])
        graph.add_node("StatefulPartitionedCall", ([x, handle],), attrs, "call")
    (made,) = graph.as_graph_def().library.function
    assert [(a.name, a.type) for a in made.signature.input_arg] == [
        ("p", DT_FLOAT), ("v", DT_RESOURCE),
    ]  # fmt: skip
    held = made.signature.input_arg[1].handle_data[0]
    assert (held.dtype, held.shape.dim[0].size) == (DT_FLOAT, 2)
    assert made.signature.is_stateful
    assert list(made.signature.control_output) == ["assign"]
    assert dict(made.control_ret) == {"assign": "assign"}
    assert dict(made.ret) == {"total": "total:z:0", "p": "p"}
    nodes = {n.name: list(n.input) for n in made.node_def}
    assert nodes["total"] == ["parts:output:0", "parts:output:1", "^assign"]
    assert nodes["assign"] == ["v", "p"]
    assert "p" not in nodes
    (call,) = (n for n in graph.as_graph_def().node if n.name == "call")
    assert call.attr["f"].func.name == "f"


def test_versions_are_written() -> None:
    assert tf.Graph().as_graph_def().versions.producer == 2474
    message = write_graph(Graph((), {}, 21, 5))
    assert (message.versions.producer, message.versions.min_consumer) == (21, 5)


def test_what_files_cannot_hold_is_told() -> None:
    with tf.Graph().as_default() as graph:
        graph.add_node("_Arg", (), {"T": tf.float32, "index": 0}, "a")
    with pytest.raises(GraphError, match=r"_Arg is GraphVM's own(?s:.*)node  a = _Arg"):
        graph.as_graph_def()


def test_derivatives_are_written_with_tensorflows_ops_only() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], "x")
        y = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * v), [0, x])[1]
        z = tf.cond(x > 0.0, lambda: tf.sin(y), lambda: tf.exp(y))
        (gradient,) = tf.gradients(z, x)
        assert gradient is not None
    file = graph.as_graph_def()
    functions = [f.node_def for f in file.library.function]
    ops = {n.op for nodes in (file.node, *functions) for n in nodes}
    assert not [op for op in ops if op.startswith("_")]
    names = {a for nodes in (file.node, *functions) for n in nodes for a in n.attr}
    assert not names & {"_family", "_order", "_counter", "_trips", "_handle_type"}
    values = []
    with tf.Session(graph=graph) as session:
        values.append(session.run(gradient, {"x:0": 0.7}))
    with tf.Graph().as_default() as again:
        tf.import_graph_def(file, name="")
        with tf.Session(graph=again) as session:
            values.append(session.run(gradient.name, {"x:0": 0.7}))
    assert np.allclose(values[0], values[1], rtol=1e-6, atol=0)


def test_control_flow_is_written_in_the_form_asked_for() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], "x")
        tf.cond(x > 0.0, lambda: x + 1.0, lambda: x - 1.0, name="c")
    assert "StatelessIf" in {n.op for n in graph.as_graph_def().node}
    file = graph.as_graph_def(control_flow="v1")
    assert {"Switch", "Merge"} <= {n.op for n in file.node}
    assert not {"If", "StatelessIf"} & {n.op for n in file.node}
    with pytest.raises(GraphError, match="functional or v1"):
        graph.as_graph_def(control_flow="v3")


def test_declarations_are_written_as_messages() -> None:
    made = write_op_def(lookup("ConcatV2"))
    assert [(a.name, a.type_attr, a.number_attr) for a in made.input_arg] == [
        ("values", "T", "N"), ("axis", "Tidx", ""),
    ]  # fmt: skip
    declared = {a.name: a for a in made.attr}
    assert (declared["N"].has_minimum, declared["N"].minimum) == (True, 2)
    assert declared["Tidx"].default_value.type == 3
    assert list(declared["Tidx"].allowed_values.list.type) == [3, 9]
    assert write_op_def(lookup("VarHandleOp")).is_stateful
