"""Which regions may not be made one instruction, because queues run across them.

An instruction waits for all its inputs and gives all its outputs together; TF1's primitives do
not. Where an op that waits for others, or that others wait for, stands above a region's input or
inside, and another one below an output or inside, waiting for everything may be waiting for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from graphvm_runtime.dtypes import resource
from graphvm_runtime.ir.graph import Endpoint, Function, Node
from graphvm_runtime.ops.control_flow import PRIMITIVES


@dataclass(frozen=True, slots=True)
class Queues:
    """Queue-like ops of a graph, and what is above and below them.

    Attributes:
        ops: the queue-like nodes.
        above: nodes from which one of them can be reached, over back edges too.
        below: nodes that can be reached from one of them.
    """

    nodes: Mapping[str, Node]
    users: Mapping[str, Collection[str]]
    ops: frozenset[str]
    above: frozenset[str]
    below: frozenset[str]

    def crossing(self, region: Collection[str], repeats: bool) -> str:
        """Why the region has to stay dataflow; empty when nothing forbids an instruction.

        Args:
            region: names of its nodes.
            repeats: it is a loop, whose iterations may overlap as dataflow.
        """
        if not self.ops:
            return ""
        inside = [n for n in region if n in self.ops]
        before = after = ""
        for name in region:
            node = self.nodes[name]
            for above in (*(e.node for e in node.inputs), *node.after):
                if above not in region and (above in self.ops or above in self.below):
                    before = above
            for below in self.users[name]:
                if below not in region and (below in self.ops or below in self.above):
                    after = below
        if before and after:
            return f"a queue is above its input ({before}) and below its output ({after})"
        if inside and (before or after):
            return f"a queue is inside ({inside[0]}) and outside ({before or after})"
        if repeats and len(inside) > 1:
            return f"queues are inside a loop ({inside[0]}, {inside[1]})"
        return ""


def queues(nodes: Mapping[str, Node], library: Mapping[str, Function]) -> Queues:
    """The queue-like ops among some nodes."""
    waiting = waiting_functions(library)
    users: dict[str, list[str]] = {n: [] for n in nodes}
    for node in nodes.values():
        for name in dict.fromkeys((*(e.node for e in node.inputs), *node.after)):
            users[name].append(node.name)
    ops = {
        n.name for n in nodes.values()
        if may_wait(n, waiting)
    }  # fmt: skip
    if ops:
        # what closes a queue, or asks for its size, takes part too
        direct = [nodes[n] for n in ops if not any(nodes[n].functions())]
        handles = {h for n in direct for h in _handles(nodes, n)}
        ops |= {
            n.name for n in nodes.values()
            if n.op.is_stateful and n.inputs and any(h in handles for h in _handles(nodes, n))
        }  # fmt: skip
    above = _reached(ops, lambda n: (*(e.node for e in nodes[n].inputs), *nodes[n].after))
    below = _reached(ops, lambda n: users[n])
    return Queues(nodes, users, frozenset(ops), above, below)


def _handles(nodes: Mapping[str, Node], node: Node) -> Iterable[Endpoint]:
    """Where the resources that a node takes come from."""
    for end in node.inputs:
        if nodes[end.node].outputs[end.index].dtype.base is not resource:
            continue
        seen: set[str] = set()
        while end.node not in seen:
            seen.add(end.node)
            maker = nodes[end.node]
            if maker.op.forwards:
                end = maker.inputs[end.index]
            elif maker.op.name in PRIMITIVES:
                end = maker.inputs[0]
        yield end


def _reached(start: Iterable[str], step: Callable[[str], Iterable[str]]) -> frozenset[str]:
    out: set[str] = set()
    pending = list(start)
    while pending:
        for name in step(pending.pop()):
            if name not in out:
                out.add(name)
                pending.append(name)
    return frozenset(out)


def may_wait(node: Node, waiting: Collection[str]) -> bool:
    """Whether running the node may wait for another; `waiting`: functions in which one does."""
    return node.op.is_blocking or any(f.name in waiting for f in node.functions())


def waiting_functions(library: Mapping[str, Function]) -> set[str]:
    """Functions with an op that waits, in themselves or in what they use."""
    out = {
        name for name, f in library.items()
        if any(n.op.is_blocking for n in f.body.nodes)
    }  # fmt: skip
    changed = True
    while changed:
        changed = False
        for name, function in library.items():
            if name not in out and any(
                ref.name in out for n in function.body.nodes for ref in n.functions()
            ):
                out.add(name)
                changed = True
    return out
