"""Fed tensors become placeholders, so nothing that was worked out from their old values stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Endpoint, Graph, Node, reachable, renamed, unused
from graphvm_runtime.ir.pruning import functions_needed
from graphvm_runtime.ops import lookup
from graphvm_runtime.shapes import TensorType


@dataclass(frozen=True, slots=True)
class CutFeeds:
    """Replaces each fed output by a placeholder of its type, and leaves out what only feeds need.

    A node of one output keeps its name. Source: TensorFlow's RewriteGraphForExecution.
    """

    name: str = "cut-feeds"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with placeholders for feeds, the request with their names.

        Raises:
            GraphError: the graph has no such tensor.
        """
        if not request.feeds:
            return graph, request
        by_name = dict(graph.by_name)
        moved: dict[Endpoint, Endpoint] = {}
        fed: dict[str, Node] = {}
        for end in request.feeds:
            node = graph.by_name.get(end.node)
            if node is None or end.index >= len(node.outputs):
                raise GraphError(f"the graph has no tensor {end}")
            name = node.name
            if len(node.outputs) > 1:
                name = unused(f"{node.name}/fed_{end.index}", by_name)
                moved[end] = Endpoint(name)
            fed[name] = by_name[name] = placeholder(node, end.index, name)
        if moved:
            request = replace(
                request,
                feeds=renamed(request.feeds, moved),
                fetches=renamed(request.fetches, moved),
            )
            by_name = {
                n.name: n.changed(inputs=renamed(n.inputs, moved))
                if any(e in moved for e in n.inputs)
                else n
                for n in by_name.values()
            }
        nodes = (*fed.values(), *reachable(by_name, request.roots(), fed))
        library = graph.library
        if len(nodes) < len(graph.nodes):
            library = functions_needed(nodes, library)
        return replace(graph, nodes=nodes, library=library), request


def placeholder(node: Node, index: int, name: str) -> Node:
    """A placeholder for an output of a node; it remembers the op that it stands for."""
    type_ = TensorType(node.outputs[index].dtype.base, node.outputs[index].shape)
    op = node.attrs.get("_fed", node.op.name.encode())
    attrs = MappingProxyType({"dtype": type_.dtype, "shape": type_.shape, "_fed": op})
    return Node(name, lookup("Placeholder"), (), (), attrs, (type_,), node.device, node.source)
