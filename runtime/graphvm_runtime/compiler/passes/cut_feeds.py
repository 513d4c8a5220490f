"""Fed tensors become placeholders, so nothing that was worked out from their old values stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Endpoint, Graph, Node, renamed
from graphvm_runtime.ops import lookup
from graphvm_runtime.shapes import TensorType


@dataclass(frozen=True, slots=True)
class CutFeeds:
    """Replaces each fed output by a placeholder of its type.

    A node of one output keeps its name. Source: TensorFlow's RewriteGraphForExecution.
    """

    name: str = "cut-feeds"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with placeholders for feeds, the request with their names."""
        if not request.feeds:
            return graph, request
        by_name = graph.by_name
        fed: dict[str, list[int]] = {}
        for end in request.feeds:
            if end.node not in by_name or end.index >= len(by_name[end.node].outputs):
                raise GraphError(f"the graph has no tensor {end}")
            fed.setdefault(end.node, []).append(end.index)
        moved: dict[Endpoint, Endpoint] = {}
        nodes: list[Node] = []
        for node in graph.nodes:
            indices = fed.get(node.name)
            if indices is None:
                nodes.append(node)
            elif len(node.outputs) == 1:
                nodes.append(placeholder(node))
            else:
                for index in indices:
                    name = f"{node.name}/fed_{index}"
                    while name in by_name:
                        name += "_"
                    moved[Endpoint(node.name, index)] = Endpoint(name)
                    nodes.append(placeholder(node, index, name))
                nodes.append(node)
        if moved:
            nodes = [
                n.changed(inputs=renamed(n.inputs, moved))
                if any(e in moved for e in n.inputs)
                else n
                for n in nodes
            ]
            request = replace(
                request,
                feeds=renamed(request.feeds, moved),
                fetches=renamed(request.fetches, moved),
            )
        return replace(graph, nodes=tuple(nodes)), request


def placeholder(node: Node, index: int = 0, name: str = "") -> Node:
    """A placeholder for an output of a node; it remembers the op that it stands for."""
    type_ = TensorType(node.outputs[index].dtype.base, node.outputs[index].shape)
    op = node.attrs.get("_fed", node.op.name)
    attrs = MappingProxyType({"dtype": type_.dtype, "shape": type_.shape, "_fed": op})
    return Node(
        name or node.name, lookup("Placeholder"), (), (), attrs, (type_,), node.device, node.source
    )
