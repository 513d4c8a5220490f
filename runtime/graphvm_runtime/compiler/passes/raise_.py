"""Brings TF1's dataflow primitives into the functional form."""

from __future__ import annotations

from dataclasses import dataclass

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import Graph
from graphvm_runtime.ir.raise_ import raise_

_PRIMITIVES = frozenset({
    "Switch", "RefSwitch", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit",
    "NextIteration", "RefNextIteration", "LoopCond",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class RaiseControlFlow:
    """See `ir.raise_`; regions that are fed or fetched inside stay dataflow."""

    name: str = "raise"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with raised regions."""
        if not any(n.op.name in _PRIMITIVES for n in graph.nodes):
            return graph, request
        return raise_(graph, request.names()), request
