"""Lowers functional control flow that may not be one instruction to dataflow primitives.

Those that queues run across (`ir.strictness`), and those whose functions hold primitives that
could not be raised: the dataflow machine runs them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.control_flow.strictness import queues
from graphvm_runtime.ir.graph import Function, Graph, Node, functions_used
from graphvm_runtime.ops.control_flow import PRIMITIVES
from graphvm_runtime.ops.functional import LOOPS, REGIONS


@dataclass(frozen=True, slots=True)
class LowerNonstrict:
    """Leaves a graph as it is where instructions will do, as nearly always."""

    name: str = "lower-nonstrict"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with such regions as dataflow primitives."""
        used = functions_used(graph.nodes, graph.library)
        suspects = {
            name for name, f in used.items()
            if any(n.op.is_blocking or n.op.name in PRIMITIVES for n in f.body.nodes)
        }  # fmt: skip
        waiting = any(n.op.is_blocking for n in graph.nodes)
        if not suspects and not waiting:
            return graph, request
        loose = _loose_functions(used)
        names = _loose(graph.nodes, graph.library, loose)
        if not names:
            return graph, request
        # loaded late: hardly a graph needs it
        from graphvm_runtime.ir.control_flow.lower import lower

        return lower(graph, only=names, keep=request.names(), gate=False), request


def _loose_functions(library: Mapping[str, Function]) -> set[str]:
    """Functions that hold primitives, or a region that may not be one instruction."""
    loose = {
        name for name, f in library.items() if any(n.op.name in PRIMITIVES for n in f.body.nodes)
    }
    changed = True
    while changed:
        changed = False
        for name, function in library.items():
            if name not in loose and _loose(function.body.nodes, library, loose):
                loose.add(name)
                changed = True
    return loose


def _loose(
    nodes: Collection[Node], library: Mapping[str, Function], loose: Collection[str]
) -> set[str]:
    """Functional nodes among these that may not be one instruction."""
    regions = [n for n in nodes if n.op.name in REGIONS]
    if not regions:
        return set()
    crossing = queues({n.name: n for n in nodes}, library)
    return {
        n.name for n in regions
        if any(f.name in loose for f in n.functions())
        or crossing.crossing({n.name}, repeats=False)
        or (n.op.name in LOOPS and _waiting_inside(n, library) > 1)
    }  # fmt: skip


def _waiting_inside(node: Node, library: Mapping[str, Function]) -> int:
    """Ops inside a region that may wait for others."""
    return sum(
        n.op.is_blocking for f in functions_used([node], library).values() for n in f.body.nodes
    )
