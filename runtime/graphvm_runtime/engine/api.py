"""What every session of the engine is, whoever plans and runs its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import Function, Node
from graphvm_runtime.trace import Trace


class Plan(Protocol):
    """One request of a session, ready to run. Thread-safe."""

    @property
    def request(self) -> Request:
        """What is fed, fetched and run."""

    def run(
        self, feeds: Sequence[Any], timeout: float | None = None, trace: Trace | None = None
    ) -> Sequence[Any]:
        """Values of the fetches.

        Args:
            feeds: arrays, one for each feed of the request, of its type.
            timeout: seconds that the step may take.
            trace: where spans of the step go.

        Raises:
            GraphvmError: the graph cannot be compiled, a node failed, a task is gone.
        """

    def direct(self) -> Callable[..., Sequence[Any]] | None:
        """A function `run(None, *feeds)`, where a run needs no step; else None."""

    def stats(self) -> dict[str, int]:
        """Counts of what it runs once it is optimised."""

    def text(self) -> str:
        """What it runs once it is optimised."""


class Session(Protocol):
    """A graph that grows, its plans, and the state that lives from run to run. Thread-safe."""

    def extend(self, nodes: Iterable[Node], library: Mapping[str, Function]) -> None:
        """Adds nodes to the session's graph; plans made before stay as they are.

        Raises:
            GraphError: a node of that name is there already.
            UnavailableError: the session's master cannot be reached.
        """

    def plan(self, request: Request) -> Plan:
        """The plan of a request, made once.

        Raises:
            InvalidArgumentError: the session is closed.
        """

    def list_devices(self) -> list[str]:
        """Full names of the devices that nodes can be placed on."""

    def close(self) -> None:
        """Cancels what runs and lets go of the state."""
