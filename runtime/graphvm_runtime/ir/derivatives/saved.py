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

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from graphvm_runtime.ir.graph import Function, Node

FAMILY, ORDER, COUNTER, TRIPS = "_family", "_order", "_counter", "_trips"
SAVED = "_Saved"
RECOMPUTE = "_recompute"  # of a user's loop: derived ones compute again what they need of its body
COUNT = "#trips"  # stands for a value in a path: how often the loop named before it ran

Steps: TypeAlias = tuple[tuple[str, str], ...]


def path_attr(steps: Steps, last: str) -> tuple[bytes, ...]:
    """The attribute `path` of a `_Saved` node. Its last step is `node:index`, or `#trips`."""
    return (*(part.encode() for step in steps for part in step), last.encode())


def path_of(node: Node) -> tuple[Steps, str]:
    """The steps of a `_Saved` node's path through bodies, and what it names in the last one.

    For a trip count, what it names is the loop, written `loop#trips`.
    """
    parts = [p.decode(errors="surrogateescape") for p in node.attrs["path"]]
    last = parts.pop()
    if last == COUNT:
        last = parts.pop() + COUNT
    return tuple(zip(parts[::2], parts[1::2], strict=True)), last


def named_regions(nodes: Iterable[Node], library: Mapping[str, Function]) -> set[str]:
    """Names of the control flow nodes that paths of `_Saved` nodes lead through or end at."""
    found: set[str] = set()
    for body in (nodes, *(f.body.nodes for f in library.values())):
        for node in body:
            if node.op.name == SAVED:
                steps, last = path_of(node)
                found.update(name for name, _ in steps)
                if last.endswith(COUNT):
                    found.add(last.removesuffix(COUNT))
    return found


def concerned_functions(nodes: Iterable[Node], library: Mapping[str, Function]) -> set[str]:
    """Functions that some nodes use, at any depth, which hold something of a derivative."""
    callers: dict[str, set[str]] = {}
    found: set[str] = set()
    pending = [ref.name for n in nodes for ref in n.functions()]
    while pending:
        name = pending.pop()
        if name in callers or name not in library:
            continue
        callers.setdefault(name, set())
        for node in library[name].body.nodes:
            if is_derived(node):
                found.add(name)
            pending.extend(ref.name for ref in node.functions())
    for name in callers:
        for node in library[name].body.nodes:
            for ref in node.functions():
                callers.get(ref.name, set()).add(name)
    pending = list(found)
    while pending:
        new = callers[pending.pop()] - found
        found |= new
        pending.extend(new)
    return found


def is_derived(node: Node) -> bool:
    """Whether a node is derived control flow, or names a value of other control flow."""
    return node.op.name == SAVED or FAMILY in node.attrs
