"""Loops written with Enter, Merge, Switch, NextIteration and Exit, as `While` nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from graphvm_runtime.ir.control_flow.deadness import ALWAYS, Liveness, Lives
from graphvm_runtime.ir.control_flow.frames import Frame
from graphvm_runtime.ir.control_flow.regions import Keep, Refused
from graphvm_runtime.ir.control_flow.rewriting import (
    Body,
    Work,
    by_number,
    identity,
    new_node,
    reference,
    sources,
)
from graphvm_runtime.ir.control_flow.strictness import Queues
from graphvm_runtime.ir.graph import Endpoint, Node
from graphvm_runtime.ir.names import unused_prefix
from graphvm_runtime.ops.control_flow import ENTERS, EXITS, MERGES, NEXTS, PRIMITIVES, SWITCHES
from graphvm_runtime.shapes import TensorType


@dataclass(slots=True)
class _Variable:
    """A loop variable: its nodes."""

    enter: Node
    merge: Node
    next: Node


def raise_loop(work: Work, frame: Frame, lives: Lives, queues: Queues, keep: Keep) -> str:
    """Makes one `While` of a frame whose inner loops and conditionals are raised; its name.

    Args:
        work: changed in place.
        frame: the loop.
        lives: liveness of its nodes.
        queues: what may not be crossed.
        keep: what must stay.

    Raises:
        Refused: it has no functional form.
    """
    return _Loop(work, frame, lives, queues, keep).raised()


class _Loop:
    def __init__(self, work: Work, frame: Frame, lives: Lives, queues: Queues, keep: Keep) -> None:
        self.work = work
        self.frame = frame
        self.lives = lives
        self.queues = queues
        self.keep = keep
        self.nodes = {n: work.nodes[n] for n in work.inside[id(frame)]}
        enters = [work.nodes[e.name] for e in frame.enters]
        self.invariants = [e for e in enters if e.attrs["is_constant"]]
        self.exits = [n for n in self.nodes.values() if n.op.name in EXITS]
        self.condition = self._condition()
        self.literal = (Endpoint(self.condition.name), 1)
        self.body_live: Liveness = frozenset({self.literal})
        self.switches = {
            n.name: n for n in self.nodes.values()
            if n.op.name in SWITCHES and n.inputs[1] == Endpoint(self.condition.name)
        }  # fmt: skip
        variables = [self._variable(e) for e in enters if not e.attrs["is_constant"]]
        self.variables = sorted(variables, key=lambda v: by_number(v.merge.name))
        if not self.variables:
            raise Refused("it has no variable that changes")
        # places of the parameters by the outer endpoint (invariants) and by the Merge (variables)
        self.place: dict[Endpoint, int] = {}
        for i, v in enumerate(self.variables):
            self.place[Endpoint(v.merge.name)] = i
        self.captures: dict[Endpoint, int] = {}
        for enter in self.invariants:
            outer = enter.inputs[0]
            at = self.captures.setdefault(outer, len(self.variables) + len(self.captures))
            self.place[Endpoint(enter.name)] = at

    # ---- is it a loop of the plain kind

    def _condition(self) -> Node:
        found = [n for n in self.nodes.values() if n.op.name == "LoopCond"]
        if len(found) != 1:
            raise Refused(f"it has {len(found)} LoopCond nodes")
        return found[0]

    def _variable(self, enter: Node) -> _Variable:
        work = self.work
        users = list(work.users[enter.name])
        if len(users) != 1 or work.nodes[users[0]].op.name not in MERGES:
            raise Refused(f"{enter.name} leads to something else than one Merge")
        merge = work.nodes[users[0]]
        others = [e for e in merge.inputs if e.node != enter.name]
        if len(merge.inputs) != 2 or len(others) != 1:
            raise Refused(f"{merge.name} does not merge an Enter and a NextIteration")
        back = work.nodes[others[0].node]
        if back.op.name not in NEXTS:
            raise Refused(f"{merge.name} does not merge an Enter and a NextIteration")
        if merge.after:
            raise Refused(f"{merge.name} comes after {merge.after[0]}")
        if self.lives.of[back.name] != self.body_live:
            raise Refused(f"{back.name} does not run exactly when the condition holds")
        if list(work.users[back.name]) != [merge.name] or Endpoint(merge.name, 1) in {
            e for u in work.users[merge.name] for e in work.nodes[u].inputs
        }:
            raise Refused(f"something asks for the iteration of {merge.name}")
        return _Variable(enter, merge, back)

    def _check(self) -> None:
        skeleton = {v.merge.name for v in self.variables} | {v.next.name for v in self.variables}
        skeleton |= {self.condition.name, *self.switches, *(e.name for e in self.exits)}
        for name, node in self.nodes.items():
            if self.keep.has(name) and node.op.name not in EXITS:
                raise Refused(f"{name}, inside, is fed or fetched")
            if name in skeleton:
                continue
            if node.op.name in PRIMITIVES:
                raise Refused(f"it holds {name}, which is not raised")
            if self.lives.of[name] not in (ALWAYS, self.body_live):
                raise Refused(f"{name} runs neither in each iteration nor with the body")
        for enter in (*(v.enter for v in self.variables), *self.invariants):
            if self.keep.has(enter.name):
                raise Refused(f"{enter.name} is fed or fetched")
        variables = {v.merge.name for v in self.variables}
        for leaving in self.exits:
            switch = self.switches.get(leaving.inputs[0].node)
            if switch is None or leaving.inputs[0].index or switch.inputs[0].node not in variables:
                raise Refused(f"{leaving.name} gives something else than a loop variable")
        for switch in self.switches.values():
            for user in self.work.users[switch.name]:
                if Endpoint(switch.name, 0) in self.work.nodes[user].inputs and (
                    self.work.nodes[user].op.name not in EXITS
                ):
                    raise Refused(f"{user} runs after the last iteration, inside the loop")
        for node in self.nodes.values():
            for before in node.after:
                there = self.work.nodes[before]
                if there.op.name in NEXTS or (
                    there.op.name in ENTERS and not there.attrs["is_constant"]
                ):
                    raise Refused(f"{node.name} comes after {before}, in one iteration only")

    # ---- its two functions

    def raised(self) -> str:
        """Makes the node."""
        self._check()
        work = self.work
        region = {o for n in self.nodes for o in work.origin(n)}
        region |= {n.name for n in self.frame.enters}
        reason = self.queues.crossing(region, repeats=True)
        if reason:
            raise Refused(reason)
        name = self._name()
        params = self._param_names()
        cond, cond_nodes = self._cond(params)
        body = self._body(params, cond_nodes)
        types = [self._variable_type(v) for v in self.variables]
        types += [work.nodes[e.node].outputs[e.index] for e in self.captures]
        held = [work.held(v.enter.inputs[0]) for v in self.variables]
        held += [work.held(e) for e in self.captures]
        signature = list(zip(types, held, strict=True))
        functions = []
        for word, (made, results) in (("cond", cond), ("body", body)):
            function = made.finished(
                work.function_name(f"{name}_{word}"), signature, results, params
            )
            work.library[function.name] = function
            functions.append(function)
        stateful = any(f.is_stateful for f in functions)
        attrs = {
            "T": tuple(t.dtype.base for t in types),
            "cond": reference(functions[0]),
            "body": reference(functions[1]),
            "output_shapes": tuple(t.shape for t in types),
            "parallel_iterations": self.frame.parallel_iterations,
        }
        inputs = [v.enter.inputs[0] for v in self.variables] + list(self.captures)
        after = [n for e in self.frame.enters for n in work.nodes[e.name].after]
        node = new_node(
            name, "While" if stateful else "StatelessWhile", inputs, types, attrs, after,
            self.condition.source,
        )  # fmt: skip
        self._install(node)
        return name

    def _cond(
        self, params: Callable[[int], str]
    ) -> tuple[tuple[Body, list[Endpoint]], dict[str, None]]:
        control: dict[str, None] = {}
        for node in (self.condition, *self.switches.values(), *self.exits):
            for before in node.after:
                if self.lives.of.get(before, ALWAYS) != ALWAYS:
                    raise Refused(f"{node.name} comes after {before}, of the body")
                control[before] = None
        for node in self.nodes.values():  # effects of the condition that only the body asks for
            if self.lives.of[node.name] == self.body_live:
                for before in node.after:
                    there = self.nodes.get(before)
                    if there is not None and self._is_condition(there) and there.is_stateful:
                        control[before] = None
        nodes = self._closure([self.condition.inputs[0].node, *control], in_body=False)
        body = Body()
        for name in nodes:
            body.put(self._translated(self.nodes[name], nodes, params))
        body.control.update((n, None) for n in control if n in nodes)
        return (body, [self._inner(self.condition.inputs[0], params)]), nodes

    def _body(
        self, params: Callable[[int], str], cond_nodes: dict[str, None]
    ) -> tuple[Body, list[Endpoint]]:
        control = [n for v in self.variables for n in v.next.after]
        roots = [v.next.inputs[0].node for v in self.variables]
        nodes = self._closure([*roots, *control], in_body=True)
        for name in nodes:
            if self._is_condition(self.nodes[name]) and self.nodes[name].is_stateful:
                raise Refused(f"{name}, an effect of the condition, is used by the body")
        body = Body()
        for name in nodes:
            body.put(self._translated(self.nodes[name], nodes, params))
        body.control.update((n, None) for n in control if n in nodes)
        results = [self._inner(v.next.inputs[0], params) for v in self.variables]
        results += [Endpoint(params(i)) for i in self.captures.values()]
        return body, results

    def _is_condition(self, node: Node) -> bool:
        """Whether a node runs in each iteration, the last one included."""
        return self.lives.of[node.name] == ALWAYS

    def _closure(self, roots: Iterable[str], in_body: bool) -> dict[str, None]:
        """Nodes above the roots; the body takes pure nodes of the condition too."""
        out: dict[str, None] = {}
        pending = list(roots)
        skeleton = {v.merge.name for v in self.variables} | {self.condition.name}
        while pending:
            name = pending.pop()
            node = self.nodes.get(name)
            if node is None or name in out or name in skeleton:
                continue  # an Enter, or what stands for a parameter
            if name in self.switches:
                if not in_body:
                    raise Refused(f"its condition takes {name}, of the body")
                pending.append(node.inputs[0].node)
                continue
            if not in_body and not self._is_condition(node):
                raise Refused(f"its condition takes {name}, of the body")
            out[name] = None
            pending.extend(e.node for e in node.inputs)
            # what the condition does has been done when the body begins
            pending.extend(
                n for n in node.after
                if n in self.nodes and n not in self.switches
                and not (in_body and self._is_condition(self.nodes[n]))
            )  # fmt: skip
        return out

    def _inner(self, end: Endpoint, params: Callable[[int], str]) -> Endpoint:
        while end.node in self.switches:
            end = self.switches[end.node].inputs[0]
        at = self.place.get(end)
        return end if at is None else Endpoint(params(at))

    def _translated(self, node: Node, nodes: dict[str, None], params: Callable[[int], str]) -> Node:
        return node.changed(
            inputs=[self._inner(e, params) for e in node.inputs],
            after=[n for n in node.after if n in nodes],
        )

    # ---- the node

    def _param_names(self) -> Callable[[int], str]:
        prefix = unused_prefix("arg", self.nodes)
        # Variables keep the names of their Merges: derivatives name values of bodies by paths,
        # which must not depend on what else is in the graph.
        merges = [v.merge.name for v in self.variables]
        return lambda index: merges[index] if index < len(merges) else f"{prefix}{index}"

    def _variable_type(self, variable: _Variable) -> TensorType:
        type_ = variable.merge.outputs[0]
        return TensorType(type_.dtype.base, type_.shape)

    def _name(self) -> str:
        frame = self.frame.name
        scope, _, last = frame.rpartition("/")
        if scope and last.endswith("_context"):
            return self.work.unused(scope, f"{scope}_loop")
        return self.work.unused(frame or "while", f"{frame or 'while'}_loop")

    def _install(self, node: Node) -> None:
        work = self.work
        parent = self.frame.parent
        assert parent is not None
        members = [*self.nodes, *(e.name for e in self.frame.enters)]
        work.add(node, parent, members)
        index = {v.merge.name: i for i, v in enumerate(self.variables)}
        ends: dict[Endpoint, Endpoint] = {}
        for leaving in self.exits:
            variable = self.switches[leaving.inputs[0].node].inputs[0].node
            ends[Endpoint(leaving.name)] = Endpoint(node.name, index[variable])
        kept = [e for e in self.exits if self.keep.output(e.name, 0)]
        new = [identity(e.name, ends.pop(Endpoint(e.name)), e.outputs[0]) for e in kept]
        gone = {e.name: node.name for e in self.exits if e not in kept}
        work.redirect(ends, gone)
        users = {e.name: list(work.users[e.name]) for e in kept}
        above = {s for e in self.frame.enters for s in sources(work.nodes[e.name])}
        going = [*self.nodes, *(e.name for e in self.frame.enters)]
        for name in going:
            work.change(work.nodes[name].changed(inputs=(), after=()))
        for name in going:
            work.remove(name)
        for same in new:
            work.add(same, parent, users=users[same.name])
        work.drop_unused(above, self.keep.has, self.keep.whole)
