"""The bodies of a node: which functions it runs, under which keys.

A key is the name of an attribute, `then_branch`, or a place in one, `branches[2]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from graphvm_runtime.ir.derivatives.saved import FAMILY
from graphvm_runtime.ir.graph import Function, Node, reachable
from graphvm_runtime.ops.registry import Attrs, AttrValue, FuncRef


def body_keys(node: Node) -> tuple[str, ...]:
    """Keys of the bodies of a node of control flow, or of a call; of branches in their order."""
    if node.op.region is None:
        return ()
    keys: list[str] = []
    for name in node.op.region.bodies:
        found = node.attrs[name]
        many = isinstance(found, tuple)
        keys += [f"{name}[{i}]" for i in range(len(found))] if many else [name]
    return tuple(keys)


def body_ref(node: Node, key: str) -> FuncRef:
    """The function that is a body of the node."""
    name, bracket, place = key.partition("[")
    found = node.attrs[name]
    ref = found[int(place[:-1])] if bracket else found
    assert isinstance(ref, FuncRef)
    return ref


def with_bodies(attrs: Attrs, bodies: Mapping[str, FuncRef]) -> dict[str, AttrValue]:
    """Attributes with other functions for some of the keys."""
    out = dict(attrs)
    for key, ref in bodies.items():
        name, bracket, place = key.partition("[")
        if bracket:
            refs = list(out[name])
            refs[int(place[:-1])] = ref
            out[name] = tuple(refs)
        else:
            out[name] = ref
    return out


def passes_through(body: Function, index: int) -> bool:
    """Whether a loop's body gives back a variable as it is."""
    nodes, result = body.body.by_name, body.results[index]
    while nodes[result.node].op.name == "Identity":
        result = nodes[result.node].inputs[0]
    return result == body.params[index]


def callees_first(names: Iterable[str], callees: Callable[[str], Iterable[str]]) -> list[str]:
    """Functions and all that they run, each after what it runs; calls may go deep, and round."""
    out: dict[str, None] = {}
    seen: set[str] = set()
    pending = [(name, False) for name in reversed(list(names))]
    while pending:
        name, done = pending.pop()
        if done:
            out[name] = None
        elif name not in seen:
            seen.add(name)
            pending.append((name, True))
            pending.extend((each, False) for each in reversed(list(callees(name))))
    return list(out)


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
