"""A short run of the fuzzer, and the kinds of input that once broke."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import graphvm as tf
from graphvm_runtime.errors import (
    GraphError,
    GraphvmError,
    InvalidArgumentError,
    ResourceExhaustedError,
)
from tests.fuzz.run import attempt, corpus, input_of, peak

SEED = 2026


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_damaged_graphs_are_refused_with_an_error_of_ours() -> None:
    graphs = corpus()
    stories = [s for n in range(4000) if (s := attempt(n, SEED, graphs)[1])]
    assert stories == []


def imported(text: str) -> tf.Graph:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(text_format.Parse(text, tf.GraphDef()), name="")
    return graph


def node(op: str, name: str, *inputs: str, **attrs: str) -> str:
    """A node as text; attributes are the text of their values."""
    given = "".join(f'input: "{i}" ' for i in inputs)
    said = "".join(f'attr {{ key: "{k}" value {{ {v} }} }} ' for k, v in attrs.items())
    return f'node {{ name: "{name}" op: "{op}" {given}{said}}}\n'


def const(name: str, dims: tuple[int, ...], values: str) -> str:
    shape = " ".join(f"dim {{ size: {d} }}" for d in dims)
    value = f"tensor {{ dtype: DT_INT32 tensor_shape {{ {shape} }} {values} }}"
    return node("Const", name, dtype="type: DT_INT32", value=value)


FLOAT, INT = "type: DT_FLOAT", "type: DT_INT32"
X = node("Placeholder", "x", dtype=FLOAT)
READERS = {
    "none": "",
    "pack": node("Pack", "y", "c", "c", N="i: 2", T=INT),
    "reshape": X + node("Reshape", "y", "x", "c", T=FLOAT),
    "slice": X + node("StridedSlice", "y", "x", "c", "c", "c", T=FLOAT, Index=INT),
    "fill": const("z", (), "int_val: 7") + node("Fill", "y", "c", "z", T=INT),
    "transpose": X + node("Identity", "p", "c", T=INT) + node("Transpose", "y", "x", "p", T=FLOAT),
}


@pytest.mark.parametrize("values", ["int_val: 1", "int_val: 1 int_val: 2", ""])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("size", [2**30, 2**33, 2**62])
def test_what_a_constant_claims_is_not_allocated(size: int, reader: str, values: str) -> None:
    before = peak()
    with suppress(GraphvmError):
        imported(const("c", (size,), values) + READERS[reader])
    assert peak() - before < 100_000, "an import took over 100 MB"


def test_a_truncated_constant_is_written_out_where_it_is_used() -> None:
    text = const("c", (200_000,), "int_val: 1 int_val: 2")
    with tf.Session(graph=imported(text)) as session:
        value = session.run("c:0")
    np.testing.assert_array_equal(value, [1] + [2] * 199_999)


def test_a_number_of_outputs_is_bounded() -> None:
    text = X + const("a", (), "int_val: 0")
    text += node("Split", "y", "a", "x", num_split=f"i: {2**40}", T=FLOAT)
    with pytest.raises(GraphError, match="num_split of Split must be at most"):
        imported(text)


@pytest.mark.parametrize("hint", [
    "i: 3", 's: "x"', FLOAT, "shape { dim { size: 2 } }", "list { i: 3 }", 'list { s: "x" }',
])  # fmt: skip
@pytest.mark.parametrize("name", ["_output_shapes", "_class", "_handle_type", "_gradient_op_type"])
def test_a_hint_of_another_kind_is_ignored(name: str, hint: str) -> None:
    text = X + node("Neg", "y", "x", T=FLOAT, **{name: hint})
    with tf.Session(graph=imported(text)) as session:
        assert session.run("y:0", {"x:0": 2.0}) == -2.0


def test_an_equation_that_is_not_text_is_refused_with_its_node() -> None:
    text = X + node("Einsum", "y", "x", equation='s: "\\377\\376"', N="i: 1", T=FLOAT)
    with pytest.raises(GraphvmError) as found:
        imported(text)
    assert "y = Einsum" in str(found.value)


@pytest.mark.parametrize("make", [
    lambda: tf.zeros([2**40, 2**22]), lambda: tf.fill([2**40, 2**22], 1.0),
    lambda: tf.tile(tf.ones([2**20]), [2**42]), lambda: tf.range(2**62),
    lambda: tf.broadcast_to(1.0, [2**62]) + 1.0, lambda: tf.random_uniform([2**40, 2**22]),
])  # fmt: skip
def test_a_size_that_overflows_is_ours_to_report(make: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = make()
        with pytest.raises(ResourceExhaustedError, match="out of memory for") as found:
            session.run(tensor)
    assert found.value.node
    assert found.value.made


def test_an_unreadable_tensor_is_no_number() -> None:
    text = node("Placeholder", "x", dtype=FLOAT, shape="shape { dim { size: 3 } }")
    text += const("p", (1, 2), 'tensor_content: "abc"') + node("Pad", "y", "x", "p", T=FLOAT)
    with tf.Session(graph=imported(text)) as session, pytest.raises(InvalidArgumentError):
        session.run("y:0", {"x:0": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize("attr", ["width", "precision"])
def test_a_format_that_no_number_can_have_is_refused_with_its_node(attr: str) -> None:
    text = X + node("AsString", "y", "x", T=FLOAT, **{attr: f"i: {2**33}"})
    with (
        tf.Session(graph=imported(text)) as session,
        pytest.raises(InvalidArgumentError, match="width and precision must be") as found,
    ):
        session.run("y:0", {"x:0": 1.0})
    assert found.value.node_name == "y"


def test_an_input_is_the_same_each_time() -> None:
    graphs = corpus()
    for number in range(20):
        first, again = (input_of(number, SEED, graphs) for _ in range(2))
        assert first == again
