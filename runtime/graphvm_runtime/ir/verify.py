"""The rules that every graph in memory keeps, numbered.

V1   names are unique and not empty
V2   inputs and control inputs name nodes of the graph
V3   an input is an output that its node has
V4   a node comes after its inputs; only what NextIteration gives a Merge may come later
V5   inputs are as many, and of the types, as the op and the attributes say
V6   every declared attribute has a value of its kind
V7   outputs are as many, and of the element types, as the op and the attributes say
V8   control inputs name no node twice, and not the node itself
V9   functions that attributes name are in the library
V10  parameters of a function are its `_Arg` nodes, in order; results and control outputs exist
V11  bodies take and give what the node that calls them says
V12  static shapes do not contradict what follows from the inputs
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import GraphError, GraphvmError
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, is_back_edge
from graphvm_runtime.ir.graphdef.attrs import UnreadableTensor
from graphvm_runtime.ir.infer import Resolution, infer
from graphvm_runtime.ir.signatures import mismatches
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.shapes import is_compatible


def verify(graph: Graph) -> None:
    """Checks a graph and its library.

    Raises:
        GraphError: a rule is broken; all faults are told, the first ten at length.
    """
    found = list(violations(graph))
    if found:
        more = f"\n  and {len(found) - 10} more" if len(found) > 10 else ""
        raise GraphError("the graph breaks its rules:\n  " + "\n  ".join(found[:10]) + more)


def violations(graph: Graph) -> Iterator[str]:
    """What is wrong with a graph and its library, one line each, with the number of the rule."""
    # Signatures first: nodes that call a function are checked against its.
    broken = [v for function in graph.library.values() for v in _signature(function)]
    yield from broken
    if broken:
        return
    yield from _nodes(graph.nodes, graph.library, "")
    for function in graph.library.values():
        where = f", in function {function.name!r}"
        yield from _nodes(function.body.nodes, graph.library, where)


def _nodes(nodes: Sequence[Node], library: Mapping[str, Function], where: str) -> Iterator[str]:
    by_name: dict[str, Node] = {}
    for node in nodes:
        if not node.name or node.name in by_name:
            yield f"V1: name {node.name!r} is empty or stands twice{where}"
        by_name[node.name] = node
    seen: set[str] = set()
    sound = True
    for node in nodes:
        for fault in _edges(node, by_name, seen):
            sound = False
            yield f"{fault}, in {node.signature()}{where}"
        seen.add(node.name)
    if not sound:
        return  # what follows looks along the edges
    resolution = Resolution(by_name.__getitem__)
    for node in nodes:
        for fault in _content(node, by_name, library, resolution):
            yield f"{fault}, in {node.signature()}{where}"


def _edges(node: Node, by_name: Mapping[str, Node], seen: set[str]) -> Iterator[str]:
    for end in node.inputs:
        above = by_name.get(end.node)
        if above is None:
            yield f"V2: there is no node {end.node!r}"
        elif not 0 <= end.index < len(above.outputs):
            yield f"V3: {end.node!r} has no output {end.index}"
        elif end.node not in seen and not is_back_edge(above, node):
            yield f"V4: {end.node!r} comes later"
    for name in node.after:
        if name not in by_name:
            yield f"V2: there is no node {name!r}"
        elif name not in seen and name != node.name:
            yield f"V4: {name!r} comes later"
    if len(set(node.after)) < len(node.after) or node.name in node.after:
        yield "V8: a control input stands twice, or is the node itself"


def _content(
    node: Node,
    by_name: Mapping[str, Node],
    library: Mapping[str, Function],
    resolution: Resolution,
) -> Iterator[str]:
    for name, declared in node.op.attrs.items():
        if name not in node.attrs:
            yield f"V6: the attribute {name!r} has no value"
            return
        if not _is_of_kind(node.attrs[name], declared.kind):
            yield f"V6: the attribute {name!r} is no {declared.kind}: {node.attrs[name]!r}"
            return
    types = [by_name[e.node].outputs[e.index] for e in node.inputs]
    wants = node.op.input_dtypes(node.attrs)
    refs = [a.is_ref for a in node.op.inputs for _ in a.dtypes(node.attrs)]
    if [t.dtype.base for t in types] != [d.base for d in wants] or any(
        is_ref and not t.dtype.is_ref for is_ref, t in zip(refs, types, strict=True)
    ):
        given = ", ".join(t.dtype.name for t in types)
        yield f"V5: takes ({', '.join(d.name for d in wants)}), got ({given})"
        return
    gives = node.op.output_dtypes(node.attrs)
    if tuple(t.dtype for t in node.outputs) != gives:
        yield f"V7: gives ({', '.join(d.name for d in gives)})"
        return
    missing = [f.name for f in node.functions() if f.name not in library]
    if missing:
        yield f"V9: the library has no function {', '.join(missing)}"
        return
    yield from (f"V11: {fault}" for fault in mismatches(node, library))
    try:
        inferred = infer(node.op, types, node.attrs, resolution.of(node.inputs))
    except GraphvmError as error:
        yield f"V12: {error.what}"
        return
    for index, (mine, theirs) in enumerate(zip(node.outputs, inferred, strict=True)):
        if not is_compatible(mine.shape, theirs.shape):
            yield f"V12: output {index} is {mine}, {theirs} follows from the inputs"


def _signature(function: Function) -> Iterator[str]:
    where = f", in function {function.name!r}"
    body = function.body
    args = {n.name: n for n in body.nodes if n.op.name == "_Arg"}
    if [e.node for e in function.params] != sorted(args, key=lambda n: args[n].attrs["index"]):
        yield f"V10: its parameters are not its _Arg nodes in order{where}"
    if [args[e.node].attrs["index"] for e in function.params if e.node in args] != list(
        range(len(function.params))
    ):
        yield f"V10: its _Arg nodes are not numbered 0, 1, ...{where}"
    for end in (*function.results, *(Endpoint(n, -1) for n in function.control)):
        node = body.by_name.get(end.node)
        if node is None or end.index >= len(node.outputs):
            yield f"V10: its result or control output {end} is not in it{where}"
    if len(function.result_names) != len(function.results):
        yield f"V10: {len(function.results)} results have {len(function.result_names)} names{where}"
    if body.library:
        yield f"V10: its body has a library of its own{where}"


def _is_of_kind(value: AttrValue, kind: str) -> bool:
    if kind.startswith("list("):
        return isinstance(value, tuple) and all(_is_of_kind(v, kind[5:-1]) for v in value)
    if kind == "shape":
        return value is None or (
            isinstance(value, tuple) and all(d is None or isinstance(d, int) for d in value)
        )
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    wants: dict[str, Any] = {
        "float": (float, int),
        "string": bytes,
        "type": DType,
        "tensor": (np.ndarray, UnreadableTensor),
        "func": FuncRef,
    }
    return isinstance(value, wants[kind])
