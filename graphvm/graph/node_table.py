"""What a graph holds, and how it is found by name."""

from __future__ import annotations

import threading
from typing import Any

from graphvm.graph.tensor import Operation, Tensor
from graphvm_runtime.errors import GraphError, NameNotFoundError, clipped
from graphvm_runtime.ir.graph import Endpoint, Node, source_text

_FEW = 5000  # nodes among which a name is searched for in no time that a user would notice


class Elements:
    """The nodes of a graph, with the operations and tensors that are views of them.

    Source: the look-ups of `tf.Graph`.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._nodes: list[Node] = []
        # Views, made when first asked for; where nothing but the only output of a node was asked
        # for yet, that tensor.
        self._views: list[Operation | Tensor | None] = []
        self._at: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        """Whether it has an operation of that name."""
        return name in self._at

    def node(self, name: str) -> Node:
        """The node of that name. Raises NameNotFoundError."""
        at = self._at.get(name)
        if at is None:
            raise self._missing(f"the graph has no operation {name!r}", name)
        return self._nodes[at]

    def _missing(self, what: str, name: str) -> NameNotFoundError:
        """The error for a name that is not there, with those that look like it."""
        from difflib import get_close_matches  # only for an error

        near = get_close_matches(name, self._at, 3) if len(self._at) < _FEW else []
        do = f"perhaps you mean {' or '.join(map(repr, near))}" if near else ""
        return NameNotFoundError(what, do=do)

    def _lookup(self, name: str) -> Node:
        return self._nodes[self._at[name]]

    def _view(self, at: int) -> Operation:
        view = self._views[at]
        if not isinstance(view, Operation):
            with self._lock:
                view = self._views[at]
                if not isinstance(view, Operation):
                    view = self._views[at] = Operation(self, self._nodes[at], view)
        return view

    def outputs_of(self, op: Operation) -> tuple[Tensor, ...]:
        """The outputs of one of its operations."""
        with self._lock:
            if op._tensors is None:
                node = op.node
                op._tensors = tuple(
                    [Tensor(self, t, Endpoint(node.name, i)) for i, t in enumerate(node.outputs)]
                )
            return op._tensors

    def get_operations(self) -> list[Operation]:
        """All operations in the order in which they were made."""
        return [self._view(i) for i in range(len(self._nodes))]

    def operation_of(self, node: Node) -> Operation:
        """The operation of one of its nodes."""
        return self._view(self._at[node.name])

    def operation_named(self, name: str) -> Operation:
        """The operation of a name that is known to be there."""
        return self._view(self._at[name])

    def tensor_at(self, end: Endpoint) -> Tensor:
        """The tensor that an endpoint of the IR names."""
        at = self._at[end.node]
        view = self._views[at]
        if view is None:
            with self._lock:
                types = self._nodes[at].outputs
                view = self._views[at]
                if view is None and len(types) == 1 and end.index == 0:
                    view = self._views[at] = Tensor(self, types[0], end)
        if isinstance(view, Tensor) and end.index == 0:
            return view
        return self._view(at).outputs[end.index]

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of that name.

        Raises:
            NameNotFoundError: there is none; also a KeyError.
            TypeError: the name is not text.
        """
        if not isinstance(name, str):
            raise TypeError(f"an operation's name is text, not {clipped(name)}")
        return self.as_graph_element(name, allow_tensor=False)  # type: ignore[no-any-return]

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor called `node:index`.

        Raises:
            NameNotFoundError: there is none; also a KeyError.
            GraphError: the name is an operation's.
            TypeError: the name is not text.
        """
        if not isinstance(name, str):
            raise TypeError(f"a tensor's name is text, not {clipped(name)}")
        return self.as_graph_element(name, allow_operation=False)  # type: ignore[no-any-return]

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
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
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._named(obj, allow_tensor, allow_operation)
        allowed = (Tensor,) * allow_tensor + (Operation,) * allow_operation
        if isinstance(obj, allowed):
            if obj.graph is not self:
                raise foreign(obj)
            return obj
        wanted = " or ".join(k.__name__ for k in allowed)
        raise TypeError(f"a {type(obj).__name__} does not convert to a {wanted}: {clipped(obj)}")

    def _named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Any:
        node, colon, index = name.rpartition(":")
        if not colon:
            at = self._at.get(name)
            if not allow_operation:
                known = "an operation of the graph" if at is not None else "no tensor"
                raise GraphError(
                    f"{name!r} names {known}; a tensor is named node:index",
                    do=f"write {name + ':0'!r}",
                )
            if at is None:
                raise self._missing(f"the graph has no operation {name!r}", name)
            return self._view(at)
        if not allow_tensor:
            raise GraphError(f"{name!r} names a tensor, not an operation", do=f"write {node!r}")
        if not index.isdecimal():
            raise GraphError(f"{name!r} is no name: a tensor is named node:index")
        at = self._at.get(node)
        if at is None:
            what = f"{name!r} is not in the graph: there is no operation {node!r}"
            raise self._missing(what, node)
        outputs = self._view(at).outputs
        if int(index) >= len(outputs):
            raise NameNotFoundError(
                f"{name!r} does not exist: operation {node!r} has {len(outputs)} outputs",
                node=self._nodes[at].signature(),
            )
        return outputs[int(index)]


def foreign(element: Tensor | Operation) -> GraphError:
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
