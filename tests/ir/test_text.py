"""Graphs print one line a node, and what cannot be read is told with its line."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from graphvm_runtime import dtypes
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Graph, Node
from graphvm_runtime.ir.text import parse_graph, print_graph, print_value
from graphvm_runtime.ops.registry import lookup
from graphvm_runtime.ops.signature import FuncRef
from graphvm_runtime.shapes import TensorType

TEXT = """\
graph producer=2474 min_consumer=12

%p = Placeholder() {dtype=bool, shape=[]} : bool[]
%x = Placeholder() {dtype=f32, shape=[2,?]} : f32[2,?] @/job:w/task:1/device:CPU:0
%u = Placeholder() {dtype=f32} : f32[*]
%c = Const() {dtype=f32, value=f32[2]{1.0, -0.0}} : f32[2] # model.py:3, in f
%y = MatMul(x:0, u:0, ^c, ^p) {T=f32, transpose_b=true} : f32[2,?]
%i = StatelessIf(p:0, x:0) {Tcond=bool, Tin=(f32), Tout=(f32), else_branch=@f, then_branch=@f} : f32[*]

function f(a) -> (r=n:0) after (n) with {_noinline=true} {
  %a = _Arg() {T=f32, index=0} : f32[2,?]
  %n = Neg(a:0) {T=f32} : f32[2,?]
}
"""  # noqa: E501 (one line a node)


def test_a_graph_is_read_and_printed_as_it_was() -> None:
    graph = parse_graph(TEXT)
    assert print_graph(graph) == TEXT
    node = graph.by_name["y"]
    assert [str(e) for e in node.inputs] == ["x:0", "u:0"]
    assert node.after == ("c", "p")
    assert node.attrs["transpose_a"] is False
    assert node.attrs["transpose_b"] is True
    assert graph.by_name["x"].outputs == (TensorType(dtypes.float32, (2, None)),)
    assert graph.by_name["u"].attrs["shape"] is None
    assert graph.by_name["c"].source == "model.py:3, in f"
    function = graph.library["f"]
    assert function.control == ("n",)
    assert function.attrs == {"_noinline": True}
    assert (graph.producer, graph.min_consumer) == (2474, 12)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (-3, "-3"),
        (True, "true"),
        (1.0, "1.0"),
        (1e300, "1e+300"),
        (float("-inf"), "-inf"),
        (b'a"\\\n\xff', '"a\\"\\\\\\x0a\\xff"'),
        (dtypes.bfloat16, "bf16"),
        (dtypes.float32.ref, "f32&"),
        (None, "[*]"),
        ((2, None), "[2,?]"),
        ((), "()"),
        ((1, 2), "(1, 2)"),
        ((dtypes.int32, dtypes.string), "(i32, str)"),
        ((b"a", b"b"), '("a", "b")'),
        (((2,), None, ()), "([2], [*], [])"),
        (FuncRef("f"), "@f"),
        (FuncRef("odd name", (("T", dtypes.int8), ("n", 3))), '@"odd name"{T=i8, n=3}'),
        ((FuncRef("f"), FuncRef("g")), "(@f, @g)"),
        (TensorType(dtypes.float32, (2, None)), "type f32[2,?]"),
        (np.array([[1, 2]], np.int64), "i64[1,2]{1, 2}"),
        (np.array([True, False]), "bool[2]{true, false}"),
        (np.array(0.1, np.float32), "f32[]{0.1}"),
        (np.array([1.5, np.inf], ml_dtypes.bfloat16), "bf16[2]{1.5, inf}"),
        (np.array([1 - 2j], np.complex64), "c64[1]{1-2j}"),
        (np.array([b"a", b'"'], object), 'str[2]{"a", "\\""}'),
        (np.zeros((0, 3), np.float64), "f64[0,3]{}"),
        (np.array([0x7FC00001], np.uint32).view(np.float32), "f32[1]0x0100c07f"),
    ],
)
def test_every_kind_of_value_is_read_back(value: Any, text: str) -> None:
    assert print_value(value) == text
    node = Node("n", lookup("NoOp"), (), (), MappingProxyType({"_a": value}), ())
    back = parse_graph(print_graph(Graph((node,)))).nodes[0].attrs["_a"]
    if isinstance(value, np.ndarray):
        assert (back.dtype, back.shape) == (value.dtype, value.shape)
        assert back.tolist() == value.tolist() or back.tobytes() == value.tobytes()
    else:
        assert back == value
        assert type(back) is type(value)


def test_long_tensors_are_written_as_digits_and_can_be_cut() -> None:
    array = np.arange(100, dtype=np.float32)
    text = print_value(array)
    assert text == "f32[100]0x" + array.tobytes().hex()
    assert print_value(array, limit=2) == "f32[100]{0.0, 1.0, ...}"


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "begins with"),
        ("graph producer=1\n%x Neg()", "line 2: '%x Neg"),
        ("graph producer=1\n%x = Nope()", "'Nope'"),
        ("graph producer=1\n%x = NoOp() {a}", "'=' is expected"),
        ("graph producer=1\n%x = NoOp() {a=}", "no value"),
        ("graph producer=1\n%x = NoOp() {a=b}", "'b' is no value"),
        ("graph producer=1\n%x = NoOp() {a=3", "ends or breaks off"),
        ("graph producer=1\n%x = NoOp() : q[2]", "is no type"),
        ("graph producer=1\nfunction f() -> () {\n", "does not end"),
        ("graph producer=1\nfunction f {\n}", "is no function"),
    ],
)
def test_what_cannot_be_read_is_told(text: str, match: str) -> None:
    with pytest.raises(GraphError, match=match):
        parse_graph(text)
