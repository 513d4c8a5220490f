"""Graph, Operation and Tensor: the builder of programs.

A graph is an append-only list of frozen nodes (`graphvm_runtime.ir.graph.Node`); Operation and
Tensor, of `graphvm.graph.tensor`, are views of it. Its parts: `builder` makes nodes,
`node_table` finds them, `scope_stack` holds what `with` blocks put around them, `function_library`
the functions, `collections` the collections.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from graphvm.graph.builder import Making
from graphvm.graph.collections import CollectionStore
from graphvm.graph.function_library import Library
from graphvm.graph.scope_stack import Stack
from graphvm.graph.source import user_source
from graphvm.graph.tensor import Operation, Tensor
from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import GraphError, clipped
from graphvm_runtime.ir import graph as ir
from graphvm_runtime.ir.graph import PRODUCER, Endpoint, Node
from graphvm_runtime.shapes import TensorType

if TYPE_CHECKING:
    from graphvm_runtime.protos.graph_pb2 import GraphDef
    from graphvm_runtime.protos.versions_pb2 import VersionDef

__all__ = [
    "Graph", "Operation", "Tensor", "get_default_graph", "reset_default_graph", "user_source",
]  # fmt: skip


class Graph(Making, CollectionStore, Library):
    """An append-only graph of operations; safe to build from several threads.

    Attributes:
        outer: the graph around, where this is the body of a function.

    Source: `tf.Graph`.
    """

    outer: Graph | None = None

    def __init__(self) -> None:
        Making.__init__(self)
        CollectionStore.__init__(self)
        Library.__init__(self)
        self._users: dict[Endpoint, list[int]] = {}
        self._users_of = 0  # nodes that `_users` covers
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._producer = PRODUCER
        self._min_consumer = 0

    # -- looking at it ---------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._nodes)} operations>"

    def __str__(self) -> str:
        from graphvm_runtime.ir.text import print_graph

        return print_graph(self.ir(), limit=16)

    @property
    def version(self) -> int:
        """Number of nodes made so far."""
        return len(self._nodes)

    @property
    def outermost(self) -> Graph:
        """The graph in which the bodies around this one lie; itself outside of bodies."""
        return self

    @property
    def building_function(self) -> bool:
        """Whether it is the body of a function."""
        return False

    @property
    def graph_def_versions(self) -> VersionDef:
        """TensorFlow's version numbers that a file of it carries."""
        from graphvm_runtime.protos.versions_pb2 import VersionDef

        return VersionDef(producer=self._producer, min_consumer=self._min_consumer)

    def ir(self) -> ir.Graph:
        """What it holds now, frozen."""
        with self._lock:
            return ir.Graph(
                tuple(self._nodes), dict(self.library), self._producer, self._min_consumer
            )

    def nodes_since(self, version: int) -> list[Node]:
        """Nodes made since it had that version."""
        with self._lock:
            return self._nodes[version:]

    def handle_of(self, tensor: Tensor) -> TensorType | None:
        """Type of what a resource or list holds, None when it is not known."""
        return self._resolution.handle(tensor.endpoint)

    def constant_of(self, tensor: Tensor) -> Array | None:
        """The value of a tensor that is constant, None when it is not known."""
        return self._resolution.constant(tensor.endpoint)

    def consumers(self, end: Endpoint) -> list[Operation]:
        """Operations that take what an endpoint names, once for each input, as in TensorFlow."""
        with self._lock:
            for at in range(self._users_of, len(self._nodes)):
                for each in self._nodes[at].inputs:
                    self._users.setdefault(each, []).append(at)
            self._users_of = len(self._nodes)
            return [self._view(at) for at in self._users.get(end, ())]

    # -- the graph as a whole --------------------------------------------------------------

    def merge_versions(self, producer: int, min_consumer: int) -> None:
        """Notes that nodes of a file of these versions were added."""
        self._producer = min(self._producer, producer)
        self._min_consumer = max(self._min_consumer, min_consumer)

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Makes it the default graph inside the block."""
        with _GRAPHS.holding(self):
            yield self

    def finalize(self) -> None:
        """Closes it: nothing can be added any more."""
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """Whether it is closed."""
        return self._finalized

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbids to feed a tensor."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a tensor may be fed."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Forbids to fetch an operation and its outputs."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Whether a tensor or operation may be fetched."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    def as_graph_def(
        self,
        from_version: int | None = None,
        add_shapes: bool = False,
        *,
        control_flow: str = "functional",
        sources: bool = False,
    ) -> GraphDef:
        """The graph as TensorFlow's message.

        Args:
            from_version: only the nodes made since the graph had that version.
            add_shapes: write static shapes as `_output_shapes`.
            control_flow: "functional", or "v1" for programs of TensorFlow 1's time: branches and
                loops as Switch, Merge, Enter, Exit and NextIteration.
            sources: write the user's own lines too.

        Raises:
            GraphError: `control_flow` is neither, or the graph has something that TensorFlow's
                files cannot say.
        """
        from graphvm_runtime.ir.graphdef.write import file_form, write_graph

        if control_flow not in ("functional", "v1"):
            raise GraphError(f"control_flow is functional or v1, not {clipped(control_flow)}")
        graph = file_form(self.ir(), self.outermost.derived)
        if control_flow == "v1":
            # loaded late: few files are for programs of that time
            from graphvm_runtime.ir.control_flow.lower import loose_ends, lower

            graph = lower(graph, keep=loose_ends(graph))
        message = write_graph(graph, shapes=add_shapes, sources=sources)
        if from_version is not None:
            old = {n.name for n in self._nodes[:from_version]}
            kept = [n for n in message.node if n.name not in old]
            del message.node[:]
            message.node.extend(kept)
        return message


_GRAPHS: Stack[Graph] = Stack()
_default_lock = threading.Lock()
_default: list[Graph] = []


def get_default_graph() -> Graph:
    """The innermost default graph of this thread, or the one of the process.

    Source: `tf.get_default_graph`.
    """
    items = _GRAPHS.items
    if items:
        return items[-1]
    with _default_lock:
        if not _default:
            _default.append(Graph())
        return _default[0]


def reset_default_graph() -> None:
    """Puts a new graph in place of the default one of the process.

    Raises:
        GraphError: called inside `graph.as_default()`.

    Source: `tf.reset_default_graph`.
    """
    if _GRAPHS.items:
        raise GraphError("the default graph cannot be reset inside `graph.as_default()`")
    with _default_lock:
        _default[:] = [Graph()]
