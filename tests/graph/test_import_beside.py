"""`import_graph_def` beside what the graph has: what comes is what TensorFlow 2.21 makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import graphvm as tf

# A: placeholder; B = A * 2, with the constant B/y; C = B after A
ONCE = "A() B/y() B(A,B/y) C(B,^A)"


def file(**classes: Sequence[bytes]) -> Any:
    with tf.Graph().as_default() as graph:
        a = tf.placeholder(tf.float32, [], name="A")
        b = tf.multiply(a, 2.0, name="B")
        with tf.control_dependencies([a]):
            tf.identity(b, name="C")
        out = graph.as_graph_def()
    for node in out.node:
        if node.name in classes:
            node.attr["_class"].list.s.extend(classes[node.name])
    return out


def shown() -> str:
    parts = []
    for op in tf.get_default_graph().get_operations():
        inputs = [t.op.name for t in op.inputs] + [f"^{c.name}" for c in op.control_inputs]
        parts.append(f"{op.name}({','.join(inputs)})")
    return " ".join(parts)


@pytest.mark.parametrize(
    ("there", "names", "want"),
    [
        ([], ["", ""], f"{ONCE} A_1() B/y_1() B_1(A_1,B/y_1) C_1(B_1,^A_1)"),
        ([], ["p", "p"], "p/A() p/B/y() p/B(p/A,p/B/y) p/C(p/B,^p/A) "
                         "p_1/A() p_1/B/y() p_1/B(p_1/A,p_1/B/y) p_1/C(p_1/B,^p_1/A)"),
        ([], ["p", "p/"], "p/A() p/B/y() p/B(p/A,p/B/y) p/C(p/B,^p/A) "
                          "p/A_1() p/B/y_1() p/B_1(p/A_1,p/B/y_1) p/C_1(p/B_1,^p/A_1)"),
        (["A", "A_1"], [""], "A() A_1() A_2() B/y() B(A_2,B/y) C(B,^A_2)"),
        (["B", "B_1"], [""], "B() B_1() A() B/y() B_2(A,B/y) C(B_2,^A)"),
        (["a"], [""], f"a() {ONCE}"),
        (["p"], ["p"], "p() p_1/A() p_1/B/y() p_1/B(p_1/A,p_1/B/y) p_1/C(p_1/B,^p_1/A)"),
        (["A/x"], [""], "A/x() A_1() B/y() B(A_1,B/y) C(B,^A_1)"),
    ],
)  # fmt: skip
def test_names_are_made_unique_with_edges_among_the_new(
    there: list[str], names: list[str], want: str
) -> None:
    for name in there:
        tf.constant(1.0, name=name)
    for name in names:
        tf.import_graph_def(file(), name=name)
    assert shown() == want


@pytest.mark.parametrize("key", ["A", "A:0", b"A", b"A:0"])
def test_an_input_is_replaced_by_its_name_as_text_or_bytes(key: Any) -> None:
    x = tf.constant(3.0, name="x")
    tf.import_graph_def(file(), name="p", input_map={key: x})
    assert shown() == "x() p/A() p/B/y() p/B(x,p/B/y) p/C(p/B,^p/A)"


@pytest.mark.parametrize("key", ["^A", b"^A"])
def test_a_control_input_is_replaced(key: Any) -> None:
    x = tf.constant(3.0, name="x")
    tf.import_graph_def(file(), name="p", input_map={key: x})
    assert shown() == "x() p/A() p/B/y() p/B(p/A,p/B/y) p/C(p/B,^x)"


@pytest.mark.parametrize("key", ["B:1", "nope", "nope:0", "^nope", "", "A:x", ":0", "A:0:0"])
def test_an_input_that_is_not_there_is_refused_and_nothing_added(key: str) -> None:
    x = tf.constant(3.0, name="x")
    with pytest.raises(ValueError, match="name"):
        tf.import_graph_def(file(), name="p", input_map={key: x})
    assert shown() == "x()"


@pytest.mark.parametrize(
    ("elements", "want"),
    [
        (["A"], ["p/A"]),
        ([b"B:0", "C"], ["x:0", "p/C"]),
        (("B", "A:0"), ["p/B", "p/A:0"]),
        ([], []),
    ],
)
def test_elements_are_operations_or_tensors_mapped_ones_included(
    elements: Any, want: list[str]
) -> None:
    x = tf.constant(3.0, name="x")
    found = tf.import_graph_def(file(), name="p", input_map={"B:0": x}, return_elements=elements)
    assert [e.name for e in found or []] == want


@pytest.mark.parametrize("element", ["B:1", "nope", "nope:0", "^A", "", "A:x", ":0", "A:0:0"])
def test_an_element_that_is_not_there_is_refused(element: str) -> None:
    with pytest.raises(ValueError, match="name"):
        tf.import_graph_def(file(), return_elements=[element])


def test_colocation_follows_the_new_names() -> None:
    for _ in range(2):
        tf.import_graph_def(file(B=[b"loc:@A"]), name="")
    graph = tf.get_default_graph()
    assert graph.get_operation_by_name("B_1").colocation_groups() == [b"loc:@A_1"]


def test_colocation_with_a_node_that_the_file_lacks_is_refused() -> None:
    tf.constant(1.0, name="Z")  # that the graph has one does not help
    with pytest.raises(ValueError, match="Z"):
        tf.import_graph_def(file(B=[b"loc:@Z"]), name="")


def test_a_device_function_sees_names_and_inputs() -> None:
    seen = []

    def function(op: Any) -> str:
        seen.append((op.name, [t.name for t in op.inputs], [c.name for c in op.control_inputs]))
        return f"/device:CPU:{len(op.inputs)}"

    with tf.device(function):
        tf.import_graph_def(file(), name="p")
    assert seen == [
        ("p/A", [], []), ("p/B/y", [], []), ("p/B", ["p/A:0", "p/B/y:0"], []),
        ("p/C", ["p/B:0"], ["p/A"]),
    ]  # fmt: skip
    assert tf.get_default_graph().get_operation_by_name("p/B").device == "/device:CPU:2"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"producer": 27, "min_consumer": 99999}, "reader of version 99999"),
        ({"producer": -1}, "negative"),
    ],
)
def test_versions_that_do_not_fit_are_refused(fields: dict[str, int], words: str) -> None:
    graph_def = file()
    graph_def.versions.Clear()
    for name, value in fields.items():
        setattr(graph_def.versions, name, value)
    with pytest.raises(ValueError, match=words):
        tf.import_graph_def(graph_def, name="")


def test_the_map_is_a_dictionary() -> None:
    wrong: Any = [("A", tf.constant(1.0))]
    with pytest.raises(TypeError, match="input_map must be a dictionary"):
        tf.import_graph_def(file(), input_map=wrong)
