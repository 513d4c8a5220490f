"""In which order instructions run, and which of them have to wait for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from graphvm_runtime.compiler.program import Instruction, Strand
from graphvm_runtime.ir.graph import Node


def strands(
    code: Sequence[Instruction], blocks: Callable[[Instruction], bool]
) -> tuple[Strand, ...]:
    """Strands by what each instruction has to wait for.

    Instructions below the same set of blocking ones go together: none of them can start before
    all of that set has ended, and then all can run.
    """
    producer: dict[int, int] = {}
    position = {ins.node.name: at for at, ins in enumerate(code)}
    waits: list[frozenset[int]] = []  # blocking instructions above each
    above: list[set[int]] = []
    for at, ins in enumerate(code):
        befores = {producer[r] for r in ins.inputs if r in producer}
        befores |= _control(ins.node, position, code)
        waiting = frozenset().union(
            *(waits[b] | ({b} if blocks(code[b]) else set()) for b in befores)
        )
        waits.append(waiting)
        above.append(befores)
        for r in ins.outputs:
            producer[r] = at
    keys: dict[Any, int] = {}
    strand_of: list[int] = []
    members: list[list[int]] = []
    for at, ins in enumerate(code):
        key = ("blocking", at) if blocks(ins) else waits[at]
        number = keys.setdefault(key, len(members))
        if number == len(members):
            members.append([])
        members[number].append(at)
        strand_of.append(number)
    return tuple(
        Strand(
            tuple(code_),
            tuple(sorted({strand_of[b] for at in code_ for b in above[at]} - {number})),
            blocks(code[code_[0]]),
        )
        for number, code_ in enumerate(members)
    )


def _control(node: Node, position: Mapping[str, int], code: Sequence[Instruction]) -> set[int]:
    return {position[name] for name in node.after if name in position}


def run_order(nodes: Iterable[Node]) -> list[Node]:
    """Nodes with control edges of nodes that are no instruction led on to what stands above."""
    through: dict[str, tuple[str, ...]] = {}
    late: dict[str, list[str]] = {}  # what the users of a value that is no instruction come after
    out = []
    for node in nodes:
        after: list[str] = []
        for name in node.after:
            after.extend(through.get(name, (name,)))
        for end in node.inputs:
            after.extend(late.get(end.node, ()))
        if node.op.forwards or node.op.name in ("NoOp", "Const"):
            above = list(
                dict.fromkeys(
                    after + [n for e in node.inputs for n in through.get(e.node, (e.node,))]
                )
            )
            through[node.name] = tuple(above)
            if after:
                late[node.name] = after
        if tuple(after) != node.after:
            node = node.changed(after=after)
        out.append(node)
    return out
