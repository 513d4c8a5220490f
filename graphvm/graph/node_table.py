"""The nodes of a graph in the order in which they were made, found by name."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

from graphvm.graph.tensor import Operation, Tensor
from graphvm_runtime.errors import (
    FinalizedError,
    GraphError,
    GraphvmError,
    NameNotFoundError,
    clipped,
)
from graphvm_runtime.ir.graph import Endpoint, Node, source_text
from graphvm_runtime.ir.names import as_text, split_output

_FEW = 5000  # nodes among which a name is searched for in no time that a user would notice


class NodeTable:
    """The nodes of a graph, with the operations and tensors that are views of them.

    It grows only at its end, until it is closed.

    Args:
        graph: the graph that operations and tensors say they belong to.

    Attributes:
        lock: held while the graph is added to.
        nodes: all nodes, in order.
        finalized: whether it is closed.
    """

    def __init__(self, graph: Any) -> None:
        self.lock = threading.RLock()
        self.nodes: list[Node] = []
        self.finalized = False
        self._graph = graph
        # Views, made when first asked for; where nothing but the only output of a node was asked
        # for yet, that tensor.
        self._views: list[Operation | Tensor | None] = []
        self._positions: dict[str, int] = {}
        self._consumers: dict[Endpoint, list[int]] = {}
        self._consumers_of = 0  # nodes that `_consumers` covers

    def __contains__(self, name: str) -> bool:
        return name in self._positions

    def __len__(self) -> int:
        return len(self.nodes)

    # -- adding ----------------------------------------------------------------------------

    def insert(self, node: Node, view: Tensor | None) -> int:
        """Takes in a node at the end.

        Args:
            node: its inputs are in the table.
            view: its output, where it has just one.

        Returns:
            Its position.

        Raises:
            GraphError: its name is taken.
            FinalizedError: the table is closed.
        """
        with self.lock:
            at = len(self.nodes)
            if self.finalized or self._positions.setdefault(node[0], at) != at:
                raise self._refusal(node)
            self.nodes.append(node)
            self._views.append(view)
        return at

    def _refusal(self, node: Node) -> GraphvmError:
        error: GraphvmError = GraphError(f"the graph has an operation {node.name!r} already")
        if self.finalized:
            error = FinalizedError("the graph is finalized: nothing can be added to it")
        return error.located("", source_text(node.source))

    def extend(self, nodes: Sequence[Node]) -> None:
        """Takes in nodes in topological order: all or none.

        Raises:
            GraphError: a name is taken.
            FinalizedError: the table is closed.
        """
        with self.lock:
            if self.finalized:
                raise FinalizedError("the graph is finalized: nothing can be added to it")
            there, start = self._positions, len(self.nodes)
            names = {n.name: i for i, n in enumerate(nodes, start)}
            if len(names) != len(nodes) or not names.keys().isdisjoint(there):
                taken = next(
                    n.name
                    for i, n in enumerate(nodes, start)
                    if n.name in there or names[n.name] != i
                )
                raise GraphError(f"the graph has an operation {taken!r} already")
            self.nodes.extend(nodes)
            self._views.extend([None] * len(nodes))
            there.update(names)

    def replace(self, node: Node) -> None:
        """Puts a node in the place of the one of its name."""
        with self.lock:
            at = self._positions[node.name]
            self.nodes[at] = node
            view = self._views[at]
            if isinstance(view, Operation):
                view.node = node

    # -- finding ---------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Node:
        return self.nodes[self._positions[name]]

    def node(self, name: str) -> Node:
        """The node of that name. Raises NameNotFoundError."""
        at = self._positions.get(name)
        if at is None:
            raise self._missing(f"the graph has no operation {name!r}", name)
        return self.nodes[at]

    def _missing(self, what: str, name: str) -> NameNotFoundError:
        """The error for a name that is not there, with those that look like it."""
        from difflib import get_close_matches  # only for an error

        there = self._positions
        near = get_close_matches(name, there, 3) if len(there) < _FEW else []
        do = f"perhaps you mean {' or '.join(map(repr, near))}" if near else ""
        return NameNotFoundError(what, do=do)

    def operation_at(self, at: int) -> Operation:
        """The operation at a position."""
        view = self._views[at]
        if not isinstance(view, Operation):
            with self.lock:
                view = self._views[at]
                if not isinstance(view, Operation):
                    view = self._views[at] = Operation(self._graph, self.nodes[at], view)
        return view

    def first_output_at(self, at: int) -> Tensor:
        """Output 0 of the operation at a position."""
        view = self._views[at]
        return view if isinstance(view, Tensor) else self.operation_at(at).outputs[0]

    def operations(self, positions: Iterable[int] | None = None) -> list[Operation]:
        """The operations at some positions; all without them."""
        return [self.operation_at(at) for at in positions or range(len(self.nodes))]

    def operation_named(self, name: str) -> Operation:
        """The operation of a name that is known to be there."""
        return self.operation_at(self._positions[name])

    def outputs_of(self, op: Operation) -> tuple[Tensor, ...]:
        """The outputs of one of its operations."""
        with self.lock:
            if op._tensors is None:
                node = op.node
                op._tensors = tuple(
                    [
                        Tensor(self._graph, t, Endpoint(node.name, i))
                        for i, t in enumerate(node.outputs)
                    ]
                )
            return op._tensors

    def tensor_at(self, end: Endpoint) -> Tensor:
        """The tensor that an endpoint of the IR names."""
        at = self._positions[end.node]
        view = self._views[at]
        if view is None:
            with self.lock:
                types = self.nodes[at].outputs
                view = self._views[at]
                if view is None and len(types) == 1 and end.index == 0:
                    view = self._views[at] = Tensor(self._graph, types[0], end)
        if isinstance(view, Tensor) and end.index == 0:
            return view
        return self.operation_at(at).outputs[end.index]

    def consumers(self, end: Endpoint) -> list[Operation]:
        """Operations that take what an endpoint names, once for each input, as in TensorFlow."""
        with self.lock:
            for at in range(self._consumers_of, len(self.nodes)):
                for each in self.nodes[at].inputs:
                    self._consumers.setdefault(each, []).append(at)
            self._consumers_of = len(self.nodes)
            return [self.operation_at(at) for at in self._consumers.get(end, ())]

    def element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """The tensor or operation that `obj` names or stands for.

        Raises:
            NameNotFoundError: the graph has nothing of that name; also a KeyError.
            GraphError: it is in another graph, or the name is not of the form that is allowed.
            TypeError: it is nothing of the kind.
        """
        if not isinstance(obj, (Tensor, Operation, str, bytes)):
            conversion = getattr(obj, "_as_graph_element", None)
            if conversion is not None:
                obj = conversion()
        if isinstance(obj, (str, bytes)):
            return self._named(as_text(obj), allow_tensor, allow_operation)
        if (allow_tensor and isinstance(obj, Tensor)) or (
            allow_operation and isinstance(obj, Operation)
        ):
            if obj.graph is not self._graph:
                raise wrong_graph_error(obj)
            return obj
        wanted = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
        raise TypeError(f"a {type(obj).__name__} does not convert to a {wanted}: {clipped(obj)}")

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
        node, index = split_output(name)
        if ":" not in name:
            at = self._positions.get(name)
            if not allow_operation:
                known = "an operation of the graph" if at is not None else "no tensor"
                raise GraphError(
                    f"{name!r} names {known}; a tensor is named node:index",
                    do=f"write {name + ':0'!r}",
                )
            if at is None:
                raise self._missing(f"the graph has no operation {name!r}", name)
            return self.operation_at(at)
        if not allow_tensor:
            raise GraphError(f"{name!r} names a tensor, not an operation", do=f"write {node!r}")
        if index is None:
            raise GraphError(f"{name!r} is no name: a tensor is named node:index")
        at = self._positions.get(node)
        if at is None:
            what = f"{name!r} is not in the graph: there is no operation {node!r}"
            raise self._missing(what, node)
        outputs = self.operation_at(at).outputs
        if index >= len(outputs):
            raise NameNotFoundError(
                f"{name!r} does not exist: operation {node!r} has {len(outputs)} outputs",
                node=self.nodes[at].signature(),
            )
        return outputs[index]


def wrong_graph_error(element: Tensor | Operation) -> GraphError:
    """The error for a tensor or operation that is used where its graph is not."""
    operation = element.op if isinstance(element, Tensor) else element
    graph = element.graph
    what = "belongs to another graph"
    do = "make all that belongs together inside one `with graph.as_default():`"
    if graph.building_function:
        what = f"is made inside {graph.name!r}, and has a value only while that runs"
        do = "let the body of the loop, branch or function give it back as a result"
    return GraphError(
        f"{element.name!r} {what}",
        node=operation.node.signature(),
        made=source_text(operation.node.source),
        do=do,
    )
