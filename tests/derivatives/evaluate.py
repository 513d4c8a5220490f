"""A machine of sixty lines that runs graphs node by node: the oracle of the derivative tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.ir.bodies import body_keys, body_ref
from graphvm_runtime.ir.derivatives.materialise import materialise
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, endpoint, reachable
from graphvm_runtime.kernels.registry import made
from graphvm_runtime.ops.functional import BRANCHES, CALLS, CASES, LOOPS
from graphvm_runtime.values.resources import ResourceManager, Step


class Machine:
    """Runs one graph; variables live as long as it does.

    Attributes:
        graph: what it runs, `_Saved` nodes gone.
    """

    def __init__(self, graph: Graph, fetches: Sequence[str] | None = None) -> None:
        ends = None
        if fetches is not None:
            ends = [endpoint(f) for f in fetches]
            names = [e.node for e in ends]
            graph = graph.with_nodes(reachable(graph.by_name, names))
        self.graph = materialise(graph, ends)
        self.step = Step(ResourceManager(), {})

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Any] | None = None) -> list[Any]:
        """Values of tensors; feeds by name of the tensor."""
        given = {endpoint(k): v for k, v in (feeds or {}).items()}
        ends = [endpoint(f) for f in fetches]
        with np.errstate(all="ignore"):
            return self._values(self.graph, ends, given, ())

    def _values(
        self,
        graph: Graph,
        ends: Sequence[Endpoint],
        known: dict[Endpoint, Any],
        also: Sequence[str],
    ) -> list[Any]:
        fed = {e.node for e in known}
        roots = [e.node for e in ends if e not in known] + [n for n in also if n not in fed]
        for node in reachable(graph.by_name, roots, fed):
            for i, value in enumerate(self._run(node, [known[e] for e in node.inputs])):
                known[Endpoint(node.name, i)] = value
        return [known[e] for e in ends]

    def _call(self, name: str, inputs: Sequence[Any]) -> list[Any]:
        function: Function = self.graph.library[name]
        given = dict(zip(function.params, inputs, strict=True))
        return self._values(function.body, function.results, given, function.control)

    def _run(self, node: Node, inputs: list[Any]) -> Sequence[Any]:
        op, attrs = node.op.name, node.attrs
        if op in LOOPS:
            while bool(self._call(attrs["cond"].name, inputs)[0]):
                inputs = self._call(attrs["body"].name, inputs)
            return inputs
        if op in BRANCHES:
            keys = body_keys(node)
            side = int(inputs[0]) if op in CASES else int(not inputs[0])
            return self._call(body_ref(node, keys[side]).name, inputs[1:])
        if op in CALLS:
            return self._call(attrs["f"].name, inputs)
        kernel = made(node)
        found = kernel.call(self.step, *inputs) if kernel.step else kernel.call(*inputs)
        if not node.outputs:
            return ()
        return (found,) if len(node.outputs) == 1 else found
