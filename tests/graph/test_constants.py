"""Constants beside tensors: the short way in which they are made and read, against the long one."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm.graph import conversion
from graphvm.graph.scope_stack import UniqueNames
from graphvm_runtime.errors import GraphvmError
from graphvm_runtime.ir.graphdef.attrs import write_attr
from graphvm_runtime.ir.graphdef.tensor_proto import encode
from graphvm_runtime.protos.graph_pb2 import GraphDef

VALUES = [
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


def told(graph: tf.Graph) -> str:
    """All that a graph says, the user's own lines left out."""
    return repr(
        [
            (
                n.name, n.op.name, n.inputs, n.after, n.outputs, str(n.device),
                [
                    (k, (v.dtype, v.tolist()) if isinstance(v, np.ndarray) else (type(v), v))
                    for k, v in sorted(n.attrs.items())
                ],
            )
            for n in graph.ir().nodes
        ]
    )  # fmt: skip


def told_of(way: Any, dtype: str, place: Any, value: Any, name: str | None) -> Any:
    """What the graph says after two nodes of a place, or the error; with the names that were seen.

    A function of the user's is asked for the device, as it sees the names.
    """
    op, inputs, attrs = place
    seen: list[str] = []

    def device(node: Any) -> str:
        seen.append(node.name)
        return "/cpu:1" if node.name.endswith("y") else ""

    with tf.Graph().as_default() as graph:
        x = tf.placeholder(getattr(tf, dtype), [2], name="x")
        tf.no_op(name="layer/y")
        blocks = (
            graph.name_scope("outer"), graph.control_dependencies([x]), graph.device(device),
            graph.colocate_with(x.op), graph.device(device), graph.container("box"),
        )  # fmt: skip
        with contextlib.ExitStack() as stack:
            for block in blocks:
                stack.enter_context(block)
            try:
                way(op, inputs(x, value), attrs, name)
                way(op, inputs(x, value), attrs, name)
            except (GraphvmError, TypeError, ValueError) as error:
                return type(error), str(error).split("\n  made")[0], seen
    return told(graph), seen


def the_long_way(op: str, inputs: Any, attrs: Any, name: str | None) -> Any:
    return conversion._applied(op, inputs, attrs, name).outputs[0]


@pytest.mark.parametrize("place", PLACES, ids=[p[0] for p in PLACES])
@pytest.mark.parametrize("dtype", TYPES)
def test_short_and_long_way_make_the_same_nodes_and_errors(place: Any, dtype: str) -> None:
    for value in VALUES:
        for name in (None, "layer/add") if isinstance(value, int) else (None,):
            short = told_of(conversion.output, dtype, place, value, name)
            assert short == told_of(the_long_way, dtype, place, value, name), (value, name)


class Twice(float):
    pass


class Pair(list[float]):
    pass


@pytest.mark.parametrize(
    ("kind", "value", "want"),
    [
        (Twice, Twice(3.0), 7.0),
        (Pair, Pair([3.0]), [7.0]),
        (list, [3.0], [7.0]),
        (float, 3.0, 7.0),
        (np.ndarray, np.array(3.0, np.float32), 7.0),
        (np.generic, np.float32(3.0), 7.0),
    ],
)
@pytest.mark.parametrize("used_before", [True, False])
def test_what_a_user_teaches_to_become_a_tensor_is_asked_first(
    kind: type, value: Any, want: Any, used_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # loaded before: what they register must outlive this test
    assert all((tf.IndexedSlices, tf.Variable, tf.TensorArray, tf.data.Dataset))
    monkeypatch.setattr(conversion, "_CONVERSIONS", list(conversion._CONVERSIONS))
    monkeypatch.setattr(conversion, "_BY_TYPE", {})

    def twice(value: Any, dtype: Any, name: str | None, as_ref: bool) -> Any:
        array = np.asarray([2 * x for x in value] if isinstance(value, list) else 2 * value)
        return conversion.constant_node(array.astype(np.float32), tf.float32, name)

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(1.0)
        if used_before:
            assert np.all(session.run(tf.add(x, value)) == np.add(1.0, value))
        tf.register_tensor_conversion_function(kind, twice)
        assert session.run(tf.add(x, value)).tolist() == want


def test_names_are_taken_by_one_thread_at_a_time() -> None:
    graph = tf.Graph()
    taken: list[str] = []

    class Watched(UniqueNames):
        def take(self, name: str) -> str:
            assert graph._table.lock._is_owned()  # type: ignore[attr-defined]  # of RLock
            taken.append(name)
            return super().take(name)

    graph._scopes._names = Watched()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [], name="x")
        with graph.name_scope("scope"):
            tf.add(x, 1.0)
            tf.add(tf.stack([x, 1.0]), [2.0, 3.0])
            graph.unique_name("mine")
    assert {"x", "scope", "scope/Add", "scope/Add/y", "scope/mine"} <= set(taken)


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


def test_nodes_that_say_the_same_share_attributes_but_not_what_only_looks_the_same() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3])
        one, true, again = (
            conversion.output("Sum", (x, 0), {"keep_dims": keep}).op.node
            for keep in (1, True, True)
        )
        assert true.attrs["keep_dims"] is True
        assert true.attrs is again.attrs is not one.attrs


def test_types_follow_from_each_of_several_values() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    with tf.Graph().as_default():
        t = tf.placeholder(tf.int32, [2, 3, 4])
        for begin in ([0, 0, 0], [1, 0, 2], [0, 2, 1]):
            for size in ([1, 1, 1], [-1, -1, -1], [1, -1, 2]):
                want = x[tuple(slice(b, None if s < 0 else b + s) for b, s in zip(begin, size))]  # noqa: B905
                assert tuple(tf.slice(t, begin, size).shape.as_list()) == want.shape
        for a, b, c in [(0, 3, 1), (1, 3, 1), (0, 3, 2), (2, 0, -1), (0, 2, 1), (1, 3, 1)]:
            assert tuple(t[:, a:b:c].shape.as_list()) == x[:, a:b:c].shape
            assert tf.range(a, b, c).shape.as_list() == [len(range(a, b, c))]


def test_a_rule_may_ask_for_one_value_because_of_another() -> None:
    """In a process of its own: ops are registered for good."""
    text = """
import numpy as np
import graphvm as tf
from graphvm.graph.conversion import output
from graphvm_runtime import register

register.op("Which", "which: int32, a: int32, b: int32 -> out: float32",
            shape=lambda ctx: [(ctx.scalar(2 if ctx.scalar(0) == 1 else 1),)])
for kind, value in [("List", [2, 3]), ("Array", np.array([2, 3]))]:
    register.op(kind, "a: int32 -> out: int32", shape=lambda ctx: [(2,)], value=lambda ctx: value)
    for _ in range(2):
        assert tf.fill(output(kind, (1,)), 0.0).shape.as_list() == [2, 3], kind

for w, a, b in [(1, 9, 7), (0, 5, 8), (1, 7, 9), (0, 9, 7), (1, 9, 7), (0, 7, 9)]:
    assert output("Which", (w, a, b)).shape.as_list() == [b if w == 1 else a], (w, a, b)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["again", "again/", None])
def test_a_name_scope_may_be_entered_again_and_be_a_decorator(name: str | None) -> None:
    with tf.Graph().as_default() as graph:
        scope = graph.name_scope(name)
        with graph.name_scope("around"):
            with scope as first, scope as second:
                assert graph.get_name_scope() == second.rstrip("/")
                assert name != "again" or (first, second) == (
                    "around/again/",
                    "around/again/again/",
                )
            assert graph.get_name_scope() == "around"

            made: Any = graph.name_scope("made")
            made = made(lambda: tf.constant(1.0))

            assert [made().op.name, made().op.name] == ["around/made/Const", "around/made_1/Const"]
            with pytest.raises(KeyError), scope:
                raise KeyError
            assert graph.get_name_scope() == "around"


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
                want = np.asarray(value)
                found = np.asarray(
                    session.run(f"c{index}:0"), object if want.dtype == object else None
                )
                assert found.dtype == want.dtype
                assert graph.node(f"c{index}").outputs[0].dtype.numpy == want.dtype
                if want.dtype == object:
                    assert found.tolist() == want.tolist()
                else:
                    assert found.tobytes() == want.tobytes()


def test_threads_may_share_the_block_of_a_name_scope() -> None:
    graph = tf.Graph()
    scope = graph.name_scope("shared")
    inside, left = threading.Barrier(2), threading.Event()
    found: dict[str, list[str]] = {"first": [], "second": []}

    def enter(which: str) -> None:
        with graph.name_scope(which):
            with scope:
                inside.wait()
                if which == "second":
                    left.wait()
                found[which].append(graph.get_name_scope())
            found[which].append(graph.get_name_scope())
            left.set()

    threads = [threading.Thread(target=enter, args=(which,)) for which in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {w: [f"{w}/shared", w] for w in found}


@pytest.mark.parametrize("name", ["a b", "a b/", "/", "é", 5, b"x"])
@pytest.mark.parametrize("beside", [True, False])
def test_a_name_that_is_none_is_refused_with_the_users_line(name: Any, beside: bool) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, name="x")
        with pytest.raises((GraphvmError, TypeError), match=r"no name of|a name is text") as raised:
            conversion.output("Add", (x, 1.0 if beside else x), None, name)
        if isinstance(raised.value, GraphvmError) and not (beside and str(name).endswith("/")):
            assert __file__ in raised.value.made
        assert all(o.name.isalnum() for o in graph.get_operations())


@pytest.mark.parametrize("kind", ["Identity", "Const"])
def test_names_in_bodies_may_begin_with_an_underscore(kind: str) -> None:
    @tf.Defun(tf.float32)
    def body(x: tf.Tensor) -> tf.Tensor:
        return tf.identity(tf.identity(x) + 1.0)

    with tf.Graph().as_default() as graph:
        tf.identity(body(tf.constant(1.0)), name="out")
        message = graph.as_graph_def()
    (function,) = message.library.function
    for node in function.node_def:
        if node.op == kind:
            old, node.name = node.name, "_" + node.name.replace("/", "_")
            for other in function.node_def:
                for at, text in enumerate(other.input):
                    if text.split(":")[0] == old:
                        other.input[at] = text.replace(old, node.name, 1)
            for key, text in function.ret.items():
                if text.split(":")[0] == old:
                    function.ret[key] = text.replace(old, node.name, 1)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(message, name="")
        assert session.run("out:0") == 2.0


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


@pytest.mark.parametrize(("make", "wanted"), [
    (lambda: tf.constant(1.5) + 2**65, 2.0**65), (lambda: tf.constant(10**30, tf.float64), 1e30),
    (lambda: tf.stack([[1], [2**33]])[1, 0], 2**33),
    (lambda: tf.fill([1], 2**40)[0], 2**40),
])  # fmt: skip
def test_large_integers_keep_their_value(make: Any, wanted: float) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(make()) == wanted


@pytest.mark.parametrize("make", [
    lambda: tf.concat([[1], [2**33]], 0), lambda: tf.add_n([1, 2**40]),
    lambda: tf.constant(10**400, tf.float32),
])  # fmt: skip
def test_large_integers_are_never_cut_to_the_type_of_others(make: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError):
        make()
