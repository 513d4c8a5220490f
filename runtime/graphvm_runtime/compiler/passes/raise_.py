"""Brings TF1's dataflow primitives into the functional form."""

from __future__ import annotations

from dataclasses import dataclass

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import Graph
from graphvm_runtime.ops.control_flow import PRIMITIVES


@dataclass(frozen=True, slots=True)
class RaiseControlFlow:
    """See `ir.raise_`; regions that are fed or fetched inside stay dataflow."""

    name: str = "raise"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with raised regions."""
        if not any(n.op.name in PRIMITIVES for n in graph.all_nodes()):
            return graph, request
        # loaded late: graphs that were built here have none
        from graphvm_runtime.ir.control_flow.raise_ import raise_

        # naming outputs leaves the others of their nodes free
        wanted = {str(e) for e in (*request.feeds, *request.fetches)} | set(request.targets)
        return raise_(graph, wanted), request
