"""Deadness analysis: under which conditions on predicates a tensor of a frame is alive.

A tensor's liveness is a set of literals (predicate, 1 or 0), all of which must hold. What no such
set describes gets a literal of its own, with -1: alive under a condition that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from graphvm_runtime.ir.control_flow.frames import Frame
from graphvm_runtime.ir.control_flow.rewriting import Work, identity
from graphvm_runtime.ir.graph import Endpoint, Node, ordered
from graphvm_runtime.ops.control_flow import ENTERS, MERGES, NEXTS, SWITCHES

Literal: TypeAlias = tuple[Endpoint, int]
Liveness: TypeAlias = frozenset[Literal]

ALWAYS: Liveness = frozenset()


@dataclass(frozen=True, slots=True)
class Join:
    """A Merge of two inputs that are alive when a predicate is false, and when it is true.

    Attributes:
        context: what must hold besides.
        sides: which input is alive when the predicate is 0 and when it is 1.
    """

    name: str
    context: Liveness
    predicate: Endpoint
    sides: tuple[int, int]


@dataclass(slots=True)
class Lives:
    """Liveness of the nodes of one frame, relative to the frame.

    Attributes:
        assumed: for each frame (by id) the literals that hold wherever it runs.
        entered: for each inner frame (by id) the liveness of what leads into it, where its exits
            are believed to be as alive; None: they are not.
        of: by node name; an output of a Switch has one literal more (see `end`).
        joins: merges that join the two sides of a predicate.
        odd: merges of other kinds, with what is odd about them.
        switched: for each Switch its predicate, and which of its outputs is alive when that holds.
        nearest: for each predicate an endpoint of this frame that has its value.
    """

    work: Work
    assumed: dict[int, Liveness]
    entered: dict[int, Liveness] | None = None
    of: dict[str, Liveness] = field(default_factory=dict)
    joins: dict[str, Join] = field(default_factory=dict)
    odd: dict[str, str] = field(default_factory=dict)
    switched: dict[str, tuple[Endpoint, int]] = field(default_factory=dict)
    nearest: dict[Endpoint, Endpoint] = field(default_factory=dict)

    def end(self, end: Endpoint) -> Liveness:
        """Liveness of an endpoint."""
        live = self.of[end.node]
        if end.node not in self.switched:
            return live
        literal = self.literal(end)
        frame = self.work.frame[end.node]
        return live if literal in self.assumed[id(frame)] else live | {literal}

    def literal(self, end: Endpoint) -> Literal:
        """The literal that an output of a Switch adds."""
        pred, when = self.switched[end.node]
        return pred, int(end.index == when)

    def add(self, node: Node) -> None:
        """Works out one node; those above it are worked out."""
        frame = self.work.frame[node.name]
        op = node.op.name
        if op == "ControlTrigger":
            self.of[node.name] = ALWAYS
            return
        if op in MERGES:
            self.of[node.name] = self._joined(node, frame)
            return
        self.of[node.name] = _union(
            [*(self.given(e, frame) for e in node.inputs),
             *(self.given(Endpoint(n, -1), frame) for n in node.after)]
        )  # fmt: skip
        if op in SWITCHES:
            self.switched[node.name] = self._predicate(node)

    def given(self, end: Endpoint, frame: Frame) -> Liveness:
        """Liveness of a token that arrives over an edge; index -1: over a control edge."""
        node = self.work.nodes[end.node]
        if self.work.frame[end.node] is not frame:
            if node.op.name in ENTERS:
                return ALWAYS  # as alive as its frame
            if self.entered is None:
                return frozenset({(Endpoint(end.node), -1)})  # of a loop that was not raised
            return self.entered.get(id(self.work.frame[end.node]), ALWAYS)
        if node.op.name == "ControlTrigger":
            return ALWAYS
        return self.of[end.node] if end.index < 0 else self.end(end)

    def _predicate(self, switch: Node) -> tuple[Endpoint, int]:
        """What decides a Switch, followed back through what only hands it on."""
        work = self.work
        end, near = switch.inputs[1], switch.inputs[1]
        frame = work.frame[switch.name]
        while True:
            node = work.nodes[end.node]
            if node.op.name == "Identity":
                end = node.inputs[0]
                if work.frame[node.name] is frame:
                    near = end
            elif node.op.name in ENTERS and node.attrs["is_constant"]:
                end = node.inputs[0]
            else:
                break
        asked = self._asks_for_side(work.nodes[end.node])
        if asked is not None:
            return asked
        self.nearest.setdefault(end, near)
        return end, 1

    def _asks_for_side(self, node: Node) -> tuple[Endpoint, int] | None:
        """The predicate behind `Equal(merge:1, constant)`, as derivatives of merges have it."""
        if node.op.name != "Equal":
            return None
        index, constant = node.inputs
        join = self.joins.get(index.node)
        value = self.work.nodes[constant.node].attrs.get("value")
        if join is None or index.index != 1 or value is None or value.shape != ():
            return None
        if int(value) not in (0, 1):
            return None
        return join.predicate, join.sides.index(int(value))

    def _joined(self, node: Node, frame: Frame) -> Liveness:
        if any(self.work.nodes[e.node].op.name in NEXTS for e in node.inputs):
            return ALWAYS  # begins an iteration
        unknown: Liveness = frozenset({(Endpoint(node.name), -1)})
        if len(node.inputs) != 2:
            self.odd[node.name] = f"{node.name} merges {len(node.inputs)} inputs"
            return unknown
        first, second = (self.given(e, frame) for e in node.inputs)
        only_first, only_second = first - second, second - first
        if len(only_first) == 1 and len(only_second) == 1:
            (p, a), (q, b) = next(iter(only_first)), next(iter(only_second))
            if p == q and {a, b} == {0, 1}:
                sides = (0, 1) if a == 0 else (1, 0)
                self.joins[node.name] = Join(node.name, first & second, p, sides)
                return first & second
        self.odd[node.name] = f"{node.name} does not merge the two sides of one predicate"
        return unknown


def believed(work: Work, tree: Frame) -> Lives:
    """Liveness of all nodes, each relative to its frame, if all loops are of the plain kind.

    Its `assumed` is true of them anyway.
    """
    lives = Lives(work, {id(f): ALWAYS for f in tree.inside_out()}, entered={})
    assert lives.entered is not None
    into = {e.name: f for f in tree.inside_out() for e in f.enters}
    for node in ordered(work.nodes.values()):
        lives.add(node)
        child = into.get(node.name)
        if child is not None:
            live = lives.of[node.name]
            lives.entered[id(child)] = lives.entered.get(id(child), ALWAYS) | live
            lives.assumed[id(child)] |= live | lives.assumed[id(work.frame[node.name])]
    return lives


def liveness(work: Work, frame: Frame, assumed: Mapping[int, Liveness]) -> Lives:
    """Liveness of all nodes of a frame, relative to the frame.

    A Switch on a predicate that is known wherever the frame runs becomes an Identity.
    """
    lives = Lives(work, dict(assumed))
    triggers: list[Node] = []
    for stripped in work.in_frame(frame):
        node = work.nodes[stripped.name]
        lives.add(node)
        if node.op.name == "ControlTrigger":
            triggers.append(node)
        elif node.name in lives.switched:
            _forget_known(work, lives, node, frame)
    # a trigger fires whether or not what it waits for was alive; it belongs where its users are
    for node in reversed(triggers):
        users = [lives.of[u] for u in work.users[node.name] if u in lives.of]
        lives.of[node.name] = frozenset.intersection(*users) if users else ALWAYS
    return lives


def _forget_known(work: Work, lives: Lives, switch: Node, frame: Frame) -> None:
    known = lives.assumed[id(frame)]
    for side in (0, 1):
        alive, dead = Endpoint(switch.name, side), Endpoint(switch.name, 1 - side)
        if lives.literal(alive) in known and not any(
            dead in work.nodes[u].inputs for u in work.users[switch.name]
        ):
            same = identity(switch.name, switch.inputs[0], switch.outputs[side], switch.after)
            work.change(same)
            if side:
                work.redirect({alive: Endpoint(switch.name)}, {})
            del lives.switched[switch.name]
            return


def _union(parts: Iterable[Liveness]) -> Liveness:
    out = ALWAYS
    for part in parts:
        if not part <= out:
            out = part if out <= part else out | part
    return out
