"""Names for the values inside bodies that derivatives need: what `_Saved` nodes say.

A path is counted from the inside: one through k bodies, standing in the innermost of d derived
bodies, leads from the graph around the k innermost of these. Each body on the path belongs to the
same family as the derived one at the same depth, so it ran the same iteration, or took the same
branch.

Derived control flow carries attributes: `_family`, the name of the user's node that it stems from;
`_order`, +1 or -1, whether it iterates as that does or backwards; `_counter` and `_trips`, the
loop variables that hold the number of the iteration, as the user's loop counts, and how many there
are.
"""

from __future__ import annotations

from typing import TypeAlias

from graphvm_runtime.ir.graph import Node

FAMILY, ORDER, COUNTER, TRIPS = "_family", "_order", "_counter", "_trips"
SAVED = "_Saved"
COUNT = "#trips"  # stands for a value in a path: how often the loop named before it ran

Steps: TypeAlias = tuple[tuple[str, str], ...]


def path_attr(steps: Steps, last: str) -> tuple[bytes, ...]:
    """The attribute `path` of a `_Saved` node. Its last step is `node:index`, or `#trips`."""
    return (*(part.encode() for step in steps for part in step), last.encode())


def path_of(node: Node) -> tuple[Steps, str]:
    """The steps of a `_Saved` node's path through bodies, and what it names in the last one.

    For a trip count, what it names is the loop, written `loop#trips`.
    """
    parts = [p.decode() for p in node.attrs["path"]]
    last = parts.pop()
    if last == COUNT:
        last = parts.pop() + COUNT
    return tuple(zip(parts[::2], parts[1::2], strict=True)), last
