"""The graph of a session: its nodes, its functions, and what a request needs of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from graphvm_runtime.compiler.pipeline import Compilation, Pipeline, configured
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import GraphError, InvalidArgumentError
from graphvm_runtime.ir.graph import Function, Graph, Node, reachable
from graphvm_runtime.ir.pruning import functions_needed

if TYPE_CHECKING:  # only sessions over several devices load them
    from graphvm_runtime.compiler.passes.partition import GraphPart
    from graphvm_runtime.compiler.passes.place import Place


class GraphStore:
    """Nodes and functions, which are only ever added.

    Args:
        pipeline: passes, dumps and a user's own passes.

    Thread-safe.
    """

    def __init__(self, pipeline: Pipeline | None = None) -> None:
        self.pipeline = configured(pipeline or Pipeline())
        self._lock = threading.Lock()
        self._nodes: dict[str, Node] = {}
        self._library: dict[str, Function] = {}

    def extend(self, nodes: Iterable[Node], library: Mapping[str, Function]) -> None:
        """Adds nodes and functions.

        Raises:
            GraphError: a node of that name is there already.
        """
        with self._lock:
            self._library.update(library)
            for node in nodes:
                if self._nodes.setdefault(node.name, node) is not node:
                    raise GraphError(
                        f"the session's graph has a node {node.name!r} already",
                        node=node.signature(),
                    )

    def compiled(self, request: Request, optimise: bool) -> Compilation:
        """The graph of a request after the passes.

        Raises:
            GraphvmError: the graph has no such tensor or operation, or a pass failed.
        """
        pipeline = self.pipeline.optimising() if optimise else self.pipeline
        return pipeline(self._closure(request), request)

    def shares(self, request: Request, place: Place) -> list[GraphPart]:
        """The graph of a request after all passes, cut into shares of devices.

        Raises:
            GraphvmError: as above, or it cannot be placed or cut.
        """
        return self.pipeline.spreading(place).shares(self._closure(request), request, place.default)

    def _closure(self, request: Request) -> Graph:
        """The part of the graph that the request can reach, with what it feeds."""
        for end in (*request.fetches, *request.feeds):
            node = self._nodes.get(end.node)
            if node is None or end.index >= len(node.outputs):
                raise InvalidArgumentError(f"the graph has no tensor {end}")
        for name in request.targets:
            if name not in self._nodes:
                raise InvalidArgumentError(f"the graph has no operation {name!r}")
        with self._lock:
            library = dict(self._library)
        nodes = tuple(reachable(self._nodes, [*request.roots(), *(e.node for e in request.feeds)]))
        return Graph(nodes, functions_needed(nodes, library))
