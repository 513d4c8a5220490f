"""Turns `_Saved` nodes into accumulators and branch outputs."""

from __future__ import annotations

from dataclasses import dataclass

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.derivatives.saved import FAMILY, SAVED
from graphvm_runtime.ir.graph import Graph


@dataclass(frozen=True, slots=True)
class Materialise:
    """See `ir.materialise`."""

    name: str = "materialise"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph without `_Saved` nodes."""
        if not any(n.op.name == SAVED or FAMILY in n.attrs for n in graph.all_nodes()):
            return graph, request
        # loaded late: only derivatives of control flow need it
        from graphvm_runtime.ir.derivatives.materialise import materialise

        return materialise(graph, request.fetches), request
