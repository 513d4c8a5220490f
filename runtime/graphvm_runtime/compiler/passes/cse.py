"""Common-subexpression elimination among pure nodes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import Endpoint, Graph, Node, renamed
from graphvm_runtime.ops.control_flow import PRIMITIVES
from graphvm_runtime.ops.registry import Effects, Trait

# merging these would move a value across a dead branch or a frame
_LEFT_ALONE = PRIMITIVES | {"ControlTrigger"}


@dataclass(frozen=True, slots=True)
class CommonSubexpressions:
    """Keeps the first of equal nodes: same op, inputs, attributes, control inputs and device.

    Graphs with dataflow primitives are left alone, since equal nodes may differ in liveness.
    """

    name: str = "cse"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with equal nodes merged, bodies included."""
        if any(n.op.name in _LEFT_ALONE for n in graph.nodes):
            return graph, request
        nodes, moved = _merged(graph.nodes, request.names())
        library = {}
        for name, function in graph.library.items():
            keep = {e.node for e in function.params} | set(function.control)
            body, inner = _merged(function.body.nodes, frozenset(keep))
            results = renamed(function.results, inner)
            library[name] = replace(function.with_nodes(body), results=results)
        request = replace(request, fetches=renamed(request.fetches, moved))
        return replace(graph, nodes=nodes, library=library), request


def _merged(
    nodes: tuple[Node, ...], keep: frozenset[str]
) -> tuple[tuple[Node, ...], dict[Endpoint, Endpoint]]:
    first: dict[Hashable, Node] = {}
    moved: dict[Endpoint, Endpoint] = {}
    gone: dict[str, str] = {}
    out = []
    for node in nodes:
        if any(e in moved for e in node.inputs) or any(n in gone for n in node.after):
            node = node.changed(
                inputs=renamed(node.inputs, moved), after=[gone.get(n, n) for n in node.after]
            )
        if (
            node.op.effects != Effects.PURE
            or node.op.internal
            or node.name in keep
            or node.op.traits & Trait.OUTSIDE
            or any(True for _ in node.functions())
        ):
            out.append(node)
            continue
        key = (
            node.op.name,
            node.inputs,
            node.after,
            node.device,
            tuple((k, _hashable(v)) for k, v in sorted(node.attrs.items()) if k[0] != "_"),
        )
        twin = first.setdefault(key, node)
        if twin is node:
            out.append(node)
        else:
            gone[node.name] = twin.name
            for i in range(len(node.outputs)):
                moved[Endpoint(node.name, i)] = Endpoint(twin.name, i)
    return tuple(out), moved


def _hashable(value: Any) -> Hashable:
    if isinstance(value, np.ndarray):
        if value.dtype == object or value.nbytes > 1 << 16:
            return id(value)
        return (value.dtype.str, value.shape, value.tobytes())
    return value  # type: ignore[no-any-return]  # the other attribute values are all hashable
