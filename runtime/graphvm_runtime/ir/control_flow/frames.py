"""Frames of TF1's loops: which loop each node of a graph belongs to.

`Enter` starts a token on its way through a loop, `Exit` takes it out again. A frame is known by
the frame around it and by the attribute `frame_name`; nodes with no inputs are in no loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node, ordered, source_text
from graphvm_runtime.ops.control_flow import ENTERS, EXITS


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frame:
    """One loop of a graph, or the outside of all (`parent` is None).

    Attributes:
        nodes: nodes whose inputs are in it, in topological order; so an `Enter` belongs to the
            frame around its loop, an `Exit` to the loop.
        enters: the nodes that lead into it.
        children: loops directly inside.
    """

    name: str
    parent: Frame | None
    nodes: list[Node] = field(default_factory=list)
    enters: list[Node] = field(default_factory=list)
    children: list[Frame] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<Frame {self.name!r}: {len(self.nodes)} nodes>"

    @property
    def parallel_iterations(self) -> int:
        """How many iterations may run at a time."""
        return int(self.enters[0].attrs["parallel_iterations"]) if self.enters else 1

    def inside_out(self) -> Iterable[Frame]:
        """This frame and all inside it, the innermost first."""
        pending, out = [self], []
        while pending:
            frame = pending.pop()
            out.append(frame)
            pending.extend(frame.children)
        return reversed(out)


def frame_name(enter: Node) -> str:
    """The attribute `frame_name` as text."""
    name = enter.attrs["frame_name"]
    return name.decode(errors="surrogateescape") if isinstance(name, bytes) else str(name)


def frames(nodes: Iterable[Node]) -> Frame:
    """The tree of frames of some nodes.

    Raises:
        InvalidArgumentError: a node has inputs from different frames, or an `Exit` is in no loop.
    """
    root = Frame("", None)
    inner: dict[tuple[int, str], Frame] = {}
    gives: dict[str, Frame] = {}  # the frame that tokens of a node's outputs are in
    by_name: dict[str, Node] = {}
    back: list[Node] = []
    for node in ordered(nodes):
        by_name[node.name] = node
        op = node.op.name
        frame: Frame | None = None
        first = ""
        for name in [*(e.node for e in node.inputs), *node.after]:
            there = gives.get(name)
            if there is None:  # the back edge of a loop
                back.append(node)
            elif frame is None:
                frame, first = there, name
            elif there is not frame:
                raise _mixed(node, first, frame, name, there)
        frame = frame or root
        frame.nodes.append(node)
        if op in ENTERS:
            key = (id(frame), frame_name(node))
            child = inner.get(key)
            if child is None:
                child = inner[key] = Frame(key[1], frame)
                frame.children.append(child)
            child.enters.append(node)
            gives[node.name] = child
        elif op in EXITS:
            if frame.parent is None:
                raise InvalidArgumentError(
                    "an exit of a loop that is in no loop",
                    node=node.signature(),
                    made=source_text(node.source),
                )
            gives[node.name] = frame.parent
        else:
            gives[node.name] = frame
    for node in back:
        mine = gives[node.name]
        for end in node.inputs:
            if gives[end.node] is not mine:
                raise _mixed(node, node.name, mine, end.node, gives[end.node])
    return root


def _mixed(node: Node, a: str, frame_a: Frame, b: str, frame_b: Frame) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"inputs from different frames: {a!r} is in {frame_a.name!r}, {b!r} in {frame_b.name!r}",
        node=node.signature(),
        made=source_text(node.source),
        do="bring it into the loop by an Enter node, and out by an Exit node",
    )
