"""What a graph says that its author hardly meant: side effects that always run, or never do.

* `always-runs`: an op with a side effect stands outside a branch, and only one side of the branch
  uses it. It runs whichever side is taken.
* `runs-once`: an op with a side effect stands outside a loop, and the loop's body waits for it. It
  runs once, before the loop, not in each iteration.
* `never-runs`: an op with a side effect stands in a body, and nothing that the body gives needs
  it.

Reading a variable, drawing random numbers and making a handle count as no side effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from graphvm_runtime.dtypes import resource
from graphvm_runtime.ir.bodies import body_keys, body_ref
from graphvm_runtime.ir.control_flow.raise_ import raise_
from graphvm_runtime.ir.derivatives.saved import is_derived
from graphvm_runtime.ir.effects import SideEffects
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, reachable, source_text
from graphvm_runtime.ops.control_flow import PRIMITIVES
from graphvm_runtime.ops.functional import BRANCHES, LOOPS, REGIONS

# names of the nodes outside that a function's body waits for, by the name of the function
Waits = Mapping[str, Sequence[str]]
# nodes that were built in a function's body and left out of it, by the name of the function
DeadNodes = Mapping[str, Sequence[Node]]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a graph hardly means.

    Attributes:
        kind: `always-runs`, `runs-once` or `never-runs`.
        what: what is odd, in one line.
        node: the node, as text.
        made: the user's own line that made it.
        do: what to do about it.
    """

    kind: str
    what: str
    node: str
    made: str
    do: str

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.what}", f"  node  {self.node}"]
        if self.made:
            lines.append(f"  made  {self.made}")
        return "\n".join([*lines, f"  do    {self.do}"])


def lint(
    graph: Graph, waits: Waits = MappingProxyType({}), dead_nodes: DeadNodes = MappingProxyType({})
) -> list[Finding]:
    """The findings in a graph and in all bodies that it can reach.

    Args:
        graph: any graph; TensorFlow 1's primitives are looked at in their functional form.
        waits: see `Waits`; a graph in a file does not say it.
        dead_nodes: see `DeadNodes`; a graph in a file does not say it.
    """
    if any(n.op.name in PRIMITIVES for n in graph.all_nodes()):
        graph = raise_(graph)
    return list(_Linter(graph, waits, dead_nodes).found())


class _Linter:
    def __init__(self, graph: Graph, waits: Waits, dead_nodes: DeadNodes) -> None:
        self.graph = graph
        self.library = graph.library
        self.waits = waits
        self.dead_nodes = dead_nodes
        self.has_effect = SideEffects(graph.library).left_by

    def found(self) -> Iterator[Finding]:
        """All findings, outside first."""
        yield from self._among(self.graph, None)
        seen: set[str] = set()
        pending = list(self.graph.nodes)
        while pending:
            node = pending.pop(0)
            if node.op.name not in REGIONS or is_derived(node):
                continue
            for key in body_keys(node):
                function = self.library.get(body_ref(node, key).name)
                if function is None or function.name in seen:
                    continue
                seen.add(function.name)
                if any(map(is_derived, function.body.nodes)):
                    continue
                yield from self._never(node, function)
                yield from self._among(function.body, function)
                pending.extend(function.body.nodes)

    # -- never -----------------------------------------------------------------------------

    def _never(self, owner: Node, function: Function) -> Iterator[Finding]:
        nodes = function.body.by_name
        roots = [*(e.node for e in function.results), *function.control]
        runs = {n.name for n in reachable(nodes, roots)}
        for node in (*function.body.nodes, *self.dead_nodes.get(function.name, ())):
            if node.name not in runs and self.has_effect(node):
                yield Finding(
                    "never-runs",
                    f"{node.op.name} {node.name!r} in a body of {owner.name!r} never runs: "
                    "nothing that the body gives needs it",
                    node.signature(),
                    source_text(node.source),
                    "return it from the body, or let what is returned come after it "
                    "(control_dependencies)",
                )

    # -- always, or once -------------------------------------------------------------------

    def _among(self, body: Graph, function: Function | None) -> Iterator[Finding]:
        given = set() if function is None else {e.node for e in function.results}
        given |= set() if function is None else set(function.control)
        regions = [n for n in body.nodes if not is_derived(n)]
        uses = {n.name: self._uses(n) for n in regions if n.op.name in BRANCHES}
        # what a region takes for some of its sides only, or for an iteration, it may do without
        spared = {
            name: {n for n, sides in found.items() if len(sides) < count}
            for name, (found, count) in uses.items()
        }
        for node in regions:
            if node.op.name in LOOPS:
                spared[node.name] = {
                    n for k in body_keys(node) for n in self.waits.get(body_ref(node, k).name, ())
                }
        for node in regions:
            if node.op.name in BRANCHES:
                yield from self._always(node, body, given, uses[node.name][0], spared)
            elif node.op.name in LOOPS:
                yield from self._once(node, body)

    def _uses(self, node: Node) -> tuple[dict[str, set[str]], int]:
        """For each node outside the sides of a branch that use it; and how many sides there are."""
        sides = {k: self.library.get(body_ref(node, k).name) for k in body_keys(node)}
        uses: dict[str, set[str]] = {}
        for i, end in enumerate(node.inputs[1:]):
            users = {k for k, f in sides.items() if f is None or _is_used(f, f.params[i])}
            uses.setdefault(end.node, set()).update(users)
        for key, function in sides.items():
            for name in self.waits.get(function.name, ()) if function is not None else ():
                uses.setdefault(name, set()).add(key)
        uses.setdefault(node.inputs[0].node, set()).update(sides)
        for name in node.after:
            if name not in uses:  # the node itself waits for it
                uses[name] = set(sides)
        return uses, len(sides)

    def _always(
        self,
        node: Node,
        body: Graph,
        given: set[str],
        uses: Mapping[str, set[str]],
        spared: Mapping[str, set[str]],
    ) -> Iterator[Finding]:
        starts = [n for n in uses if n in spared[node.name]]
        kept = given | (uses.keys() - spared[node.name])
        alone = _leading_to(node.name, starts, body, kept, spared)
        for name in alone:
            culprit = body.by_name[name]
            if not self.has_effect(culprit):
                continue
            side = sorted({k for n, users in uses.items() if n in alone for k in users})
            yield Finding(
                "always-runs",
                f"{culprit.op.name} {name!r} runs whichever side of {node.name!r} is taken: it "
                f"stands outside, though only {' and '.join(map(_called, side))} uses it",
                culprit.signature(),
                source_text(culprit.source),
                "make it inside the function of that side",
            )

    def _once(self, node: Node, body: Graph) -> Iterator[Finding]:
        for key in body_keys(node):
            for name in self.waits.get(body_ref(node, key).name, ()):
                culprit = body.by_name.get(name)
                if culprit is not None and self.has_effect(culprit):
                    yield Finding(
                        "runs-once",
                        f"{culprit.op.name} {name!r} runs once, before the loop {node.name!r}, "
                        "not in each iteration: it stands outside of the body that waits for it",
                        culprit.signature(),
                        source_text(culprit.source),
                        "make it inside the function of the body",
                    )


def _called(key: str) -> str:
    return f"the {key.removesuffix('_branch')} side" if "[" not in key else f"side {key[9:-1]}"


def _is_used(function: Function, param: Endpoint) -> bool:
    return param in function.results or any(
        param in n.inputs or param.node in n.after for n in function.body.nodes
    )


def _leading_to(
    target: str,
    starts: Sequence[str],
    body: Graph,
    kept: set[str],
    spared: Mapping[str, set[str]],
) -> dict[str, None]:
    """Nodes from which every way leads to `target`, or to regions that may do without them.

    Args:
        target: a region.
        starts: what it takes and may do without.
        body: the nodes around it.
        kept: what is needed in any case.
        spared: for each region what it takes and may do without.
    """
    alone: dict[str, None] = {}
    nodes, users = body.by_name, body.users
    pending = [n for n in starts if n in nodes]
    while pending:
        name = pending.pop()
        if name in alone or name in kept:
            continue
        # a read of a variable is made beside each assignment, whether or not anybody wants it
        others = (u for u in users[name] if users[u] or nodes[u].op.name != "ReadVariableOp")
        if not all(u == target or u in alone or name in spared.get(u, ()) for u in others):
            continue  # another user may be found to be alone later: then it comes again
        alone[name] = None
        node = nodes[name]
        pending.extend(dict.fromkeys([*(e.node for e in node.inputs), *node.after]))
    # handles are no values: what holds them stays
    return {n: None for n in alone if not _is_handle(nodes[n])}


def _is_handle(node: Node) -> bool:
    return bool(node.outputs) and all(t.dtype is resource for t in node.outputs)
