"""TF1's dataflow primitives into the functional form: `If` and `While` with bodies in the library.

A region that is not provably structured is left as it is, each with a reason; others around it are
raised if they do not hold it. Raised, lowered and interpreted forms of a graph give the same.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType

from graphvm_runtime.ir.control_flow.deadness import ALWAYS, Lives, believed, liveness
from graphvm_runtime.ir.control_flow.frames import Frame, frames
from graphvm_runtime.ir.control_flow.raise_conds import raise_conds
from graphvm_runtime.ir.control_flow.raise_loops import raise_loop
from graphvm_runtime.ir.control_flow.regions import Keep, Raised, Refused
from graphvm_runtime.ir.control_flow.rewriting import Work, colocated, sources
from graphvm_runtime.ir.control_flow.strictness import queues
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node
from graphvm_runtime.ir.infer import Resolution
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.control_flow import ENTERS, EXITS, PRIMITIVES, SWITCHES


def raise_(graph: Graph, keep: Collection[str] | None = None) -> Graph:
    """The graph with its structured regions as `If` and `While` nodes.

    What a region gives is renamed at all users; the outputs that `keep` names stay under their old
    names as Identity nodes. The node of a conditional is called after the scope of its Merge
    (`cond/Merge`: `cond`), that of a loop after its frame (`while/while_context`: `while`).

    Args:
        graph: variables are resources.
        keep: names of nodes, or endpoints as text, that are fed, fetched or run by name: a region
            with one of them inside stays as it is. None: every output of a region keeps its name.

    Raises:
        InvalidArgumentError: a node has inputs from different frames.
    """
    return _raised(graph, keep)[0]


def raise_report(graph: Graph, keep: Collection[str] | None = None) -> list[Raised]:
    """What `raise_` makes of each region of the graph and of its functions, with reasons."""
    return _raised(graph, keep)[1]


def _raised(graph: Graph, keep: Collection[str] | None) -> tuple[Graph, list[Raised]]:
    report: list[Raised] = []
    library = dict(graph.library)
    for name, function in graph.library.items():
        if _has_primitives(function.body.nodes):
            library.update(_function(name, function, library, report))
    if not _has_primitives(graph.nodes):
        return (graph if library == graph.library else graph.with_library(library)), report
    nodes, new_library, _ = _region(graph.nodes, library, Keep(keep), report)
    return replace(graph, library=new_library).with_nodes(nodes), report


def _has_primitives(nodes: Collection[Node]) -> bool:
    return any(n.op.name in PRIMITIVES for n in nodes)


def _function(
    name: str, function: Function, library: Mapping[str, Function], report: list[Raised]
) -> Mapping[str, Function]:
    """The library with one function's body raised."""
    wanted = {str(e) for e in function.results} | set(function.control)
    nodes, new_library, moved = _region(
        function.body.nodes, library, Keep(wanted), report, f"{name}: "
    )
    names = {n.name for n in nodes}
    results = tuple(e if e.node in names else moved[e] for e in function.results)
    body = replace(function.body, library={}).with_nodes(nodes)
    return {**new_library, name: replace(function, body=body, results=results)}


def _region(
    nodes: Collection[Node],
    library: Mapping[str, Function],
    keep: Keep,
    report: list[Raised],
    prefix: str = "",
) -> tuple[list[Node], dict[str, Function], Mapping[Endpoint, Endpoint]]:
    by_name = {n.name: n for n in nodes}
    tree = frames(nodes)
    resolution = Resolution(by_name.__getitem__)
    work = Work(nodes, tree, library, resolution.handle)
    crossing = queues(by_name, library)
    mine: list[Raised] = []
    beliefs = believed(work, tree)
    _drop_unreached(work, tree, beliefs, keep)
    assumed = beliefs.assumed
    for frame in tree.inside_out():
        lives = liveness(work, frame, assumed)
        raise_conds(work, frame, lives, crossing, keep, mine)
        if frame.parent is None or not work.inside[id(frame)]:
            continue
        try:
            raise_loop(work, frame, lives, crossing, keep)
            mine.append(Raised(frame.name, True))
        except Refused as refused:
            mine.append(Raised(frame.name, False, str(refused)))
    report.extend(replace(r, region=prefix + r.region) for r in mine)
    dangling = [n for n, users in work.users.items() if not users]
    work.drop_unused(dangling, keep.has, whole=True)
    left = colocated(work.nodes.values(), {n: n for n in work.nodes})
    if not _has_primitives(left):
        left = [_plain(n) for n in left]
    return left, work.library, work.moved


def _drop_unreached(work: Work, tree: Frame, lives: Lives, keep: Keep) -> None:
    """Drops what is inside regions and leads nowhere: it cannot be asked for, so never runs."""
    entered = lives.entered or {}

    def is_inside(node: Node) -> bool:
        frame = work.frame[node.name]
        if keep.has(node.name):
            return False
        if node.op.name in EXITS:
            return frame.parent is not tree or bool(entered.get(id(frame)))
        return (
            frame is not tree
            or node.op.name in SWITCHES | ENTERS
            or (lives.of[node.name] != ALWAYS)
        )

    pending = [n for n, users in work.users.items() if not users]
    while pending:
        node = work.nodes.get(pending.pop())
        if node is not None and not work.users[node.name] and is_inside(node):
            work.remove(node.name)
            pending.extend(sources(node))
    for frame in tree.inside_out():
        frame.enters[:] = [e for e in frame.enters if e.name in work.nodes]


def _plain(node: Node) -> Node:
    """A trigger is a NoOp where everything is alive."""
    if node.op.name != "ControlTrigger":
        return node
    return node.changed(op=lookup("NoOp"), attrs=MappingProxyType({}))
