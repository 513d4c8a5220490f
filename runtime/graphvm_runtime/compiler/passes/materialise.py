"""Turns `_Saved` nodes into accumulators and branch outputs."""

from __future__ import annotations

from dataclasses import dataclass

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.derivatives.materialise import materialise
from graphvm_runtime.ir.graph import Graph


@dataclass(frozen=True, slots=True)
class Materialise:
    """See `ir.materialise`."""

    name: str = "materialise"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph without `_Saved` nodes."""
        return materialise(graph, request.fetches), request
