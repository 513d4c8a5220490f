"""Dead-code elimination in the functions of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graphvm_runtime.ir.derivatives.saved import FAMILY
from graphvm_runtime.ir.graph import Function, Node, reachable


def functions_needed(nodes: Iterable[Node], library: Mapping[str, Function]) -> dict[str, Function]:
    """The functions that these nodes can reach, without what no result of theirs needs."""
    out: dict[str, Function] = {}
    if not library:
        return out
    pending = list(nodes)
    while pending:
        node = pending.pop()
        for ref in node.functions():
            function = library.get(ref.name)
            if function is None or ref.name in out:
                continue
            # Other derivatives may name any value of a derived body: `materialise` prunes those.
            kept = out[ref.name] = function if FAMILY in node.attrs else _pruned(function)
            pending.extend(kept.body.nodes)
    return out


def _pruned(function: Function) -> Function:
    body = function.body
    roots = [e.node for e in (*function.params, *function.results)] + list(function.control)
    nodes = reachable(body.by_name, roots)
    if len(nodes) == len(body.nodes):
        return function
    return function.with_nodes(nodes)
