"""Refuses nodes that run functions of another signature."""

from __future__ import annotations

from dataclasses import dataclass

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import Graph
from graphvm_runtime.ir.signatures import check_signatures


@dataclass(frozen=True, slots=True)
class Signatures:
    """See `ir.signatures`."""

    name: str = "signatures"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The same graph.

        Raises:
            InvalidArgumentError: a function takes or gives other values than a node says.
        """
        check_signatures(graph)
        return graph, request
