"""Leaves out what no fetch and no target needs, in the graph and in the functions it uses."""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import Function, Graph, Node, reachable


@dataclass(frozen=True, slots=True)
class Prune:
    """Keeps the nodes that the request needs, and the functions that these use."""

    name: str = "prune"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The pruned graph."""
        nodes = reachable(graph.by_name, request.roots())
        library: dict[str, Function] = {}
        pending: list[Node] = list(nodes)
        while pending:
            node = pending.pop()
            for ref in node.functions():
                function = graph.library.get(ref.name)
                if function is None or ref.name in library:
                    continue
                pruned = _pruned(function)
                library[ref.name] = pruned
                pending.extend(pruned.body.nodes)
        return replace(graph, nodes=tuple(nodes), library=library), request


def _pruned(function: Function) -> Function:
    body = function.body
    roots = [e.node for e in (*function.params, *function.results)] + list(function.control)
    nodes = reachable(body.by_name, roots)
    if len(nodes) == len(body.nodes):
        return function
    return replace(function, body=replace(body, nodes=tuple(nodes)))
