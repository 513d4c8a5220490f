"""One grammar for what names a node or an output, wherever such a text comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphvm as tf
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.names import (
    legal_in_scope,
    legal_name,
    named_node,
    parse_body_output,
    parse_output,
    unused_prefix,
)

NAMES = st.from_regex(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]{0,12}", fullmatch=True)
NUMBERS = st.integers(0, 10**18 - 1)
LABELS = st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True)


@given(NAMES, NUMBERS)
def test_what_is_written_is_read(name: str, number: int) -> None:
    assert legal_name(name)
    assert legal_in_scope(name)
    assert parse_output(name) == (name, 0)
    assert parse_output(f"{name}:{number}") == (name, number)
    assert named_node(f"^{name}") == named_node(f"{name}:{number}") == name


@given(NAMES, LABELS, NUMBERS)
def test_what_is_written_in_a_body_is_read(name: str, label: str, number: int) -> None:
    assert parse_body_output(name) == (name, 0)
    assert parse_body_output(f"{name}:{number}") == (name, number)
    assert parse_body_output(f"{name}:{label}") == (name, f"{label}:0")
    assert parse_body_output(f"{name}:{label}:{number}") == (name, f"{label}:{number}")
    assert named_node(f"{name}:{label}:{number}") == name


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    parse_body_output(text)
    try:
        name, number = parse_output(text)
    except GraphError:
        return
    assert ":" not in name
    assert text in (name, f"{name}:{text.rpartition(':')[2]}")
    assert number >= 0


@given(st.sets(st.text("ar_g0", max_size=6)))
def test_no_name_begins_with_an_unused_prefix(names: set[str]) -> None:
    prefix = unused_prefix("arg", names)
    assert not any(name.startswith(prefix) for name in names)


def graph_def() -> tf.GraphDef:
    with tf.Graph().as_default() as graph:
        tf.negative(tf.placeholder(tf.float32, [], name="x"), name="y")
    return graph.as_graph_def()


def in_a_graph(text: str) -> None:
    message = graph_def()
    message.node[1].input[0] = text
    tf.import_graph_def(message, name="")


def in_a_body(text: str) -> None:
    message = graph_def()
    function = message.library.function.add()
    function.signature.name = "F"
    function.signature.input_arg.add(name="x", type=1)
    function.signature.output_arg.add(name="o", type=1)
    inner = function.node_def.add(name="n", op="Neg", input=[text])
    inner.attr["T"].type = tf.float32.as_datatype_enum  # type: ignore[assignment]
    function.ret["o"] = "n:y:0"
    message.node.add(name="call", op="F", input=["x"])
    tf.import_graph_def(message, name="")


def as_a_result(text: str) -> None:
    message = graph_def()
    function = message.library.function.add()
    function.signature.name = "F"
    function.signature.input_arg.add(name="x", type=1)
    function.signature.output_arg.add(name="o", type=1)
    function.ret["o"] = text
    message.node.add(name="call", op="F", input=["x"])
    tf.import_graph_def(message, name="")


def in_an_input_map(text: str) -> None:
    tf.import_graph_def(graph_def(), input_map={text: tf.constant(1.0)}, name="")


def in_return_elements(text: str) -> None:
    tf.import_graph_def(graph_def(), return_elements=[text], name="")


def in_a_fetch(text: str) -> None:
    tf.import_graph_def(graph_def(), name="")
    with tf.Session() as session:
        session.run(text, {"x:0": 1.0})


# More digits than Python reads; digits of another script; what Python reads and no file means.
NO_NUMBERS = ["9" * 5000, "0" * 5000, "\u0661", "\u00b2", "1_0", "+1", " 1", "-1"]


@pytest.mark.parametrize("number", NO_NUMBERS, ids=ascii)
@pytest.mark.parametrize("read", [
    in_a_graph, in_an_input_map, in_return_elements, in_a_fetch,
])  # fmt: skip
def test_what_is_no_number_of_an_output_is_refused(
    read: Callable[[str], None], number: str
) -> None:
    with tf.Graph().as_default(), pytest.raises(GraphError, match="node:"):
        read(f"x:{number}")


@pytest.mark.parametrize("number", NO_NUMBERS, ids=ascii)
@pytest.mark.parametrize("read", [in_a_body, as_a_result])
def test_what_is_no_number_in_a_body_is_no_error_of_pythons(
    read: Callable[[str], None], number: str
) -> None:
    with tf.Graph().as_default():
        try:
            read(f"x:y:{number}")
        except GraphError:
            return


@pytest.mark.parametrize("key", [b"x", b"x:0"])
def test_an_import_takes_names_as_bytes(key: bytes) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.import_graph_def(
            graph_def(), input_map={key: tf.constant(2.0)}, return_elements=[b"y:0"], name=""
        )
        assert session.run(found) == [-2.0]


@pytest.mark.parametrize("key", [3, None, ("x", 0)])
def test_names_are_text_or_bytes(key: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="must be text or bytes"):
        tf.import_graph_def(graph_def(), input_map={key: tf.constant(2.0)}, name="")
