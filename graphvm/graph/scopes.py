"""`name_scope`, `device` and the like as functions of the API, which act on the default graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from graphvm.graph.default_stack import SESSIONS
from graphvm.graph.graph import Graph, get_default_graph
from graphvm_runtime.errors import GraphError


class name_scope:
    """Puts names made inside under a scope; `as` gives the scope, with a slash at its end.

    Args:
        name: the scope; ending in `/` it is an earlier one, entered again; None: see below.
        default_name: the scope where `name` is None.
        values: tensors that the scope is about; the graph of the first is used.

    Raises:
        GraphError: both names are None though there are values, or it is no name.

    Source: `tf.compat.v1.name_scope`.
    """

    def __init__(
        self,
        name: str | None,
        default_name: str | None = None,
        values: Iterable[Any] | None = None,
    ) -> None:
        self._name = default_name if name is None else name
        if self._name is None and values is not None:
            raise GraphError("a name scope of values needs a name or a default name")
        self._values = values
        self._open: list[AbstractContextManager[Any]] = []

    @property
    def name(self) -> str | None:
        """The name that was asked for."""
        return self._name

    def __enter__(self) -> str:
        graph = get_default_graph()
        for value in self._values or ():
            found = getattr(value, "graph", None)
            if isinstance(found, Graph):
                if not _encloses(found, graph):
                    around = found.as_default()
                    around.__enter__()
                    self._open.append(around)
                    graph = found
                break
        scope = graph.name_scope(self._name)
        made = scope.__enter__()
        self._open.append(scope)
        return made

    def __exit__(self, *error: Any) -> None:
        while self._open:
            self._open.pop().__exit__(*error)


def _encloses(outer: Graph, graph: Graph | None) -> bool:
    while graph is not None:
        if graph is outer:
            return True
        graph = graph.outer
    return False


def device(device_name_or_function: Any) -> AbstractContextManager[None]:
    """Asks for a device for the nodes made inside, on the default graph.

    Source: `tf.compat.v1.device`.
    """
    return get_default_graph().device(device_name_or_function)


def control_dependencies(control_inputs: Sequence[Any] | None) -> AbstractContextManager[None]:
    """Makes the nodes made inside run after `control_inputs`; None lets go of blocks around.

    Source: `tf.control_dependencies`.
    """
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[None]:
    """Puts the nodes made inside on the device of `op`.

    Source: `tf.compat.v1.colocate_with`.
    """
    return get_default_graph().colocate_with(op, ignore_existing)


def container(container_name: str) -> AbstractContextManager[str]:
    """Puts the resources of stateful nodes made inside into a named container.

    Source: `tf.compat.v1.container`.
    """
    return get_default_graph().container(container_name)


@contextmanager
def init_scope() -> Iterator[None]:
    """Leaves all bodies, control edges and loops: what is made inside is in the outermost graph.

    Source: `tf.init_scope`.
    """
    graph = get_default_graph()
    outermost = graph.outermost
    scope = graph.get_name_scope()
    with outermost.as_default(), outermost.control_dependencies(None):
        if outermost is graph:
            yield
        else:
            scope = scope or outermost.get_name_scope()
            with outermost.name_scope(scope + "/" if scope else None):
                yield


def get_default_session() -> Any:
    """The innermost default session of this thread, None without one.

    Source: `tf.compat.v1.get_default_session`.
    """
    return SESSIONS.top()


def add_to_collection(name: Any, value: Any) -> None:
    """Puts `value` into a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


def add_to_collections(names: Any, value: Any) -> None:
    """Puts `value` into some collections of the default graph."""
    get_default_graph().add_to_collections(names, value)


def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """A copy of a collection of the default graph; see `Graph.get_collection`."""
    return get_default_graph().get_collection(key, scope)


def get_collection_ref(key: Any) -> list[Any]:
    """A collection of the default graph itself."""
    return get_default_graph().get_collection_ref(key)
