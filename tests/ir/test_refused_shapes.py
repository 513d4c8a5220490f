"""Shapes and names of files that are none, or that we cannot hold."""

from typing import Any

import pytest
from google.protobuf import text_format

import graphvm as tf
from graphvm_runtime.errors import GraphError, GraphvmError
from graphvm_runtime.protos.graph_pb2 import GraphDef

BIG = 2**40


def dims(*sizes: int) -> str:
    return " ".join(f"dim {{ size: {size} }}" for size in sizes)


def node(op: str, **attrs: str) -> str:
    listed = " ".join(f'attr {{ key: "{k}" value {{ {v} }} }}' for k, v in attrs.items())
    return f'node {{ name: "n" op: "{op}" {listed} }}'


def constant(shape: str) -> str:
    tensor = f"tensor {{ dtype: DT_FLOAT tensor_shape {{ {shape} }} }}"
    return node("Const", dtype="type: DT_FLOAT", value=tensor)


def placeholder(shape: str) -> str:
    return node("Placeholder", dtype="type: DT_FLOAT", shape=f"shape {{ {shape} }}")


def variable(shape: str) -> str:
    return node("VarHandleOp", dtype="type: DT_FLOAT", shape=f"shape {{ {shape} }}")


def stated(shape: str) -> str:
    shapes = f"list {{ shape {{ {shape} }} }}"
    return node("Placeholder", dtype="type: DT_FLOAT", _output_shapes=shapes)


def imported(text: str) -> Any:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(text_format.Parse(text, GraphDef()), name="")
    return graph


@pytest.mark.parametrize("make", [constant, placeholder, variable, stated])
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (dims(-2), "below -1"),
        (dims(3, -5), "below -1"),
        (dims(*[1] * 255), "at most 254 dimensions, got 255"),
        (dims(BIG, BIG, 0), "elements"),
        (dims(BIG, BIG), "elements"),
        (dims(2**62, 4), "elements"),
        (f"unknown_rank: true {dims(1)}", "unknown rank"),
    ],
)
def test_what_is_no_shape_is_refused_with_its_node(make: Any, shape: str, message: str) -> None:
    with pytest.raises(GraphError, match=message) as caught:
        imported(make(shape))
    assert caught.value.node.startswith("n = ")


def test_a_constant_has_a_whole_shape() -> None:
    with pytest.raises(GraphError, match=r"\[\?\].* not known whole") as caught:
        imported(constant(dims(-1)))
    assert caught.value.node.startswith("n = Const")


@pytest.mark.parametrize("sizes", [(0, BIG, BIG), (BIG, 0, BIG), (2**62,), (1,) * 254])
def test_a_constant_beyond_arrays_is_an_error_only_when_it_runs(sizes: tuple[int, ...]) -> None:
    graph = imported(constant(dims(*sizes)))
    assert tuple(graph.get_tensor_by_name("n:0").shape.as_list()) == sizes
    with tf.Session(graph=graph) as session, pytest.raises(GraphvmError, match="a tensor") as found:
        session.run("n:0")
    assert found.value.node.startswith("n = Const")


def test_unknown_dimensions_are_read() -> None:
    graph = imported(placeholder(dims(-1, 2, -1, BIG, BIG, BIG)))
    shape = graph.get_tensor_by_name("n:0").shape.as_list()
    assert shape == [None, 2, None, BIG, BIG, BIG]
    assert imported(placeholder("unknown_rank: true")).get_tensor_by_name("n:0").shape.rank is None


ANYTHING = 's: "\\377\\376"'


@pytest.mark.parametrize("attrs", [{"shared_name": ANYTHING}, {"container": ANYTHING}])
def test_names_of_resources_are_any_bytes(attrs: dict[str, str]) -> None:
    text = node("VarHandleOp", dtype="type: DT_FLOAT", shape=f"shape {{ {dims(1)} }}", **attrs)
    text += 'node { name: "is" op: "VarIsInitializedOp" input: "n" }'
    text += """node { name: "r" op: "ReadVariableOp" input: "n"
                      attr { key: "dtype" value { type: DT_FLOAT } } }"""
    with tf.Session(graph=imported(text)) as session:
        assert not session.run("is:0")
        with pytest.raises(tf.errors.FailedPreconditionError, match="before it was initialised"):
            session.run("r:0")
    queue = node("FIFOQueueV2", component_types="list { type: DT_FLOAT }", **attrs)
    queue += 'node { name: "size" op: "QueueSizeV2" input: "n" }'
    with tf.Session(graph=imported(queue)) as session:
        assert session.run("size:0") == 0


def test_groups_of_any_bytes_name_nothing() -> None:
    group = 'list { s: "loc:@\\377" }'
    text = node("Placeholder", dtype="type: DT_FLOAT", _class=group)
    with tf.Graph().as_default(), pytest.raises(GraphError, match="colocated with"):
        tf.import_graph_def(text_format.Parse(text, GraphDef()), name="scope")
