"""The nodes of a file in topological order, as TensorFlow orders them."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Endpoint
from graphvm_runtime.ir.names import named_node, split_output
from graphvm_runtime.ops.control_flow import MERGES, NEXTS
from graphvm_runtime.protos.node_def_pb2 import NodeDef


class Mapped(NamedTuple):
    """What stands for nodes of the file that the importer replaces by something of its own.

    Attributes:
        ends: outputs of the file's nodes -> endpoints outside.
        after: the file's nodes, as control inputs -> nodes outside.
    """

    ends: Mapping[tuple[str, int], Endpoint] = {}
    after: Mapping[str, str] = {}


NOTHING_MAPPED = Mapped()


def in_order(defs: Sequence[NodeDef], made: Collection[str], mapped: Mapped) -> list[NodeDef]:
    """Nodes after their inputs, back edges of loops left out; of those ready the first one first.

    Args:
        defs: the nodes.
        made: nodes and arguments that are there already.
        mapped: what is not taken from the file.

    Raises:
        GraphError: an input is missing, or there is a circle that is no loop.
    """
    at_of = {d.name: at for at, d in enumerate(defs)}
    ops = [d.op for d in defs]
    needs: list[int] = []
    users: dict[int, list[int]] = {}
    for at, d in enumerate(defs):
        count = 0
        for text in d.input:
            name = _above(text, mapped)
            if name is None or name in made:
                continue
            above = at_of.get(name)
            if above is None:
                where = "comes after" if text.startswith("^") else "takes"
                raise GraphError(
                    f"node {d.name!r} {where} {name!r}, which is not in the graph", node=shown(d)
                )
            if ops[at] in MERGES and ops[above] in NEXTS:
                continue
            count += 1
            users.setdefault(above, []).append(at)
        needs.append(count)
    ready = [at for at, count in enumerate(needs) if not count]
    out: list[NodeDef] = []
    while ready:
        at = heapq.heappop(ready)
        out.append(defs[at])
        for user in users.get(at, ()):
            needs[user] -= 1
            if not needs[user]:
                heapq.heappush(ready, user)
    if len(out) < len(defs):
        stuck = [d for d, count in zip(defs, needs, strict=True) if count]
        raise GraphError(
            f"{len(stuck)} nodes are on a circle that is no while loop, or below one: "
            f"{', '.join(d.name for d in stuck[:5])}",
            node=shown(stuck[0]),
        )
    return out


def above_of(d: NodeDef) -> list[str]:
    """The nodes that the inputs of a node name."""
    return [named_node(text) for text in d.input]


def _above(text: str, mapped: Mapped) -> str | None:
    """The node of the file that an input names, None where it is taken from elsewhere."""
    if text.startswith("^"):
        return None if text[1:] in mapped.after else text[1:]
    if mapped.ends:
        name, index = split_output(text)
        if (name, index or 0) in mapped.ends:
            return None
    return named_node(text)


def shown(d: NodeDef) -> str:
    """A node of a file in an error."""
    return f"{d.name} = {d.op}({', '.join(d.input)})"
