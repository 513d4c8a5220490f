"""A body together with the graphs around it: what derivatives by a tensor from around walk over.

    graph around    x ── Mul ── y ─┐               nodes  Mul_around1
    body                           └── y ── Square nodes  y = Identity(Mul_around1), Square

New nodes go to the body; there, values of the graphs around are captured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from graphvm.functions.function import FuncGraph
from graphvm.graph.graph import Graph, Operation, Tensor
from graphvm.transforms.scopes import Root
from graphvm_runtime.errors import RuleError
from graphvm_runtime.ir.derivatives.saved import FAMILY
from graphvm_runtime.ir.graph import Endpoint, Node, reachable, source_text, unused
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.control_flow import PRIMITIVES
from graphvm_runtime.ops.functional import REGIONS
from graphvm_runtime.shapes import TensorType


def innermost(tensors: Iterable[Tensor]) -> Graph:
    """The graph among those of some tensors that lies inside of the others.

    Where none does, that of the first tensor.
    """
    graphs = list(dict.fromkeys(t.graph for t in tensors))
    inner: Graph = graphs[0]
    for graph in graphs:
        if isinstance(graph, FuncGraph) and inner in graph.around():
            inner = graph
    return inner


class Levels:
    """The nodes of a graph, with those of the graphs around it that lead from sources into it.

    Args:
        graph: where new nodes go.
        ys: tensors that are differentiated.
        sources: those by which.
        stops: those that count as constant.

    Attributes:
        nodes: in topological order, the graphs around first, by names of their own.

    Raises:
        RuleError: on the way through a graph around lies control flow that cannot be repeated in
            the body.
    """

    def __init__(
        self,
        graph: Graph,
        ys: Sequence[Tensor],
        sources: Sequence[Tensor],
        stops: Sequence[Tensor] = (),
    ) -> None:
        around: list[Graph] = []
        if isinstance(graph, FuncGraph) and not graph.copies_captures:
            around = graph.around()
        depth = max((around.index(t.graph) + 1 for t in sources if t.graph in around), default=0)
        self._graphs = [graph, *around[:depth]]
        self._names: dict[tuple[int, str], str] = {}
        self._there: dict[str, tuple[int, str]] = {}
        self._captures: list[dict[str, Tensor]] = [
            {inner.op.name: outer for outer, inner in g.captures}
            if isinstance(g, FuncGraph) and level < depth else {}
            for level, g in enumerate(self._graphs)
        ]  # fmt: skip
        own = graph.nodes_since(0)
        self._own = {n.name for n in own}
        self.nodes: list[Node] = []
        if not depth:
            self.nodes.extend(own)
            return
        dependent = {self.end(x) for x in sources}
        stopped = {self.end(t).node for t in stops}
        for level in range(depth, 0, -1):
            wanted = list(self._captures[level - 1].values())
            wanted += [y for y in ys if y.graph is self._graphs[level]]
            self._take(level, wanted, dependent, stopped)
        self.nodes.extend(self._entered(n, 0) for n in own)

    def end(self, tensor: Tensor) -> Endpoint:
        """The endpoint among `nodes`; that of a capture where it is of none of these graphs."""
        for level, graph in enumerate(self._graphs):
            if tensor.graph is graph:
                return self._end(tensor.endpoint, level)
        return self._graphs[0].capture(tensor).endpoint

    def outer(self, end: Endpoint) -> Tensor | None:
        """The tensor of a graph around that an endpoint stands for."""
        there = self._there.get(end.node)
        if there is None:
            return None
        level, name = there
        return self._graphs[level].tensor_at(Endpoint(name, end.index))

    def root(self, nodes: Mapping[str, Node]) -> Root:
        """What to see the nodes by."""
        graph = self._graphs[0]
        return Root(graph, nodes) if len(self._graphs) == 1 else _AroundRoot(graph, nodes, self)

    def _take(
        self,
        level: int,
        wanted: Iterable[Tensor],
        dependent: set[Endpoint],
        stopped: set[str],
    ) -> None:
        """Adds the nodes of a graph around on which `wanted` depend, and that depend."""
        by_name = {n.name: n for n in self._graphs[level].nodes_since(0)}
        for node in reachable(by_name, [t.op.name for t in wanted]):
            seen = self._entered(node, level)
            if seen.name in stopped or dependent.isdisjoint(seen.inputs):
                continue
            if (
                seen.op.name in PRIMITIVES
                or FAMILY in seen.attrs
                or any(True for _ in seen.functions())
            ):
                seen = self._repeated(seen, node, level)
            self.nodes.append(seen)
            dependent.update(Endpoint(seen.name, i) for i in range(len(seen.outputs)))

    def _entered(self, node: Node, level: int) -> Node:
        """The node by its name here; a capture as the identity of what it captures."""
        outer = self._captures[level].get(node.name)
        name = self._name(node.name, level)
        if outer is not None:
            attrs = MappingProxyType({"T": node.outputs[0].dtype.base})
            inputs = [self.end(outer)]
            return node.changed(name=name, op=lookup("Identity"), inputs=inputs, attrs=attrs)
        if not level:
            return node
        inputs = [self._end(e, level) for e in node.inputs]
        return node.changed(name=name, inputs=inputs, after=())

    def _repeated(self, seen: Node, node: Node, level: int) -> Node:
        """Control flow of a graph around, once more in the body: derivatives need its inside."""
        if node.op.name not in REGIONS or FAMILY in node.attrs or node.op.is_stateful:
            raise RuleError(
                f"{node.name!r} is control flow outside of the body in which its derivative is "
                "wanted, and cannot be repeated there",
                node=node.signature(),
                made=source_text(node.source),
                do="call gradients outside of the body, and use its result inside",
            )
        inside = self._graphs[0]
        inputs = [inside.capture(t) for t in self._graphs[level].operation_named(node.name).inputs]
        attrs = {k: v for k, v in node.attrs.items() if k != "_class"}
        label = node.name.rpartition("/")[2]
        made = inside.add_node(node.op, node.op.grouped(inputs, node.attrs), attrs, label)
        self._names[level, node.name] = made.name
        return seen.changed(name=made.name)

    def _name(self, name: str, level: int) -> str:
        if not level:
            return name
        found = self._names.get((level, name))
        if found is None:
            found = unused(f"{name}_around{level}", self._there, self._own)
            self._names[level, name] = found
            self._there[found] = level, name
        return found

    def _end(self, end: Endpoint, level: int) -> Endpoint:
        return Endpoint(self._name(end.node, level), end.index)


class _AroundRoot(Root):
    """A body, with nodes of the graphs around it as if they were its own."""

    def __init__(self, graph: Graph, nodes: Mapping[str, Node], levels: Levels) -> None:
        super().__init__(graph, nodes)
        self._levels = levels
        graph.reserve_names(n for n in nodes if levels.outer(Endpoint(n)) is not None)

    def value(self, end: Endpoint) -> Tensor:
        """See `Scope`."""
        outer = self._levels.outer(end)
        return self.graph.tensor_at(end) if outer is None else self.graph.capture(outer)

    def type_of(self, end: Endpoint) -> TensorType:
        """See `Scope`."""
        outer = self._levels.outer(end)
        return self.graph.tensor_at(end).type if outer is None else outer.type

    def handle_of(self, end: Endpoint) -> TensorType | None:
        """See `Scope`."""
        outer = self._levels.outer(end)
        tensor = self.graph.tensor_at(end) if outer is None else outer
        found: TensorType | None = tensor.graph.handle_of(tensor)
        return found

    def operations(self, name: str) -> list[Operation]:
        """See `Scope`."""
        outer = self._levels.outer(Endpoint(name))
        return super().operations(name) if outer is None else []
