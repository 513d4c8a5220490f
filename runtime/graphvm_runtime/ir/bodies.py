"""The bodies of a node: which functions it runs, under which keys.

A key is the name of an attribute, `then_branch`, or a place in one, `branches[2]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from graphvm_runtime.ir.graph import Function, Node
from graphvm_runtime.ops.signature import Attrs, AttrValue, FuncRef


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


def is_loop_invariant(body: Function, index: int) -> bool:
    """Whether a loop's body gives back a variable as it is."""
    nodes, result = body.body.by_name, body.results[index]
    while nodes[result.node].op.name == "Identity":
        result = nodes[result.node].inputs[0]
    return result == body.params[index]


def postorder(names: Iterable[str], callees: Callable[[str], Iterable[str]]) -> list[str]:
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
