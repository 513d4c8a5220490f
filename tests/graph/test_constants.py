"""Constants beside tensors: the short way in which they are made and read, against the long one."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm import conversion
from graphvm_runtime.errors import GraphvmError
from graphvm_runtime.ir.attrs import write_attr
from graphvm_runtime.ir.tensor_proto import encode
from graphvm_runtime.protos.graph_pb2 import GraphDef

NUMBERS = [
    0, 1, -1, True, 127, 128, -129, 255, 256, 30000, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1,
    2**63, 2**64, 0.0, -0.0, 1.5, 65504.0, 1e5, 1e39, -1e300, 16777217, 16777217.0, float("inf"),
    float("nan"), 1j, "text", b"bytes", None, [], [1, 2], [1, 2.5], [True, False], [[1, 2], [3, 4]],
    [[1], [2, 3]], (1.0, 2.0), [2**40, 1], ["a", b"b"], np.float64(2.5), np.int8(3), np.True_,
    np.array([1, 2]), np.array(["x"]), tf.Dimension(3), tf.TensorShape([2, 3]), [tf.Dimension(2)],
]  # fmt: skip
TYPES = ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "uint64",
         "bool", "complex64", "string"]  # fmt: skip
# op, inputs with a hole for the value, attributes
PLACES: list[tuple[str, Any, dict[str, Any]]] = [
    ("AddV2", lambda x, v: (x, v), {}),
    ("Mul", lambda x, v: (v, x), {}),
    ("Reshape", lambda x, v: (x, v), {}),
    ("Sum", lambda x, v: (x, v), {"keep_dims": False}),
    ("ExpandDims", lambda x, v: (x, v), {}),
    ("GatherV2", lambda x, v: (x, v, 0), {"batch_dims": 0}),
    ("Select", lambda x, v: (True, v, x), {}),
    ("Cast", lambda x, v: (v,), {"DstT": tf.float32}),
    ("ConcatV2", lambda x, v: ([x, x], v), {}),
    ("Pack", lambda x, v: ([x, v],), {"axis": 0}),
]


def told(graph: tf.Graph) -> list[Any]:
    """All that a graph says, the user's own lines left out."""
    return [
        (n.name, n.op.name, n.inputs, sorted(n.attrs.items(), key=lambda a: a[0]), n.outputs)
        if n.op.name != "Const"
        else (
            n.name,
            n.attrs["dtype"],
            n.attrs["value"].dtype,
            n.attrs["value"].tolist(),
            n.outputs,
        )
        for n in graph.ir().nodes
    ]


def made(way: Any, dtype: str, place: Any, value: Any, name: str | None) -> Any:
    op, inputs, attrs = place
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(getattr(tf, dtype), [2], name="x")
        tf.no_op(name="layer/y")
        with graph.name_scope("outer"), graph.control_dependencies([x]):
            try:
                way(op, inputs(x, value), attrs, name)
                way(op, inputs(x, value), attrs, name)
            except (GraphvmError, TypeError, ValueError) as error:
                return type(error), str(error).split("\n  made")[0]
    return repr(told(graph))


def long_way(op: str, inputs: Any, attrs: Any, name: str | None) -> Any:
    return conversion._applied(tf.Graph.add_tensor, op, inputs, attrs, name)


@pytest.mark.parametrize("place", PLACES, ids=[p[0] for p in PLACES])
@pytest.mark.parametrize("dtype", TYPES)
def test_short_and_long_way_make_the_same_nodes_and_errors(place: Any, dtype: str) -> None:
    for value in NUMBERS:
        for name in (None, "layer/add", "outer/"):
            short = made(conversion.output, dtype, place, value, name)
            assert short == made(long_way, dtype, place, value, name), (value, name)


def test_what_a_user_teaches_to_become_a_tensor_is_asked_first() -> None:
    class Twice(float):
        pass

    tf.register_tensor_conversion_function(
        Twice, lambda value, dtype, name, as_ref: tf.constant(2 * float(value), dtype, name=name)
    )
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with tf.Session() as session:
            assert session.run(x + Twice(3.0)) == 7.0
            assert session.run(tf.add(x, Twice(3.0))) == 7.0


def test_threads_that_add_constants_in_one_scope_get_names_of_their_own() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [], name="x")
    failed: list[BaseException] = []

    def build() -> None:
        try:
            with graph.as_default():
                for _ in range(300):
                    tf.add(x, 1.0)
                    tf.reshape(x, [1, 1])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    names = [o.name for o in graph.get_operations()]
    assert len(set(names)) == len(names) == 1 + 4 * 300 * 4
    assert {f"Add_{i}/y" for i in range(1, 1200)} <= set(names)


def test_types_follow_from_each_value_not_from_the_first() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3, 4])
        for shape in ([6, 4], [24], [4, -1], [6, 4], [2, 12], [-1]):
            size = [
                d if d != -1 else 24 // int(np.prod([e for e in shape if e != -1])) for d in shape
            ]
            assert tf.reshape(x, shape).shape.as_list() == size
        for axis in (0, 1, -1, [0, 1], [], 0, 2):
            want = np.zeros([2, 3, 4]).sum(tuple(axis) if isinstance(axis, list) else axis).shape
            assert tuple(tf.reduce_sum(x, axis).shape.as_list()) == want
        unknown = tf.placeholder(tf.int32, [2])
        assert tf.reshape(x, unknown).shape.as_list() == [None, None]
        assert tf.reshape(x, [6, 4]).shape.as_list() == [6, 4]
        with pytest.raises(tf.errors.ShapeError, match="24 elements"):
            tf.reshape(x, [5, 5])
        with pytest.raises(tf.errors.ShapeError, match="24 elements"):
            tf.reshape(x, [5, 5])


def test_each_constant_of_a_file_has_its_own_value_and_type() -> None:
    values: list[Any] = [
        np.float32(1), np.float32(-0.0), np.float32(np.nan), np.float32(1e-45), np.float64(1e300),
        np.int32(-5), np.int64(2**40), np.uint8(200), np.uint64(2**64 - 1), np.bool_(True),
        np.float16(0.1), np.complex64(1 + 2j), np.array([1, 2], np.int32),
        np.zeros([0, 3], np.float32), np.array(b"text", object), np.array([[b"a", b""]], object),
        np.float32(1),
    ]  # fmt: skip
    message = GraphDef()
    message.versions.producer = 2474
    for index, value in enumerate(values):
        node = message.node.add(name=f"c{index}", op="Const")
        proto = encode(value)
        node.attr["value"].tensor.CopyFrom(proto)
        node.attr["dtype"].type = proto.dtype
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(message, name="")
        with tf.Session() as session:
            for index, value in enumerate(values):
                assert graph.node(f"c{index}").outputs[0].shape == np.shape(value)
                found = session.run(f"c{index}:0")
                want = np.asarray(value)
                assert np.asarray(found, want.dtype).tobytes() == want.tobytes() or (
                    want.dtype == object and np.asarray(found, object).tolist() == want.tolist()
                )


@pytest.mark.parametrize("op", ["NoOp", "Const"])
def test_names_are_looked_at_in_every_node_of_a_file(op: str) -> None:
    message = GraphDef()
    for name in ("fine", "not fine"):
        node = message.node.add(name=name, op=op)
        if op == "Const":
            node.attr["value"].tensor.CopyFrom(encode(np.float32(1)))
            node.attr["dtype"].CopyFrom(write_attr(tf.float32))
    with tf.Graph().as_default(), pytest.raises(ValueError, match="'not fine' is no name"):
        tf.import_graph_def(message)
