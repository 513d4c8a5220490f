"""Variables of a graph, and of the bodies in its library, as constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.bodies import body_keys, body_ref, with_bodies
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, functions_used, unused
from graphvm_runtime.ir.graphdef.read import read_graph
from graphvm_runtime.ir.graphdef.write import write_graph
from graphvm_runtime.ops.registry import Trait, lookup
from graphvm_runtime.ops.signature import FuncRef
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.shapes import TensorType

__all__ = ["frozen"]

# ops that hand on whatever they get, and what each is called for values
_PASSING = {
    name: name.removeprefix("Ref")
    for stem in ("Identity", "Switch", "Merge", "Enter", "Exit", "NextIteration")
    for name in (stem, "Ref" + stem)
}


def frozen(message: GraphDef, values: Mapping[str, Any]) -> GraphDef:
    """A graph with some variables as constants.

    Args:
        message: the graph.
        values: value of each of those variables by name.

    Raises:
        GraphError: something in the graph writes to one of them.
    """
    graph = read_graph(message)
    freezer = _Freezer(values, graph.library)
    nodes = freezer.rewritten(graph.nodes, {})
    library = {**graph.library, **freezer.made}
    used = functions_used(nodes, library)
    kept = {name: function for name, function in library.items() if name in used}
    return write_graph(replace(graph.with_nodes(nodes), library=kept))


class _Freezer:
    """Rewrites nodes, and the functions that they call, for variables that are constant.

    Attributes:
        made: rewritten functions by their new names.
    """

    def __init__(self, values: Mapping[str, Any], library: Mapping[str, Function]) -> None:
        self._values = values
        self._library = library
        self._names: dict[tuple[str, tuple[TensorType | None, ...]], str] = {}
        self.made: dict[str, Function] = {}

    def rewritten(self, nodes: Iterable[Node], held: dict[Endpoint, TensorType]) -> list[Node]:
        """Nodes of one graph.

        Args:
            nodes: in topological order.
            held: endpoints that were handles or references and are values now; grows.
        """
        return [self._node(node, held) for node in nodes]

    def _node(self, node: Node, held: dict[Endpoint, TensorType]) -> Node:
        op = node.op.name
        if node.op.traits & Trait.VARIABLE:
            return self._variable(node, held)
        if node.op.region is not None:
            return self._caller(node, held)
        types = [held.get(end) for end in node.inputs]
        first = next((t for t in types if t is not None), None)
        if first is None:
            return node
        if op in ("ReadVariableOp", "VarIsInitializedOp", "IsVariableInitialized", "VariableShape"):
            return _reader(node, first)
        if op in _PASSING:
            attrs = MappingProxyType({**node.attrs, "T": first.dtype})
            outputs = []
            for index, output in enumerate(node.outputs):
                if output.dtype is dtypes.resource or output.dtype.is_ref:
                    output = first
                    held[Endpoint(node.name, index)] = first
                outputs.append(output)
            return node.changed(op=lookup(_PASSING[op]), attrs=attrs, outputs=outputs)
        groups = node.op.grouped(types, node.attrs)
        for arg, group in zip(node.op.inputs, groups, strict=True):
            if any(group) and (arg.is_ref or arg.dtype is dtypes.resource):
                raise GraphError(
                    f"{op} writes to a variable that is to be frozen",
                    node=node.signature(),
                    do="leave it out of the outputs, or name the variable in the blacklist",
                )
        return node

    def _variable(self, node: Node, held: dict[Endpoint, TensorType]) -> Node:
        name = node.name
        shared = node.attrs["shared_name"].decode(errors="backslashreplace")
        found = self._values.get(name) if name in self._values else self._values.get(shared)
        if found is None:
            return node
        dtype = node.attrs["dtype"].base
        value = _array(found, dtype)
        type_ = TensorType(dtype, value.shape)
        held[Endpoint(name, 0)] = type_
        return _constant(node, value, dtype)

    def _caller(self, node: Node, held: dict[Endpoint, TensorType]) -> Node:
        """A node with bodies: those get values in place of handles."""
        region = node.op.region
        assert region is not None
        skip = region.first
        given = tuple(held.get(end) for end in node.inputs[skip:])
        refs = {key: body_ref(node, key) for key in body_keys(node)}
        bodies = {k: FuncRef(self._specialised(r.name, given), r.attrs) for k, r in refs.items()}
        attrs = with_bodies(node.attrs, bodies)
        if not any(given):
            return node.changed(attrs=MappingProxyType(attrs))
        kind = region.types
        attrs[kind] = tuple(
            old if new is None else new.dtype
            for old, new in zip(node.attrs[kind], given, strict=True)
        )
        outputs = list(node.outputs)
        if kind == "T":
            shapes = list(node.attrs["output_shapes"] or ())
            for index, type_ in enumerate(given):
                if type_ is not None:
                    outputs[index] = held[Endpoint(node.name, index)] = type_
                    if shapes:
                        shapes[index] = type_.shape
            attrs["output_shapes"] = tuple(shapes)
        return node.changed(attrs=MappingProxyType(attrs), outputs=outputs)

    def _specialised(self, name: str, given: tuple[TensorType | None, ...]) -> str:
        """The function for these arguments; itself where nothing in it changes."""
        key = (name, given)
        if key in self._names:
            return self._names[key]
        function = self._library.get(name)
        if function is None:
            raise GraphError(f"the library has no function {name!r}")
        held: dict[Endpoint, TensorType] = {}
        params: dict[str, TensorType] = {}
        for end, type_ in zip(function.params, given, strict=True):
            if type_ is not None:
                held[end] = params[end.node] = type_
        before = [
            _parameter(node, params[node.name]) if node.name in params else node
            for node in function.body.nodes
        ]
        after = self.rewritten(before, held)
        if all(a is b for a, b in zip(after, function.body.nodes, strict=True)):
            self._names[key] = name
            return name
        new = unused(f"{name}_frozen", self._library, self.made)
        self._names[key] = new
        self.made[new] = replace(
            function, name=new, body=Graph(tuple(after), {}, function.body.producer)
        )
        return new


def _parameter(node: Node, type_: TensorType) -> Node:
    attrs = {k: v for k, v in node.attrs.items() if k != "_handle_type"}
    attrs.update(T=type_.dtype, _output_shapes=(type_.shape,))
    return node.changed(attrs=MappingProxyType(attrs), outputs=(type_,))


def _constant(node: Node, value: Array, dtype: dtypes.DType) -> Node:
    return constant(node.name, value, dtype, node.after, node.device, node.source)


def _reader(node: Node, held: TensorType) -> Node:
    if node.op.name == "ReadVariableOp":
        kind = MappingProxyType({"T": held.dtype})
        return node.changed(op=lookup("Identity"), attrs=kind, outputs=(held,))
    if node.op.name == "VariableShape":
        out = node.attrs["out_type"]
        value = np.array(held.shape, out.numpy)
        return _constant(node, value, out)
    return _constant(node, np.array(True), dtypes.bool_)


def _array(value: Any, dtype: dtypes.DType) -> Array:
    if dtype is dtypes.string:
        array = np.empty(np.shape(value), object)
        array[...] = value
        return array
    return np.array(value, dtype.numpy)
