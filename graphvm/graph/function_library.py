"""The functions that a graph carries, and the numbers that its random operations get."""

from __future__ import annotations

import threading
from typing import Any

from graphvm.graph.scope_stack import UniqueNames
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Function, Node


class FunctionLibrary:
    """Functions of a graph by name, and its seed; a graph shares both with its bodies.

    Attributes:
        by_name: the functions.
        seed: the graph's own seed; None without one.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, Function] = {}
        self.seed: int | None = None
        self._names = UniqueNames()
        self._seeded = 0
        # views of the functions as graphs (`FuncGraph`), made when first needed
        self.bodies: dict[str, Any] = {}
        # the derived functions that symbolic gradients stand for, by name of the function
        self.derived: dict[str, str] = {}
        # functions that users defined, and names of those declared for later
        self.defined: dict[Any, Any] = {}
        self.declared: set[str] = set()
        # Python gradient functions of those (graphvm.rules), by what their calls ask for
        self.gradients: dict[str, Any] = {}
        # names of operations around that a function's body waits for, by name of the function
        self.waits: dict[str, tuple[str, ...]] = {}
        # nodes that were built in a function's body and that nothing needs, by name of the function
        self.dead_nodes: dict[str, tuple[Node, ...]] = {}
        self._lock = threading.Lock()

    def next_seed(self) -> int:
        """Number of the next op that draws from the graph's seed: 0, 1, ...; bodies count along."""
        with self._lock:
            self._seeded += 1
            return self._seeded - 1

    def unique_name(self, name: str) -> str:
        """A name that no function of the library has, made from `name`; takes it."""
        with self._lock:
            made = self._names.take(name)
            while made in self.by_name:
                made = self._names.take(name)
            return made

    def add(self, function: Function) -> None:
        """Puts a function into the library.

        Raises:
            GraphError: another one has its name.
        """
        with self._lock:
            if self.by_name.setdefault(function.name, function) is not function:
                raise GraphError(f"the library has another function {function.name!r}")
