"""Conditionals written with Switch and Merge, as `If` nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from graphvm_runtime.dtypes import bool_, int32
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.control_flow.deadness import Join, Liveness, Lives
from graphvm_runtime.ir.control_flow.frames import Frame
from graphvm_runtime.ir.control_flow.regions import Keep, Raised, Refused
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
from graphvm_runtime.ops.control_flow import ENTERS, MERGES, NEXTS, PRIMITIVES
from graphvm_runtime.shapes import TensorType

INDEX = TensorType(int32, ())


def raise_conds(
    work: Work, frame: Frame, lives: Lives, queues: Queues, keep: Keep, report: list[Raised]
) -> None:
    """Raises the conditionals of one frame, the innermost first; inner loops are raised already.

    Args:
        work: changed in place.
        frame: whose nodes are looked at.
        lives: liveness of its nodes; kept in step.
        queues: what may not be crossed.
        keep: what must stay.
        report: one line a region is added.
    """
    for name, reason in lives.odd.items():
        report.append(Raised(name, False, reason))
    order = _Order(work, frame)
    buckets: dict[tuple[Liveness, Endpoint], list[Join]] = {}
    for join in lives.joins.values():
        buckets.setdefault((join.context, join.predicate), []).append(join)
    for (context, pred), joins in sorted(buckets.items(), key=lambda b: -len(b[0][0])):
        region = _Cond(work, frame, lives, context, pred, queues, keep, order)
        for group in region.grouped(joins):
            rest = group
            while rest:
                first = region.independent(rest)
                try:
                    name = region.raise_together(first)
                except Refused as refused:
                    report.extend(Raised(j.name, False, str(refused)) for j in rest)
                    break
                report.append(Raised(name, True))
                done = {j.name for j in first}
                rest = [j for j in rest if j.name not in done]


@dataclass(slots=True)
class _Side:
    """One branch on its way to be a function."""

    nodes: dict[str, None] = field(default_factory=dict)
    switches: dict[str, None] = field(default_factory=dict)
    outside: dict[str, None] = field(default_factory=dict)  # what its nodes come after
    extra: dict[Endpoint, None] = field(default_factory=dict)  # what later regions use
    later: dict[str, None] = field(default_factory=dict)  # nodes that later regions come after
    control: dict[str, None] = field(default_factory=dict)


class _Order:
    """Ranks of a frame's nodes: those below a node have higher ones.

    Kept in step while regions become nodes, so that what is above what is found nearby.
    """

    def __init__(self, work: Work, frame: Frame) -> None:
        self._work = work
        self._frame = frame
        self._ranks: dict[str, float] = {}
        self._sort()

    def _sort(self) -> None:
        nodes = self._work.in_frame(self._frame)
        # edges that lead through a loop that was not raised are not seen here
        whole = not any(n.op.name in ENTERS for n in nodes)
        self._ranks = {n.name: float(i) for i, n in enumerate(nodes)} if whole else {}

    def rank(self, name: str) -> float:
        """Rank of a node; the lowest where nothing is known."""
        return self._ranks.get(name, -1.0)

    def insert(self, name: str, exactly: bool) -> None:
        """Gives a new node a rank between its sources and its users; `exactly`: it is all new."""
        if not self._ranks:
            return
        low = max((self.rank(s) for s in sources(self._work.nodes[name])), default=-1.0)
        high = min((self.rank(u) for u in self._work.users[name]), default=low + 1.0)
        middle = (low + high) / 2
        if exactly and low < middle < high:
            self._ranks[name] = middle
        else:
            self._sort()


class _Cond:
    """All that hangs on one predicate in one context."""

    def __init__(
        self,
        work: Work,
        frame: Frame,
        lives: Lives,
        context: Liveness,
        pred: Endpoint,
        queues: Queues,
        keep: Keep,
        order: _Order,
    ) -> None:
        self.order = order
        self.work = work
        self.frame = frame
        self.lives = lives
        self.context = context
        self.pred = pred
        self.queues = queues
        self.keep = keep
        self.literals = ((pred, 0), (pred, 1))

    # ---- which merges go together

    def grouped(self, joins: list[Join]) -> list[list[Join]]:
        """Merges that are one conditional: they share a scope, branch nodes, or the predicate."""
        if len(joins) == 1:
            return [joins]
        parent = {j.name: j.name for j in joins}

        def find(name: str) -> str:
            while parent[name] != name:
                name = parent[name]
            return name

        owner: dict[str, str] = {}
        for join in joins:
            marks = set(self._marks(join))
            scope = join.name.rpartition("/")[0]
            if scope:
                marks.add(f"scope {scope}")
            for mark in marks:
                other = owner.setdefault(mark, join.name)
                parent[find(join.name)] = find(other)
        groups: dict[str, list[Join]] = {}
        for join in joins:
            groups.setdefault(find(join.name), []).append(join)
        return list(groups.values())

    def _marks(self, join: Join) -> Iterable[str]:
        seen: set[str] = set()
        pending = [e.node for e in self.work.nodes[join.name].inputs]
        while pending:
            name = pending.pop()
            if name in seen or name not in self.lives.of:
                continue
            seen.add(name)
            node = self.work.nodes[name]
            if self._is_boundary(node):
                yield name
                way = self.work.nodes[node.inputs[1].node]
                if way.op.name == "Identity":
                    yield way.name
            elif self._side_of(name) is not None:
                yield name
                pending.extend(sources(node))

    def independent(self, joins: list[Join]) -> list[Join]:
        """Those of the merges that no other of them is above of."""
        if len(joins) == 1:
            return joins
        names = {j.name for j in joins}
        last = max(self.order.rank(n) for n in names)
        below: set[str] = set()
        seen: set[str] = set()
        pending = [u for n in names for u in self.work.users[n]]
        while pending:
            name = pending.pop()
            if name in seen or self.order.rank(name) > last:
                continue
            seen.add(name)
            if name in names:
                below.add(name)
            node = self.work.nodes[name]
            if node.op.name not in NEXTS:
                pending.extend(self.work.users[name])
        return [j for j in joins if j.name not in below]

    # ---- what belongs to it

    def _side_of(self, name: str) -> int | None:
        """Which branch a node is in, None where it is in neither."""
        live = self.lives.of.get(name)
        if live is None:
            return None
        for side, literal in enumerate(self.literals):
            if literal in live:
                return side
        return None

    def _is_boundary(self, node: Node) -> bool:
        switched = self.lives.switched.get(node.name)
        return (
            switched is not None and switched[0] == self.pred and self._side_of(node.name) is None
        )

    def _collect(self, side: int, roots: Iterable[str], into: _Side) -> None:
        work = self.work
        exact = self.context | {self.literals[side]}
        pending = list(roots)
        while pending:
            name = pending.pop()
            if name in into.nodes or name in into.switches or name in into.outside:
                continue
            node = work.nodes[name]
            if self._is_boundary(node):
                into.switches[name] = None
                for before in node.after:
                    into.outside[before] = None
                continue
            where = self._side_of(name)
            if where is None:
                into.outside[name] = None
                continue
            if where != side:
                if node.op.name == "ControlTrigger":
                    continue
                raise Refused(f"{name} is in both branches")
            live = self.lives.of[name]
            if live != exact:
                raise Refused(
                    f"{name} is shared with another context" if live < exact
                    else f"it holds {name}, which is not raised"
                )  # fmt: skip
            if node.op.name in PRIMITIVES:
                raise Refused(f"it holds {name}, which is not raised")
            if self.keep.has(name):
                raise Refused(f"{name}, inside, is fed or fetched")
            into.nodes[name] = None
            pending.extend(sources(node))

    def _check_users(self, sides: tuple[_Side, _Side], merges: Collection[str]) -> None:
        """What uses nodes of the branches: the merges, later regions of the same predicate."""
        work = self.work
        for side, branch in enumerate(sides):
            for name in list(branch.nodes):
                node = work.nodes[name]
                for user in work.users[name]:
                    if user in branch.nodes:
                        continue
                    taker = work.nodes[user]
                    if user in merges:
                        if name in taker.after:
                            raise Refused(f"{user} comes after {name}, inside a branch")
                        continue
                    if user not in self.lives.of:
                        raise Refused(f"it leads into {user}, of a loop that is not raised")
                    if self._side_of(user) == side:
                        ends = [e for e in taker.inputs if e.node == name]
                        if self._is_cheap(node, branch):
                            continue
                        branch.extra.update(dict.fromkeys(ends))
                        if name in taker.after:
                            branch.later[name] = None
                    elif taker.op.name == "ControlTrigger":
                        branch.control[name] = None
                        branch.later[name] = None
                    elif taker.op.name in MERGES and self._side_of(user) is None:
                        # a merge of the same predicate that comes later
                        branch.extra.update(
                            dict.fromkeys(e for e in taker.inputs if e.node == name)
                        )
                        if name in taker.after:
                            raise Refused(f"{user} comes after {name}, inside a branch")
                    else:
                        raise Refused(f"{name}, inside a branch, is used by {user}, outside")
            for name in branch.switches:
                if self.keep.has(name):
                    raise Refused(f"{name}, at a branch's border, is fed or fetched")

    def _is_cheap(self, node: Node, branch: _Side) -> bool:
        """Whether a node may as well stand in two regions."""
        if node.op.name == "Const" and all(
            n in branch.switches or self._is_cheap(self.work.nodes[n], branch) for n in node.after
        ):
            return True
        return (
            node.op.name == "Identity"
            and not node.after
            and all(e.node in branch.switches for e in node.inputs)
        )

    # ---- the instruction

    def raise_together(self, joins: list[Join]) -> str:
        """Makes one `If` of these merges; its name.

        Raises:
            Refused: they have no functional form.
        """
        work = self.work
        merges = [work.nodes[j.name] for j in joins]
        names = {m.name for m in merges}
        sides = (_Side(), _Side())
        for join, merge in zip(joins, merges, strict=True):
            for side in (0, 1):
                self._collect(side, [merge.inputs[join.sides[side]].node], sides[side])
        after: dict[str, None] = {}
        for merge in merges:
            for before in merge.after:
                if self._side_of(before) is not None or not self._alive_here(before):
                    raise Refused(f"{merge.name} comes after {before}, inside a branch")
                after[before] = None
        self._check_users(sides, names)
        region = {o for s in sides for n in (*s.nodes, *s.switches) for o in work.origin(n)}
        reason = self.queues.crossing(
            region | {o for n in names for o in work.origin(n)}, repeats=False
        )
        if reason:
            raise Refused(reason)

        captures: dict[Endpoint, int] = {}
        bodies = (Body(), Body())
        params = self._param_names(sides)
        results: tuple[list[Endpoint], list[Endpoint]] = ([], [])
        types: list[TensorType] = []

        def entered(end: Endpoint) -> Endpoint:
            return Endpoint(params(captures.setdefault(end, len(captures))))

        def inner(side: int, end: Endpoint) -> Endpoint:
            branch = sides[side]
            if end.node in branch.nodes:
                return end
            if end.node in branch.switches:
                return entered(work.nodes[end.node].inputs[0])
            return entered(end)

        for side, branch in enumerate(sides):
            for name in branch.nodes:
                node = work.nodes[name]
                bodies[side].put(
                    node.changed(
                        inputs=[inner(side, e) for e in node.inputs],
                        after=[n for n in node.after if n in branch.nodes],
                    )
                )
                for before in node.after:
                    if before not in branch.nodes and before not in branch.switches:
                        after[before] = None
            for name in branch.switches:
                after.update(dict.fromkeys(work.nodes[name].after))
            bodies[side].control.update(branch.control)

        first = merges[0]
        joins = sorted(joins, key=lambda j: by_number(j.name))
        merges = [work.nodes[j.name] for j in joins]
        for join, merge in zip(joins, merges, strict=True):
            for side in (0, 1):
                results[side].append(inner(side, merge.inputs[join.sides[side]]))
            types.append(merge.outputs[0])
        indexed = [m for m in merges if self._needs_index(m)]
        for merge in indexed:
            join = next(j for j in joins if j.name == merge.name)
            for side in (0, 1):
                results[side].append(self._constant(bodies[side], join.sides[side]))
            types.append(INDEX)
        extras = [(s, e) for s in (0, 1) for e in sides[s].extra]
        for side, end in extras:
            type_ = work.nodes[end.node].outputs[end.index]
            results[side].append(inner(side, end))
            results[1 - side].append(self._nothing(bodies[1 - side], end, type_))
            types.append(type_)

        after = {n: None for n in after if not self._is_gate(n)}
        name = self._name(first, merges)
        functions = []
        param_types = [self._type(e) for e in captures]
        held = [work.held(e) for e in captures]
        for side, word in ((1, "true"), (0, "false")):
            function = bodies[side].finished(
                work.function_name(f"{name}_{word}"),
                list(zip(param_types, held, strict=True)),
                results[side],
                params,
            )
            work.library[function.name] = function
            functions.append(function)
        stateful = any(f.is_stateful for f in functions)
        attrs = {
            "Tcond": bool_,
            "Tin": tuple(t.dtype.base for t in param_types),
            "Tout": tuple(t.dtype.base for t in types),
            "then_branch": reference(functions[0]),
            "else_branch": reference(functions[1]),
            "output_shapes": tuple(t.shape for t in types),
        }
        node = new_node(
            name, "If" if stateful else "StatelessIf", (self._value(), *captures), types,
            attrs, after, first.source,
        )  # fmt: skip
        self._install(node, merges, indexed, extras, sides, names)
        return name

    def _value(self) -> Endpoint:
        """The predicate as it can be used in this frame."""
        return self.work.now(self.lives.nearest[self.pred])

    def _alive_here(self, name: str) -> bool:
        live = self.lives.of.get(name)
        return live is not None and live <= self.context

    def _is_gate(self, name: str) -> bool:
        """Whether a node only says that this predicate is known."""
        return self._value().node == name or (
            name in self.lives.of and self._is_boundary(self.work.nodes[name])
        )

    def _type(self, end: Endpoint) -> TensorType:
        return self.work.nodes[end.node].outputs[end.index]

    def _param_names(self, sides: tuple[_Side, _Side]) -> Callable[[int], str]:
        taken = {n for s in sides for n in s.nodes}
        prefix = unused_prefix("arg", taken)
        return lambda index: f"{prefix}{index}"

    def _needs_index(self, merge: Node) -> bool:
        end = Endpoint(merge.name, 1)
        if self.keep.output(merge.name, 1):
            return True
        return any(end in self.work.nodes[u].inputs for u in self.work.users[merge.name])

    def _constant(self, body: Body, value: int) -> Endpoint:
        name = f"value_index/{value}"
        body.put(constant(name, value, int32))
        return Endpoint(name)

    def _nothing(self, body: Body, end: Endpoint, type_: TensorType) -> Endpoint:
        name = f"{end.node}/untaken_{end.index}"
        attrs = {"dtype": type_.dtype.base, "shape": type_.shape}
        body.put(new_node(name, "FakeParam", (), (type_,), attrs))
        return Endpoint(name)

    def _name(self, merge: Node, merges: list[Node]) -> str:
        scopes = [m.name.rpartition("/")[0] for m in (merge, *merges)]
        named = [s for s in scopes if self.work.is_named(s)]
        wanted = [*named, scopes[0], f"{merge.name}_if"]
        return self.work.unused(*[w for w in wanted if w])

    def _install(
        self,
        node: Node,
        merges: list[Node],
        indexed: list[Node],
        extras: list[tuple[int, Endpoint]],
        sides: tuple[_Side, _Side],
        names: set[str],
    ) -> None:
        work, frame = self.work, self.frame
        members = [*names, *(n for s in sides for n in (*s.nodes, *s.switches))]
        work.add(node, frame, members)
        self.lives.of[node.name] = self.context
        ends = {Endpoint(m.name, 0): Endpoint(node.name, i) for i, m in enumerate(merges)}
        for i, merge in enumerate(indexed):
            ends[Endpoint(merge.name, 1)] = Endpoint(node.name, len(merges) + i)
        gone: dict[str, str] = {}
        for merge in merges:
            value, index = Endpoint(merge.name, 0), Endpoint(merge.name, 1)
            if self.keep.output(merge.name, 1):
                types = merge.outputs
                inputs = [ends.pop(value), ends.pop(index)]
                attrs = {"T": tuple(t.dtype.base for t in types)}
                work.change(new_node(merge.name, "IdentityN", inputs, types, attrs))
            elif self.keep.output(merge.name, 0):
                work.change(identity(merge.name, ends.pop(value), merge.outputs[0]))
            else:
                gone[merge.name] = node.name
        work.redirect(ends, gone)
        for name in gone:
            work.remove(name)
        first = len(merges) + len(indexed)
        self._hand_on(node, extras, first, sides, members)
        self._clear(sides)
        self.order.insert(node.name, exactly=not extras and not any(s.later for s in sides))

    def _hand_on(
        self,
        node: Node,
        extras: list[tuple[int, Endpoint]],
        first: int,
        sides: tuple[_Side, _Side],
        members: list[str],
    ) -> None:
        """Lets later regions of the same predicate use what this one gives besides."""
        work, frame = self.work, self.frame
        pred = self._value()
        for number, (side, end) in enumerate(extras):
            type_ = self._type(end)
            switch = new_node(
                work.unused(f"{node.name}/{end.node.rpartition('/')[2]}/Switch"), "Switch",
                (Endpoint(node.name, first + number), pred), (type_, type_),
                {"T": type_.dtype.base},
            )  # fmt: skip
            work.add(switch, frame, members)
            self.lives.of[switch.name] = self.context
            self.lives.switched[switch.name] = (self.pred, 1)
            new = Endpoint(switch.name, side)
            for user in list(work.users[end.node]):
                taker = work.nodes[user]
                if user not in sides[side].nodes and end in taker.inputs:
                    inputs = [new if e == end else e for e in taker.inputs]
                    work.change(taker.changed(inputs=inputs))
        for side, branch in enumerate(sides):
            for name in branch.later:
                for user in list(work.users[name]):
                    taker = work.nodes[user]
                    if user in branch.nodes or name not in taker.after:
                        continue
                    if self._side_of(user) is None:
                        new_name = node.name
                    else:
                        new_name = self._gate(node, side, members)
                    work.change(
                        taker.changed(after=[new_name if n == name else n for n in taker.after])
                    )

    def _gate(self, node: Node, side: int, members: list[str]) -> str:
        """A node that runs after the `If`, on one side of its predicate only."""
        work, frame = self.work, self.frame
        pred = self._value()
        type_ = self._type(pred)
        switch = new_node(
            work.unused(f"{node.name}/done/Switch"), "Switch", (pred, pred), (type_, type_),
            {"T": type_.dtype.base},
        )  # fmt: skip
        work.add(switch, frame, members)
        self.lives.of[switch.name] = self.context
        self.lives.switched[switch.name] = (self.pred, 1)
        done = identity(
            work.unused(f"{node.name}/done"), Endpoint(switch.name, side), type_, (node.name,)
        )
        work.add(done, frame, members)
        self.lives.of[done.name] = self.context | {self.literals[side]}
        return done.name

    def _clear(self, sides: tuple[_Side, _Side]) -> None:
        """Drops the branches' nodes, but for those that later regions still use."""
        work = self.work
        inside = {n for s in sides for n in s.nodes}
        staying: set[str] = set()
        pending = [n for n in inside if any(u not in inside for u in work.users[n])]
        while pending:
            name = pending.pop()
            if name in inside and name not in staying:
                staying.add(name)
                pending.extend(sources(work.nodes[name]))
        going = inside - staying
        above = {s for n in going for s in sources(work.nodes[n])}
        for name in going:
            for user in [u for u in work.users[name] if u in going]:
                work.change(work.nodes[user].changed(inputs=(), after=()))
        for name in going:
            work.remove(name)
        switches = [n for s in sides for n in s.switches]
        work.drop_unused([*switches, *above], self.keep.has, self.keep.whole)
