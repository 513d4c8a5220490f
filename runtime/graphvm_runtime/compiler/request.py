"""What a caller wants of a graph."""

from __future__ import annotations

from dataclasses import dataclass

from graphvm_runtime.ir.graph import Endpoint


@dataclass(frozen=True, slots=True)
class Request:
    """Feeds, fetches and targets of a run.

    Attributes:
        feeds: endpoints whose values the caller gives.
        fetches: endpoints whose values the caller wants.
        targets: nodes that the caller wants to have run.
    """

    feeds: tuple[Endpoint, ...] = ()
    fetches: tuple[Endpoint, ...] = ()
    targets: tuple[str, ...] = ()

    def roots(self) -> list[str]:
        """Names of the nodes that the run is for."""
        return list(dict.fromkeys([*(e.node for e in self.fetches), *self.targets]))

    def names(self) -> frozenset[str]:
        """Names of all nodes that must stay reachable by name."""
        return frozenset(e.node for e in (*self.feeds, *self.fetches)) | frozenset(self.targets)
