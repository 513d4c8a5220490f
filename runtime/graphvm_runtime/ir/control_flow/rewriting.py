"""A graph that is being changed: nodes, their users and their frames, kept in step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from graphvm_runtime.dtypes import resource
from graphvm_runtime.ir.control_flow.frames import Frame
from graphvm_runtime.ir.derivatives.saved import named_regions
from graphvm_runtime.ir.graph import (
    Endpoint,
    Function,
    Graph,
    Node,
    Source,
    ordered,
    reachable,
    unused,
)
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.control_flow import PRIMITIVES, SWITCHES
from graphvm_runtime.ops.registry import Trait
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.shapes import TensorType

_NUMBERS = re.compile(r"(\d+)")
# what may only be there to lead tensors to regions; Equal: to ask a Merge which side it took
_PLUMBING = frozenset({"Identity", "Equal", "Const"})
_TOGETHER = b"loc:@"

Handles = Callable[[Endpoint], "TensorType | None"]


class Work:
    """Nodes by name with their users; changed in place while regions are raised.

    Attributes:
        members: for each node made here, the nodes of the first graph that went into it.
        moved: endpoints that are called otherwise now.
        library: functions, the new ones included.
        reserved: names that no new node may take.
    """

    def __init__(
        self, nodes: Iterable[Node], root: Frame, library: Mapping[str, Function], handles: Handles
    ) -> None:
        self.nodes: dict[str, Node] = {}
        self.users: dict[str, dict[str, None]] = {}
        self.frame: dict[str, Frame] = {}
        self.inside: dict[int, dict[str, None]] = {}
        self.members: dict[str, set[str]] = {}
        self.moved: dict[Endpoint, Endpoint] = {}
        self._was: dict[Endpoint, Endpoint] = {}
        self.library = dict(library)
        self._handles = handles
        for node in nodes:
            self.nodes[node.name] = node
            self.users[node.name] = {}
        # A name that a derivative made before is kept, whatever was pruned or added since.
        self._named = named_regions(self.nodes.values(), library)
        self.reserved = set(self.nodes)
        for node in self.nodes.values():
            self._link(node)
        for frame in root.inside_out():
            self.inside[id(frame)] = {n.name: None for n in frame.nodes}
            for node in frame.nodes:
                self.frame[node.name] = frame

    def _link(self, node: Node) -> None:
        for name in (*(e.node for e in node.inputs), *node.after):
            self.users[name][node.name] = None

    def _unlink(self, node: Node) -> None:
        for name in {*(e.node for e in node.inputs), *node.after}:
            if name in self.users:
                self.users[name].pop(node.name, None)

    def in_frame(self, frame: Frame) -> list[Node]:
        """Nodes of a frame in topological order, back edges and inner frames left out."""
        names = self.inside[id(frame)]
        return ordered(_inner_only(self.nodes[n], names) for n in names)

    def add(
        self, node: Node, frame: Frame, members: Iterable[str] = (), users: Iterable[str] = ()
    ) -> None:
        """A new node; `users` take it already."""
        self.nodes[node.name] = node
        self.users[node.name] = dict.fromkeys(users)
        self.reserved.add(node.name)
        self._link(node)
        self.frame[node.name] = frame
        self.inside[id(frame)][node.name] = None
        self.members[node.name] = {m for n in members for m in self.origin(n)}

    def change(self, node: Node) -> None:
        """Puts a node in the place of the one of its name."""
        self._unlink(self.nodes[node.name])
        self.nodes[node.name] = node
        self._link(node)

    def remove(self, name: str) -> None:
        """Drops a node; its users must have been changed."""
        node = self.nodes.pop(name)
        self._unlink(node)
        del self.users[name]
        del self.inside[id(self.frame.pop(name))][name]

    def origin(self, name: str) -> set[str]:
        """Nodes of the first graph that a node stands for."""
        return self.members.get(name, {name})

    def unused(self, *wanted: str) -> str:
        """The first of these names that is free, or the last with a number.

        One that a path of a `_Saved` node names goes before those that none does.
        """
        for name in sorted(wanted, key=lambda n: n not in self._named):
            if name not in self.reserved:
                return name
        return unused(wanted[-1], self.reserved)

    def is_named(self, name: str) -> bool:
        """Whether a path of a `_Saved` node names it."""
        return name in self._named

    def function_name(self, wanted: str) -> str:
        """A free name in the library."""
        return unused(wanted.replace("/", "_").replace("$", "_"), self.library)

    def now(self, end: Endpoint) -> Endpoint:
        """What an endpoint of the first graph is called now."""
        while end in self.moved:
            end = self.moved[end]
        return end

    def held(self, end: Endpoint) -> TensorType | None:
        """Type of what is behind a handle; None where it is none, or not known."""
        if self.nodes[end.node].outputs[end.index].dtype.base is not resource:
            return None
        while end in self._was:
            end = self._was[end]
        return self._handles(end)

    def redirect(self, ends: Mapping[Endpoint, Endpoint], controls: Mapping[str, str]) -> None:
        """Lets users of some endpoints and nodes use others."""
        self.moved.update(ends)
        for old, new in ends.items():
            self._was.setdefault(new, old)
        names = dict.fromkeys([*(e.node for e in ends), *controls])
        for user in dict.fromkeys(u for n in names for u in self.users[n]):
            node = self.nodes[user]
            self.change(
                node.changed(
                    inputs=[ends.get(e, e) for e in node.inputs],
                    after=[controls.get(n, n) for n in node.after],
                )
            )

    def drop_unused(self, names: Iterable[str], keep: Callable[[str], bool], whole: bool) -> None:
        """Drops plumbing that nothing uses any more, and what of it only that used.

        Args:
            names: where to begin.
            keep: whether a node must stay.
            whole: tensors that are no part of a region must stay too.
        """
        pending = list(names)
        while pending:
            name = pending.pop()
            node = self.nodes.get(name)
            if node is None or self.users[name] or keep(name):
                continue
            op = node.op.name
            pivot = op == "Identity" and self.nodes[node.inputs[0].node].op.name in SWITCHES
            if op in PRIMITIVES or pivot or (not whole and op in _PLUMBING):
                pending.extend(sources(node))
                self.remove(name)


def _inner_only(node: Node, names: Mapping[str, None]) -> Node:
    """The node with edges of its own frame only, without back edges."""
    inputs = [e for e in node.inputs if e.node in names]
    after = [n for n in node.after if n in names]
    if len(inputs) == len(node.inputs) and len(after) == len(node.after):
        return node
    return node.changed(inputs=inputs, after=after)


def sources(node: Node) -> Iterator[str]:
    """Names of the nodes that a node takes or comes after."""
    for end in node.inputs:
        yield end.node
    yield from node.after


def by_number(name: str) -> list[tuple[str, int]]:
    """Sorts names that differ in numbers as they were given out: Merge, Merge_2, Merge_10.

    What a region gives must be in an order that does not depend on what else is in the graph:
    derivatives name values by paths, and outputs of regions in bodies by their index.
    """
    parts = [*_NUMBERS.split(name), "-1"]
    return [(text, int(number)) for text, number in zip(parts[::2], parts[1::2], strict=True)]


def new_node(
    name: str,
    op: str,
    inputs: Iterable[Endpoint],
    outputs: Iterable[TensorType],
    attrs: Mapping[str, AttrValue],
    after: Iterable[str] = (),
    source: Source = "",
) -> Node:
    """A node made by a pass; all its attributes are given."""
    found = lookup(op)
    return Node(
        name,
        found,
        tuple(inputs),
        tuple(dict.fromkeys(after)),
        MappingProxyType(dict(attrs)),
        tuple(outputs),
        source=source,
    )


def identity(name: str, end: Endpoint, type_: TensorType, after: Iterable[str] = ()) -> Node:
    """An Identity."""
    return new_node(name, "Identity", (end,), (type_,), {"T": type_.dtype.base}, after)


def colocated(nodes: Iterable[Node], names: Mapping[str, str]) -> list[Node]:
    """Nodes with their colocations (`_class`) renamed, and dropped where the other is gone."""
    out = []
    for node in nodes:
        classes = node.attrs.get("_class")
        if classes:
            kept = []
            for text in classes:
                other = names.get(text.removeprefix(_TOGETHER).decode(errors="surrogateescape"))
                if other is not None or not text.startswith(_TOGETHER):
                    kept.append(text if other is None else _TOGETHER + other.encode())
            if tuple(kept) != tuple(classes):
                attrs = {k: v for k, v in node.attrs.items() if k != "_class"}
                if kept:
                    attrs["_class"] = tuple(kept)
                node = node.changed(attrs=MappingProxyType(attrs))
        out.append(node)
    return out


class Body:
    """A function body that is being cut out of a graph.

    Attributes:
        params: for each outer endpoint that it takes, its type; in order.
        nodes: nodes as they will stand in the body, in any order.
        control: nodes that run whether or not a result needs them.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.control: dict[str, None] = {}

    def put(self, node: Node) -> None:
        """Adds a node; one that fires without tokens needs no special op in a body."""
        if node.op.name == "ControlTrigger":
            node = node.changed(op=lookup("NoOp"), attrs=MappingProxyType({}))
        self.nodes[node.name] = node

    def finished(
        self,
        name: str,
        params: Iterable[tuple[TensorType, TensorType | None]],
        results: Iterable[Endpoint],
        param_name: Callable[[int], str],
    ) -> Function:
        """The function; edges and nodes that do nothing in a body are left out.

        Args:
            name: its name.
            params: type of each parameter, and of what is behind it where it is a handle.
            results: what it returns, in terms of the nodes and of `param_name`.
            param_name: name of a parameter as the nodes refer to it.
        """
        args: dict[str, Node] = {}
        for index, (type_, held) in enumerate(params):
            attrs: dict[str, Any] = {"T": type_.dtype.base, "index": index}
            if held is not None and type_.dtype.base is resource:
                attrs["_handle_type"] = held
            arg = new_node(param_name(index), "_Arg", (), (type_,), attrs)
            args[arg.name] = arg
        wanted = [self._plain_result(e) for e in results]
        trivial = self._trivial(args)
        everything: dict[str, Node] = dict(args)
        for node in self.nodes.values():
            if any(n in trivial for n in node.after):
                node = node.changed(after=[n for n in node.after if n not in trivial])
            everything[node.name] = node
        control = [n for n in self.control if n not in trivial]
        reached = reachable(everything, [e.node for e in wanted])
        above = {n.name for n in reached}
        # a node above a result or above another such node runs anyway
        needed = [n for n in control if n not in above]
        extra = reachable(everything, needed)
        below = {s for n in extra for s in sources(n)}
        needed = [n for n in needed if n not in below]
        every = dict.fromkeys([*args, *(n.name for n in reached), *(n.name for n in extra)])
        order = ordered(everything[n] for n in [*args, *self.nodes] if n in every)
        order = colocated(order, {n: n for n in every})
        return Function(
            name,
            tuple(Endpoint(a) for a in args),
            tuple(wanted),
            tuple(f"output_{i}" for i in range(len(wanted))),
            Graph(tuple(order)),
            tuple(dict.fromkeys(needed)),
        )

    def _plain_result(self, end: Endpoint) -> Endpoint:
        """The result without Identity, whose only use may be to make it wait for effects."""
        passed: set[str] = set()
        while True:
            node = self.nodes.get(end.node)
            if node is None or node.op.name != "Identity":
                return end
            if node.after and any(
                end.node in sources(n) for n in self.nodes.values() if n.name not in passed
            ):
                return end
            passed.add(end.node)
            self.control.update(dict.fromkeys(node.after))
            end = node.inputs[0]

    def _trivial(self, args: Mapping[str, Node]) -> set[str]:
        """Nodes that have run once the parameters are there: waiting for them orders nothing."""
        out = set(args)
        for node in ordered_body(self.nodes, args):
            if (
                (node.op.forwards or node.op.traits & Trait.PLACELESS)
                and all(e.node in out for e in node.inputs)
                and all(n in out for n in node.after)
            ):
                out.add(node.name)
        return out


def ordered_body(nodes: Mapping[str, Node], args: Mapping[str, Node]) -> list[Node]:
    """Nodes of a body in topological order, without its parameters."""
    return [n for n in ordered([*args.values(), *nodes.values()]) if n.name not in args]


def reference(function: Function) -> FuncRef:
    """The attribute that names a function."""
    return FuncRef(function.name)
