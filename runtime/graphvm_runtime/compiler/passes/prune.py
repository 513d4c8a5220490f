"""Dead-code elimination from fetches and targets, in the graph and in the functions it uses."""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import Graph, reachable
from graphvm_runtime.ir.pruning import functions_needed


@dataclass(frozen=True, slots=True)
class Prune:
    """Keeps the nodes that the request needs, and the functions that these use."""

    name: str = "prune"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The pruned graph."""
        nodes = tuple(reachable(graph.by_name, request.roots()))
        return replace(graph, nodes=nodes, library=functions_needed(nodes, graph.library)), request
