"""Removes identities: casts to the same type, reshapes to the same shape and the like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import Endpoint, Graph, Node
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.registry import Trait
from graphvm_runtime.shapes import is_known


@dataclass(frozen=True, slots=True)
class Simplify:
    """Turns shape changes to the same, fully known shape and casts to the same type into Identity.

    Identity itself costs nothing: programs name its input's register.
    """

    name: str = "simplify"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The simplified graph, bodies included."""
        return graph.map_bodies(_simplified), request


def _simplified(nodes: Sequence[Node]) -> tuple[Node, ...]:
    by_name = {n.name: n for n in nodes}
    return tuple(_identity(n, by_name) if _is_identity(n, by_name) else n for n in nodes)


def _is_identity(node: Node, by_name: dict[str, Node]) -> bool:
    if not node.op.traits & Trait.SAME_TYPE_IDENTITY:
        return False
    source: Endpoint = node.inputs[0]
    type_ = by_name[source.node].outputs[source.index]
    return (
        type_ == node.outputs[0]
        and is_known(type_.shape)
        # what says the shape is left out with all above it, so nothing there may change state
        and all(by_name[e.node].op.traits & Trait.REMATERIALISABLE for e in node.inputs[1:])
    )


def _identity(node: Node, by_name: dict[str, Node]) -> Node:
    # what the constants came after, the node does
    after = [*node.after, *(n for e in node.inputs[1:] for n in by_name[e.node].after)]
    return node.changed(
        op=lookup("Identity"),
        inputs=node.inputs[:1],
        after=dict.fromkeys(after),
        attrs={"T": node.outputs[0].dtype},
    )
