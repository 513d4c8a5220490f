"""`import_graph_def` takes whole graphs or nothing, and tells what is wrong with which node."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.errors import GraphError, InvalidArgumentError, NotFoundError, ShapeError
from graphvm_runtime.protos.op_def_pb2 import OpList
from graphvm_runtime.protos.types_pb2 import DT_FLOAT, DT_INT32


@pytest.fixture
def file() -> Iterator[tf.GraphDef]:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, None], "x")
        y = tf.negative(x, name="y")
        tf.matmul(y, x, transpose_b=True, name="z")
        yield graph.as_graph_def()


def imported(file: tf.GraphDef, **given: Any) -> tf.Graph:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(file, name="", **given)
    return graph


def test_a_graph_comes_back_as_it_was_written(file: tf.GraphDef) -> None:
    assert imported(file).as_graph_def() == file


def test_shapes_are_worked_out(file: tf.GraphDef) -> None:
    assert imported(file).get_tensor_by_name("z:0").shape.as_list() == [2, 2]


def test_nodes_may_stand_in_any_order_and_are_made_in_tensorflows(file: tf.GraphDef) -> None:
    nodes = list(file.node)
    del file.node[:]
    file.node.extend(reversed(nodes))
    assert [o.name for o in imported(file).get_operations()] == ["x", "y", "z"]


def test_defaults_are_filled_and_unknown_attributes_kept(file: tf.GraphDef) -> None:
    del file.node[2].attr["transpose_a"]
    file.node[1].attr["_mine"].s = b"kept"
    file.node[1].attr["new"].i = 3
    graph = imported(file)
    assert graph.get_operation_by_name("z").get_attr("transpose_a") is False
    assert graph.get_operation_by_name("y").get_attr("_mine") == b"kept"
    assert graph.as_graph_def().node[1].attr["new"].i == 3


def test_attributes_of_a_newer_producer_are_dropped_at_their_default(file: tf.GraphDef) -> None:
    producer = OpList()
    declared = producer.op.add(name="Neg").attr.add(name="new", type="int")
    declared.default_value.i = 3
    file.node[1].attr["new"].i = 3
    graph = imported(file, producer_op_list=producer)
    assert "new" not in graph.as_graph_def().node[1].attr
    file.node[1].attr["new"].i = 4
    graph = imported(file, producer_op_list=producer)
    assert graph.as_graph_def().node[1].attr["new"].i == 4


def test_messages_of_another_library_are_taken(file: tf.GraphDef) -> None:
    message = type(file).FromString(file.SerializeToString())
    assert imported(message).version == 3
    with pytest.raises(TypeError, match="GraphDef"):
        imported(b"bytes")  # type: ignore[arg-type]  # it is what is refused


def change(edit: Callable[[tf.GraphDef], Any]) -> Callable[[tf.GraphDef], Any]:
    return edit


FAULTS: list[tuple[str, Callable[[tf.GraphDef], Any], type[Exception], str]] = [
    ("unknown op", lambda f: setattr(f.node[1], "op", "Nope"), NotFoundError, "'Nope'"),
    ("missing input", lambda f: f.node[1].input.__setitem__(0, "q"), GraphError, "takes 'q'"),
    ("missing control", lambda f: f.node[1].input.append("^q"), GraphError, "after 'q'"),
    ("bad output", lambda f: f.node[1].input.__setitem__(0, "x:1"), GraphError, "has 1 outputs"),
    ("no name", lambda f: f.node[1].input.__setitem__(0, "x:y"), GraphError, "named node or"),
    ("self", lambda f: f.node[1].input.__setitem__(0, "y"), GraphError, "circle"),
    ("circle", lambda f: f.node[1].input.__setitem__(0, "z"), GraphError, "circle.*y, z"),
    ("twice", lambda f: setattr(f.node[1], "name", "x"), GraphError, "'x' is not unique"),
    ("bad name", lambda f: setattr(f.node[2], "name", "a b"), GraphError, "'a b' is no name"),
    ("no T", lambda f: f.node[1].attr.pop("T"), GraphError, "needs the attribute 'T'"),
    ("bad T", lambda f: setattr(f.node[1].attr["T"], "type", 7), GraphError, "T = string"),
    ("other T", lambda f: setattr(f.node[1].attr["T"], "type", 2), GraphError, "takes float64"),
    ("kind", lambda f: setattr(f.node[1].attr["T"], "i", 1), GraphError, "is a int, a type"),
    ("few", lambda f: f.node[2].input.pop(), GraphError, "takes 2 inputs, got 1"),
    ("many", lambda f: f.node[1].input.append("x"), GraphError, "takes 1 inputs, got 2"),
    ("order", lambda f: f.node[1].input.insert(0, "^x"), GraphError, "come after"),
    (
        "shape",
        lambda f: f.node[2].attr["transpose_b"].__setattr__("b", False),
        ShapeError,
        "inner",
    ),
    ("version", lambda f: setattr(f.versions, "min_consumer", 9999), GraphError, "9999"),
    ("bad consumer", lambda f: f.versions.bad_consumers.append(2474), GraphError, "2474"),
    ("internal", lambda f: setattr(f.node[1], "op", "_Arg"), NotFoundError, "_Arg"),
]


@pytest.mark.parametrize(
    ("edit", "kind", "text"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS]
)
def test_what_is_wrong_is_told_and_nothing_is_taken(
    file: tf.GraphDef, edit: Callable[[tf.GraphDef], Any], kind: type[Exception], text: str
) -> None:
    if text == "inner":  # shapes that can only fit one way
        file.node[0].attr["shape"].shape.dim[1].size = 3
    edit(file)
    with tf.Graph().as_default() as graph:
        with pytest.raises(kind, match=text) as raised:
            tf.import_graph_def(file, name="")
        assert graph.version == 0
        assert not graph.library
    if "version" not in str(raised.value):
        assert "  node  " in str(raised.value)


def test_a_constant_that_is_none_fails_only_when_it_runs(file: tf.GraphDef) -> None:
    bad = file.node.add(name="bad", op="Const")
    bad.attr["dtype"].type = DT_FLOAT
    bad.attr["value"].tensor.dtype = DT_FLOAT
    bad.attr["value"].tensor.tensor_shape.dim.add(size=3)
    bad.attr["value"].tensor.tensor_content = b"12345"
    other = file.node.add(name="other", op="Const")
    other.attr["dtype"].type = DT_FLOAT
    other.attr["value"].tensor.dtype = DT_INT32
    other.attr["value"].tensor.tensor_shape.SetInParent()
    graph = imported(file)
    assert graph.get_tensor_by_name("bad:0").shape.as_list() == [3]
    assert graph.as_graph_def().node[3] == bad
    with tf.Session(graph=graph) as session:
        for name, text in (("bad:0", "5 bytes, not 12"), ("other:0", "float32.*int32")):
            with pytest.raises(InvalidArgumentError, match=text):
                session.run(name)
        assert session.run("z:0", {"x:0": np.ones((2, 1), np.float32)}).shape == (2, 2)


def test_stated_shapes_refine_and_disagreement_is_a_warning(file: tf.GraphDef) -> None:
    stated = file.node[0].attr["_output_shapes"].list.shape.add()
    stated.dim.add(size=2)
    stated.dim.add(size=5)
    assert imported(file).get_tensor_by_name("y:0").shape.as_list() == [2, 5]
    stated.dim[0].size = 7
    with pytest.warns(UserWarning, match=r"states the shape \[7,5\] for x:0") as caught:
        graph = imported(file)
    assert caught[0].filename == __file__
    assert graph.get_tensor_by_name("x:0").shape.as_list() == [2, None]


def test_what_is_wrong_with_a_file_is_told_with_the_users_line(file: tf.GraphDef) -> None:
    file.node[1].input[0] = "nothing"
    with pytest.raises(ValueError, match="'nothing', which is not in the graph") as raised:
        imported(file)
    assert isinstance(raised.value, GraphError)
    assert __file__ in raised.value.made


def test_a_device_that_is_none_is_a_warning(file: tf.GraphDef) -> None:
    file.node[0].device = "what?"
    with pytest.warns(UserWarning, match="device of 'x' is ignored"):
        assert imported(file).get_operation_by_name("x").device == ""


def test_scalar_placeholders_of_old_producers_have_an_unknown_shape(file: tf.GraphDef) -> None:
    del file.node[1:]
    file.node[0].attr["shape"].shape.Clear()
    file.node[0].attr["shape"].shape.SetInParent()
    assert imported(file).get_tensor_by_name("x:0").shape.as_list() == []
    file.versions.producer = 23
    assert imported(file).get_tensor_by_name("x:0").shape.dims is None


def test_colocation_moves_with_the_names(file: tf.GraphDef) -> None:
    file.node[1].attr["_class"].list.s.append(b"loc:@x")
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(file, name="in")
    assert graph.get_operation_by_name("in/y").colocation_groups() == [b"loc:@in/x"]


def test_the_files_functions_come_along_once(file: tf.GraphDef) -> None:
    function = file.library.function.add()
    function.signature.name = "f"
    function.signature.input_arg.add(name="a", type=1)
    function.signature.output_arg.add(name="r", type=1)
    function.node_def.add(name="n", op="Neg", input=["a"]).attr["T"].type = DT_FLOAT
    function.ret["r"] = "n:y:0"
    call = file.node.add(name="call", op="PartitionedCall", input=["x"])
    call.attr["Tin"].list.type.append(DT_FLOAT)
    call.attr["Tout"].list.type.append(DT_FLOAT)
    call.attr["f"].func.name = "f"
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(file, name="")
        tf.import_graph_def(file, name="again")
        assert list(graph.library) == ["f"]
        function.node_def[0].op = "Abs"
        with pytest.raises(GraphError, match="another function 'f'"):
            tf.import_graph_def(file, name="other")
        assert graph.version == 8


def test_loops_of_version_1_come_in(file: tf.GraphDef) -> None:
    del file.node[:]
    for name, op, inputs, attrs in (
        ("merge", "Merge", ["enter", "next"], {"N": 2}),
        ("zero", "Const", [], {}),
        ("enter", "Enter", ["zero"], {"frame_name": b"loop"}),
        ("ten", "Const", ["^merge"], {}),
        ("less", "Less", ["merge", "ten"], {}),
        ("cond", "LoopCond", ["less"], None),
        ("switch", "Switch", ["merge", "cond"], {}),
        ("exit", "Exit", ["switch"], {}),
        ("one", "Const", ["^switch"], {}),
        ("add", "AddV2", ["switch:1", "one"], {}),
        ("next", "NextIteration", ["add"], {}),
    ):
        node = file.node.add(name=name, op=op, input=inputs)
        if op == "Const":
            node.attr["dtype"].type = DT_INT32
            node.attr["value"].tensor.dtype = DT_INT32
            node.attr["value"].tensor.tensor_shape.SetInParent()
            node.attr["value"].tensor.int_val.append({"zero": 0, "one": 1, "ten": 10}[name])
        elif attrs is not None:
            node.attr["T"].type = DT_INT32
            for key, value in attrs.items():
                setattr(node.attr[key], "i" if key == "N" else "s", value)
    graph = imported(file)
    with tf.Session(graph=graph) as session:
        assert session.run("exit:0") == 10


def test_the_garbage_collector_works_on_after_an_import(file: tf.GraphDef) -> None:
    assert gc.isenabled()
    imported(file)
    assert gc.isenabled()
    file.node[1].op = "Nope"
    with pytest.raises(NotFoundError):
        imported(file)
    assert gc.isenabled()


def two_nodes() -> Any:
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [], name="A")
        b = tf.multiply(a, a, name="B")
        with graph.colocate_with(a):
            tf.negative(b, name="C")
    return graph.as_graph_def()


def test_names_may_be_bytes() -> None:
    with tf.Graph().as_default():
        x = tf.constant(3.0, name="x")
        found: Any = tf.import_graph_def(
            two_nodes(), input_map={b"A:0": x}, return_elements=[b"B", b"C:0"], name=""
        )
        b, c = found
        assert [t.name for t in b.inputs] == ["x:0", "x:0"]
        with tf.Session() as session:
            assert session.run(c) == -9.0


@pytest.mark.parametrize("prefix", ["", "p", None])
def test_what_is_imported_again_gets_names_and_edges_of_its_own(prefix: str | None) -> None:
    """TensorFlow makes names unique node by node without a prefix, and the prefix with one."""
    with tf.Graph().as_default() as graph:
        for _ in range(3):
            tf.import_graph_def(two_nodes(), name=prefix)
        wanted = {"": ["A", "A_1", "A_2"], "p": ["p/A", "p_1/A", "p_2/A"]}
        firsts = wanted.get(prefix or "", []) if prefix is not None else [
            "import/A", "import_1/A", "import_2/A"
        ]  # fmt: skip
        products = [op for op in graph.get_operations() if op.type == "Mul"]
        assert [op.inputs[0].op.name for op in products] == firsts


def test_device_functions_see_the_inputs_of_what_is_imported() -> None:
    """Values of TensorFlow 2.21: what is colocated goes where the other node is."""
    with tf.Graph().as_default() as graph:
        with tf.device(lambda op: f"/cpu:{len(op.inputs)}"):
            tf.import_graph_def(two_nodes(), name="")
        devices = {op.name: op.device for op in graph.get_operations()}
    assert devices == {"A": "/device:CPU:0", "B": "/device:CPU:2", "C": "/device:CPU:0"}


def test_a_node_colocated_with_none_is_refused() -> None:
    message = two_nodes()
    message.node[1].attr["_class"].list.s.append(b"loc:@gone")
    with tf.Graph().as_default() as graph:
        with pytest.raises(ValueError, match=r"'import/B' is colocated with 'import/gone'"):
            tf.import_graph_def(message)
        assert graph.get_operations() == []
