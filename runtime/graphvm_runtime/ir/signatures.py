"""Whether the functions that nodes run take and give what the nodes say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from graphvm_runtime.dtypes import DType, int32
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.bodies import body_keys, body_ref
from graphvm_runtime.ir.calls import COUNTED
from graphvm_runtime.ir.graph import Function, Graph, Node, functions_used, source_text
from graphvm_runtime.ops.functional import BRANCHES, CALLS, LOOPS

# the key of a body, what it takes, and what it gives; None for one value of any type
_Signature: TypeAlias = tuple[str, Sequence[DType], Sequence[DType] | None]


def check_signatures(graph: Graph) -> None:
    """Checks all nodes of a graph, and of the functions that they reach, that run functions.

    Functions may be declared before they are written, and files may hold anything, so this is
    known only when a program is made.

    Raises:
        InvalidArgumentError: a function takes or gives other values than a node says.
    """
    bodies = [graph.nodes]
    bodies += [f.body.nodes for f in functions_used(graph.nodes, graph.library).values()]
    for nodes in bodies:
        for node in nodes:
            for fault in mismatches(node, graph.library):
                raise InvalidArgumentError(
                    fault,
                    node=node.signature(),
                    made=source_text(node.source),
                    do="give the node another function, or let it say what the function does",
                )


def mismatches(node: Node, library: Mapping[str, Function]) -> Iterator[str]:
    """What does not fit between a node and the functions that it runs; nothing for others."""
    for key, takes, gives in _signatures(node):
        name = body_ref(node, key).name if key in body_keys(node) else node.attrs[key].name
        function = library.get(name)
        if function is None:
            continue
        for what, found, wants in (
            ("takes", function.param_types, takes),
            ("gives", function.result_types, gives),
        ):
            if wants is None:
                if len(found) != 1:
                    yield f"{key} {name!r} {what} {len(found)} values, one is needed"
            elif [t.dtype.base for t in found] != [d.base for d in wants]:
                shown = ", ".join(t.dtype.name for t in found)
                wanted = ", ".join(d.name for d in wants)
                yield f"{key} {name!r} {what} ({shown}), not ({wanted})"


def _signatures(node: Node) -> list[_Signature]:
    attrs, name = node.attrs, node.op.name
    if name in BRANCHES:
        return [(key, attrs["Tin"], attrs["Tout"]) for key in body_keys(node)]
    if name in LOOPS:
        return [("body", attrs["T"], attrs["T"]), ("cond", attrs["T"], None)]
    if name in CALLS:
        return [("f", attrs["Tin"], attrs["Tout"])]
    if name == COUNTED:
        return [("body", (int32, *attrs["T"]), attrs["T"])]
    return []
