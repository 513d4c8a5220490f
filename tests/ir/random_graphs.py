"""Random well-typed graphs, with functions, for Hypothesis."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np

import graphvm as tf
from graphvm.functions.function import FuncGraph
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from graphvm_runtime.ops.signature import FuncRef

DTYPES = (
    dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.int32, dtypes.int64,
    dtypes.int8, dtypes.uint8, dtypes.uint16, dtypes.bool_, dtypes.complex64, dtypes.complex128,
    dtypes.string,
)  # fmt: skip
SHAPES = st.lists(st.integers(0, 3), max_size=3).map(tuple)
PARTIAL = st.none() | st.lists(st.none() | st.integers(0, 3), max_size=3).map(tuple)
NAMES = st.none() | st.text("ab", min_size=1, max_size=2)
DEVICES = st.sampled_from(["", "/cpu:0", "/job:w/replica:0/task:3/device:CPU:1", "/job:a"])


@st.composite
def arrays(draw: st.DrawFn, dtype: DType) -> Any:
    """Any bits that the type has, NaN and negative zero among them."""
    shape = draw(SHAPES)
    size = int(np.prod(shape))
    if dtype is dtypes.string:
        array = np.empty(shape, object)
        array.reshape(-1)[:] = [draw(st.binary(max_size=4)) for _ in range(size)]
        return array
    if dtype is dtypes.bool_:
        given = draw(st.lists(st.booleans(), min_size=size, max_size=size))
        return np.array(given, bool).reshape(shape)
    width = size * dtype.numpy.itemsize
    data = draw(st.binary(min_size=width, max_size=width))
    return np.frombuffer(data, dtype.numpy).reshape(shape)


def _grow(draw: st.DrawFn, graph: tf.Graph, tensors: list[Any], depth: int) -> None:
    """Adds some nodes that take what is there."""
    for _ in range(draw(st.integers(1, 6))):
        name = draw(NAMES)
        before = draw(st.lists(st.sampled_from(tensors), max_size=2)) if tensors else []
        with graph.device(draw(DEVICES)), graph.control_dependencies(before):
            made = _node(draw, graph, tensors, depth, name)
        tensors.extend(made)


def _node(
    draw: st.DrawFn, graph: tf.Graph, tensors: list[Any], depth: int, name: str | None
) -> list[Any]:
    kinds = ["const", "placeholder"]
    if tensors:
        kinds += ["unary", "cast", "many", "pack"] + ["call", "branch", "loop"] * (depth > 0)
    kind = draw(st.sampled_from(kinds))
    if kind == "const":
        dtype = draw(st.sampled_from(DTYPES))
        attrs: dict[str, Any] = {"dtype": dtype, "value": draw(arrays(dtype))}
        return graph.add_node("Const", (), attrs, name).outputs
    if kind == "placeholder":
        attrs = {"dtype": draw(st.sampled_from(DTYPES)), "shape": draw(PARTIAL)}
        return graph.add_node("Placeholder", (), attrs, name).outputs
    x = draw(st.sampled_from(tensors))
    if kind == "unary":
        op = draw(st.sampled_from(["Identity", "Shape", "Rank", "StopGradient", "Size"]))
        return graph.add_node(op, (x,), {}, name).outputs
    if kind == "cast" and x.dtype not in (dtypes.string,) and not x.dtype.is_ref:
        attrs = {"DstT": dtypes.float32, "Truncate": draw(st.booleans())}
        return graph.add_node("Cast", (x,), attrs, name).outputs
    if kind == "pack":
        return graph.add_node("Pack", ([x] * draw(st.integers(1, 3)),), {"axis": 0}, name).outputs
    some = draw(st.lists(st.sampled_from(tensors), min_size=1, max_size=3))
    if kind == "many":
        return graph.add_node("IdentityN", (some,), {"_note": draw(st.binary(max_size=3))}).outputs
    body, results = _body(draw, graph, some, depth - 1, kind)
    if kind == "call":
        attrs = {"f": FuncRef(body.finish(results).name), "Tout": _types(results)}
        return graph.add_node("PartitionedCall", (_given(body, some),), attrs, name).outputs
    if kind == "branch":
        predicate = graph.add_node("Const", (), {"dtype": tf.bool, "value": np.array(True)})
        branch = FuncRef(body.finish(results).name)
        attrs = {"then_branch": branch, "else_branch": branch, "Tout": _types(results)}
        inputs = (predicate.outputs[0], _given(body, some))
        return graph.add_node("If", inputs, attrs, name).outputs
    again = FuncRef(body.finish([*body.inputs]).name)
    test = FuncGraph("test", graph)
    for param in body.inputs:
        test.add_arg(param.dtype, param.type.shape, "p")
    stop = test.add_node("Const", (), {"dtype": tf.bool, "value": np.array(False)}).outputs[0]
    attrs = {"cond": FuncRef(test.finish([stop]).name), "body": again}
    return graph.add_node("While", (_given(body, some),), attrs, name).outputs


def _types(tensors: list[Any]) -> tuple[DType, ...]:
    return tuple(t.dtype for t in tensors)


def _given(body: FuncGraph, given: list[Any]) -> list[Any]:
    return [*given, *(outer for outer, _ in body.captures)]


def _body(
    draw: st.DrawFn, graph: tf.Graph, given: list[Any], depth: int, name: str
) -> tuple[FuncGraph, list[Any]]:
    body = FuncGraph(name, graph)
    with body.as_default():
        params = [body.add_arg(t.dtype, t.type.shape, "p") for t in given]
        inside = [*params, *draw(st.lists(st.sampled_from(given), max_size=1))]
        _grow(draw, body, inside, depth)
    return body, draw(st.lists(st.sampled_from(inside), min_size=1, max_size=2))


@st.composite
def graphs(draw: st.DrawFn) -> tf.Graph:
    """A graph of a few nodes of all kinds."""
    with tf.Graph().as_default() as graph:
        tensors: list[Any] = []
        _grow(draw, graph, tensors, 2)
        if draw(st.booleans()):
            with graph.name_scope("scope"):
                _grow(draw, graph, tensors, 1)
    return graph
