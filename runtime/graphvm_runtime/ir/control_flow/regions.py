"""Regions on their way from primitives to instructions: what must stay, and what became of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Raised:
    """What became of a region.

    Attributes:
        region: name of its Merge, or of its frame.
        raised: whether it is an instruction now.
        reason: why not.
    """

    region: str
    raised: bool
    reason: str = ""


class Keep:
    """Names and endpoints that must stay reachable.

    Args:
        wanted: names of nodes, or endpoints as text (`cond/Merge:1`); None: the output of every
            region, but nothing inside.

    Attributes:
        whole: None was given.
    """

    def __init__(self, wanted: Collection[str] | None) -> None:
        self.whole = wanted is None
        self._ends = {w for w in wanted or () if ":" in w}
        of_ends = {w.rpartition(":")[0] for w in self._ends}
        self._whole = {w for w in wanted or () if ":" not in w} - of_ends
        self._names = self._whole | of_ends

    def has(self, name: str) -> bool:
        """Whether a node inside a region, or an output of it, is wanted."""
        return name in self._names

    def output(self, name: str, index: int) -> bool:
        """Whether an output of a region must stay under its old name."""
        if self.whole:
            return index == 0
        return name in self._whole or f"{name}:{index}" in self._ends


class Refused(Exception):
    """A region has no functional form; the argument says why."""
