"""What the dataflow interpreter knows of a graph before it runs: its nodes and their edges."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.bodies import body_keys, body_ref
from graphvm_runtime.ir.control_flow.frames import Frame, frames
from graphvm_runtime.ir.graph import Endpoint, Graph, Node, functions_used, source_text
from graphvm_runtime.kernels.registry import Kernel, made
from graphvm_runtime.ops.control_flow import ENTERS, EXITS, MERGES, NEXTS, SWITCHES
from graphvm_runtime.ops.functional import BRANCHES, CASES, LOOPS, REGIONS
from graphvm_runtime.ops.registry import OpDef

DEAD: Final = object()  # the value of a tensor on a branch that was not taken
NEVER = 1 << 60

# what a node does with its tokens
PLAIN, WITH_STEP, PASS, NOTHING, SWITCH, MERGE, ENTER, EXIT, NEXT, START, REGION = range(11)


class Item:
    """One node of a table.

    Attributes:
        at: its place among the counters of its frame.
        base: its first input among the inputs of its frame; the others follow.
        edges: (receiver, which output, place of the receiver's input) of each data edge out.
        followers: receivers of control edges out.
        pending: tokens to wait for: `data + control`; for a merge `1 + 2 * control`.
        dead_at: number of dead tokens that make it dead.
        copies: inputs that are copied before the kernel gets them, since it keeps them.
        fetches: (output, place among the results).
        child: the table of the frame that an Enter leads into.
    """

    __slots__ = (
        "arity", "at", "base", "call", "child", "constant", "copies", "dead_at", "edges",
        "fetches", "followers", "kind", "node", "outputs", "pending", "region", "start",
    )  # fmt: skip

    def __init__(self, node: Node, kind: int, at: int, base: int) -> None:
        self.node = node
        self.kind = kind
        self.at = at
        self.base = base
        self.arity = len(node.inputs)
        self.outputs = len(node.outputs)
        self.edges: list[tuple[Item, int, int]] = []
        self.followers: list[Item] = []
        self.fetches: list[tuple[int, int]] = []
        self.copies: tuple[int, ...] = ()
        self.constant = False
        self.child: Table | None = None
        self.call: Callable[..., Any] = _never
        self.start: Callable[..., None] = _never
        self.region: Region | None = None
        if kind == MERGE:
            self.pending = 1 + 2 * len(node.after)
            self.dead_at = self.arity
        else:
            self.pending = self.arity + len(node.after)
            self.dead_at = NEVER if node.op.name == "ControlTrigger" else 1


def _never(*_: Any) -> Any:
    raise AssertionError("an item that calls nothing was called")


class Table:
    """The nodes of one frame.

    Attributes:
        pending: counters as they are when an iteration begins.
        inputs: number of inputs of all its nodes together.
        enters: number of nodes that lead into it.
        limit: iterations that may run at a time.
        outer: the frame around it.
    """

    __slots__ = ("dead", "enters", "inputs", "limit", "name", "outer", "pending")

    def __init__(self, frame: Frame, outer: Table | None) -> None:
        self.outer = outer
        self.name = frame.name
        self.pending: list[int] = []
        self.dead: list[int] = []
        self.inputs = 0
        self.enters = len(frame.enters)
        self.limit = max(1, frame.parallel_iterations)


@dataclass(frozen=True, slots=True)
class Region:
    """A functional node: what it runs, and whether it may wait for others."""

    kind: str  # "if", "case", "while", "call"
    functions: tuple[str, ...]
    blocking: bool


@dataclass(frozen=True, slots=True)
class Tables:
    """All of a graph.

    Attributes:
        feeds: for each feed the receivers, as the edges of an item, and places among results.
        roots: nodes without inputs; they start the run.
    """

    root: Table
    items: Mapping[str, Item]
    feeds: tuple[tuple[tuple[tuple[Item, int], ...], tuple[Item, ...], tuple[int, ...]], ...]
    roots: tuple[Item, ...]


# what a kernel calls that takes a function, by the function's name
Called = Callable[[str], Callable[..., Sequence[Any]]]


def no_functions(name: str) -> Callable[..., Sequence[Any]]:
    """For graphs whose kernels take no functions."""
    raise InvalidArgumentError(f"no program for the function {name!r}")


def tables(
    graph: Graph, feeds: Sequence[Endpoint], fetches: Sequence[Endpoint], called: Called
) -> Tables:
    """The tables of a graph, all of whose nodes are to run.

    Args:
        graph: pruned.
        feeds: endpoints whose values are given, or that are not there at all; a node all of whose
            outputs are given is not run.
        fetches: endpoints whose values are wanted.
        called: what kernels that take functions call, by the function's name.

    Raises:
        InvalidArgumentError: frames are mixed up, or something inside a loop is fed or fetched.
    """
    given = set(feeds)
    silent = {
        n.name for n in graph.nodes
        if n.outputs and all(Endpoint(n.name, i) in given for i in range(len(n.outputs)))
    }  # fmt: skip
    tree = frames(n.changed(inputs=(), after=()) if n.name in silent else n for n in graph.nodes)
    all_frames = [tree]
    for frame in all_frames:
        all_frames.extend(frame.children)
    by_enter: dict[str, Table] = {}
    by_frame: dict[int, Table] = {}
    made_tables: list[Table] = []
    for frame in all_frames:
        table = Table(frame, by_frame[id(frame.parent)] if frame.parent else None)
        by_frame[id(frame)] = table
        made_tables.append(table)
        for enter in frame.enters:
            by_enter[enter.name] = table
    items: dict[str, Item] = {}
    home: dict[str, Table] = {}
    for frame, table in zip(all_frames, made_tables, strict=True):
        for node in frame.nodes:
            item = _item(graph, node, len(table.pending), table.inputs, called)
            if item.kind == ENTER:
                item.child = by_enter[node.name]
                item.constant = bool(node.attrs["is_constant"])
            table.pending.append(item.pending)
            table.inputs += item.arity
            items[node.name] = item
            home[node.name] = table
        table.dead = [0] * len(table.pending)
    for item in items.values():
        for i, end in enumerate(item.node.inputs):
            if end not in given:
                items[end.node].edges.append((item, end.index, item.base + i))
        for name in item.node.after:
            if name not in silent:
                items[name].followers.append(item)
    outside = made_tables[0]
    for end in feeds:
        if end.node in items:
            _check_outside(end, items, home, outside)
    for end in fetches:
        # what enters a loop is there once, outside of it
        if end.node in items and (items[end.node].kind != ENTER or home[end.node] is not outside):
            _check_outside(end, items, home, outside)
    for place, end in enumerate(fetches):
        if end not in given:
            items[end.node].fetches.append((end.index, place))
    fetched = set(fetches)
    for item in items.values():
        if item.copies:
            item.copies = tuple(
                i for i in item.copies if not _is_fresh(items, item.node.inputs[i], given, fetched)
            )
    fed = []
    first: set[str] = set()
    for end in feeds:
        receivers = tuple(
            (item, item.base + i)
            for item in items.values() for i, e in enumerate(item.node.inputs) if e == end
        )  # fmt: skip
        after: tuple[Item, ...] = ()
        if end.node in silent and end.node not in first:
            first.add(end.node)
            after = tuple(i for i in items.values() if end.node in i.node.after)
        fed.append((receivers, after, tuple(p for p, e in enumerate(fetches) if e == end)))
    roots = tuple(item for name, item in items.items() if item.pending == 0 and name not in silent)
    return Tables(outside, items, tuple(fed), roots)


def _check_outside(
    end: Endpoint, items: Mapping[str, Item], home: Mapping[str, Table], outside: Table
) -> None:
    item = items[end.node]
    where: Table | None = home[end.node]
    if item.kind == EXIT:
        where = home[end.node].outer
    if item.kind == ENTER:
        where = item.child
    inside = where is not outside
    if inside:
        raise InvalidArgumentError(
            f"{end} is inside a loop: it can be neither fetched nor fed",
            node=item.node.signature(),
            made=source_text(item.node.source),
            do="fetch or feed a tensor outside the loop",
        )


def _item(graph: Graph, node: Node, at: int, base: int, called: Called) -> Item:
    op = node.op.name
    kind = _kind(node.op)
    if kind is not None:
        item = Item(node, kind, at, base)
        if kind == REGION:
            item.region = _region(graph, node)
        return item
    if node.op.internal and op == "_Arg":
        return Item(node, NOTHING, at, base)  # its value comes as a feed
    if "_fed" in node.attrs:
        return Item(node, NOTHING, at, base)
    kernel: Kernel = made(node).bound(node, called)
    if kernel.start is not None and node.op.is_blocking:
        item = Item(node, START, at, base)
        item.start = kernel.start
    else:
        item = Item(node, WITH_STEP if kernel.step else PLAIN, at, base)
        item.call = kernel.call
    item.copies = tuple(i for i in kernel.keeps if i < item.arity)
    return item


def _kind(op: OpDef) -> int | None:
    if op.forwards:
        return PASS
    for names, kind in (
        (SWITCHES, SWITCH), (MERGES, MERGE), (ENTERS, ENTER), (EXITS, EXIT), (NEXTS, NEXT),
        (REGIONS, REGION), (frozenset({"NoOp", "ControlTrigger"}), NOTHING),
    ):  # fmt: skip
        if op.name in names:
            return kind
    return None


def _region(graph: Graph, node: Node) -> Region:
    op = node.op.name
    kind = "while" if op in LOOPS else "call" if op not in BRANCHES else "if"
    if op in CASES:
        kind = "case"
    functions = tuple(body_ref(node, key).name for key in body_keys(node))
    inner = functions_used([node], graph.library).values()
    return Region(kind, functions, any(n.op.is_blocking for f in inner for n in f.body.nodes))


def _is_fresh(
    items: Mapping[str, Item],
    end: Endpoint,
    given: Collection[Endpoint],
    fetched: Collection[Endpoint],
) -> bool:
    """Whether the tensor is the sole reader's alone: made by a kernel, shared with nothing."""
    source = items[end.node]
    if end in given or end in fetched or source.kind not in (PLAIN, WITH_STEP):
        return False
    if source.node.op.name == "Const" or sum(1 for _, i, _ in source.edges if i == end.index) > 1:
        return False
    kernel = made(source.node)
    return not kernel.borrowed and not kernel.aliases
