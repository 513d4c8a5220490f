"""Works out types again where a feed made the old ones untrue."""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import GraphvmError
from graphvm_runtime.ir.graph import Graph, Node
from graphvm_runtime.ir.infer import Resolution, infer
from graphvm_runtime.ops.registry import Trait, has_trait
from graphvm_runtime.shapes import TensorType, is_known, merged


@dataclass(frozen=True, slots=True)
class Infer:
    """Infers the types of all nodes.

    Attributes:
        always: also where no feed replaced anything but a placeholder; then what is known
            already is kept and only refined.
    """

    name: str = "infer"
    always: bool = False

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with its types as the feeds leave them."""
        cut = any(
            "_fed" in n.attrs and not has_trait(n.attrs["_fed"].decode(), Trait.OUTSIDE)
            for n in (graph.by_name[e.node] for e in request.feeds if e.node in graph.by_name)
        )
        if not cut and not self.always:
            return graph, request
        nodes: dict[str, Node] = {}
        resolution = Resolution(lambda name: nodes.get(name, graph.by_name[name]))
        for node in graph.nodes:
            missing = [e for e in node.inputs if e.node not in nodes]
            if missing or node.op.internal or not node.outputs:
                nodes[node.name] = node  # a back edge of a loop, or nothing to infer
                continue
            if not cut and all(is_known(t.shape) for t in node.outputs):
                nodes[node.name] = node
                continue
            inputs = [nodes[e.node].outputs[e.index] for e in node.inputs]
            try:
                found = infer(node.op, inputs, node.attrs, resolution.of(node.inputs))
            except GraphvmError:
                # the run itself will tell, with values at hand
                found = tuple(TensorType(t.dtype, None) for t in node.outputs)
            if not cut:
                found = tuple(
                    _refined(old, new) for old, new in zip(node.outputs, found, strict=True)
                )
            nodes[node.name] = node if found == node.outputs else node.changed(outputs=found)
        return replace(graph, nodes=tuple(nodes.values())), request


def _refined(old: TensorType, new: TensorType) -> TensorType:
    try:
        return TensorType(old.dtype, merged(old.shape, new.shape))
    except GraphvmError:
        return old
