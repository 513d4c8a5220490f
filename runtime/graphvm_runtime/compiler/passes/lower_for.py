"""Lowers `For` loops to calls."""

from __future__ import annotations

from dataclasses import dataclass

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.calls import without_counted
from graphvm_runtime.ir.graph import Graph


@dataclass(frozen=True, slots=True)
class LowerFor:
    """See `ir.calls`."""

    name: str = "lower-for"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph without `For` nodes."""
        return without_counted(graph), request
