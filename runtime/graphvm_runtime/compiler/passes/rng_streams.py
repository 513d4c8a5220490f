"""Gives each random op of a function a random number stream of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import Function, Graph, Node
from graphvm_runtime.ops.registry import Effects


@dataclass(frozen=True, slots=True)
class NameRngStreams:
    """Writes the path `function/node` into random ops, before bodies are inlined or merged.

    A stream belongs to a session and a path; ops of the graph itself go by their own names.
    """

    name: str = "rng-streams"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with paths in the random ops of its functions."""
        library = {name: _named(function) for name, function in graph.library.items()}
        return replace(graph, library=library), request


def _named(function: Function) -> Function:
    if not any(_draws(n) for n in function.body.nodes):
        return function
    return function.with_nodes(
        n.with_attrs(_path=f"{function.name}/{n.name}".encode()) if _draws(n) else n
        for n in function.body.nodes
    )


def _draws(node: Node) -> bool:
    counts = "first_n" in node.op.attrs  # how often it printed belongs to a path as well
    return (counts or bool(node.op.effects & Effects.RANDOM)) and "_path" not in node.attrs
