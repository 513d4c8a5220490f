"""Reads of reference variables as what they are in TensorFlow: the variable's memory.

A read is not a snapshot: a node that is ordered after an assignment sees the new value, also
through a read that was made before it. So such nodes take the reference itself and read when they
run, and so do bodies that assign, for all their nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from graphvm_runtime.ir.bodies import body_keys, body_ref, is_loop_invariant, with_bodies
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node
from graphvm_runtime.ops.functional import BRANCHES, LOOPS
from graphvm_runtime.ops.signature import FuncRef
from graphvm_runtime.shapes import TensorType


def with_shared_memory(graph: Graph) -> Graph:
    """The graph with references in place of reads where bodies that assign take them."""
    walk = _Walk(graph.library)
    nodes = walk.nodes(graph.nodes)
    if not walk.changed:
        return graph
    return replace(graph, nodes=nodes, library={**graph.library, **walk.made})


class _Walk:
    def __init__(self, library: Mapping[str, Function]) -> None:
        self.library = library
        self.made: dict[str, Function] = {}
        self.changed = False
        self._assigns: dict[str, bool] = {}
        self._variables: dict[str, frozenset[str]] = {}

    def assigns(self, name: str) -> bool:
        """Whether a function, or one that it runs, takes a reference to do something to it."""
        if name not in self._assigns:
            self._assigns[name] = False  # while it is looked at: functions may call themselves
            self._assigns[name] = any(
                any(a.is_ref for a in n.op.inputs)
                or any(self.assigns(f.name) for f in n.functions())
                for n in (self.made.get(name) or self.library[name]).body.nodes
                if n.op.name != "Identity"
            )
        return self._assigns[name]

    def variables_assigned(self, name: str) -> frozenset[str]:
        """The variables that a function, or one that it runs, names and assigns to."""
        if name not in self._variables:
            self._variables[name] = frozenset()  # functions may call themselves
            body = (self.made.get(name) or self.library[name]).body
            found = set[str]()
            for node in body.nodes:
                for each in node.functions():
                    found |= self.variables_assigned(each.name)
                if node.op.name == "Identity":
                    continue
                for arg, end in zip(node.op.inputs, node.inputs, strict=False):
                    root = _root(end, body.by_name) if arg.is_ref else None
                    if root is not None and not root.inputs and root.op.name != "_Arg":
                        found.add(_key(root))
            self._variables[name] = frozenset(found)
        return self._variables[name]

    def nodes(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """The nodes of a graph or a body; functions that they need are in `made`."""
        by_name: dict[str, Node] = {}
        order = _Order(by_name, self)
        for node in nodes:
            made = by_name[node.name] = order.late_reader(self._node(node, by_name))
            order.add(made)
            self.changed = self.changed or made is not node
        return tuple(by_name.values())

    def _node(self, node: Node, by_name: Mapping[str, Node]) -> Node:
        keys = body_keys(node)
        if not keys or not any(self.assigns(body_ref(node, k).name) for k in keys):
            return node
        first = int(node.op.name in BRANCHES)
        inputs, places = list(node.inputs), set[int]()
        for i, end in enumerate(node.inputs[first:]):
            memory = _memory(end, by_name)
            if memory is not None and (node.op.name not in LOOPS or self._stays(node, i)):
                inputs[i + first] = memory
                places.add(i)
        functions = {k: self._taking(body_ref(node, k).name, frozenset(places), node) for k in keys}
        refs = {k: FuncRef(f.name) for k, f in functions.items()}
        attrs = with_bodies(node.attrs, refs)
        outputs = list(node.outputs)
        if node.op.name in LOOPS:
            outputs = [_reference(t) if i in places else t for i, t in enumerate(outputs)]
        return node.changed(inputs=inputs, attrs=MappingProxyType(attrs), outputs=outputs)

    def _stays(self, node: Node, index: int) -> bool:
        """Whether a loop gives a variable back as it is, so that it may go round as a reference."""
        return is_loop_invariant(self.library[node.attrs["body"].name], index)

    def _taking(self, name: str, places: frozenset[int], node: Node) -> Function:
        """The function with references as these parameters."""
        function = self.library[name]
        made = f"{name}_sharing_{'_'.join(map(str, sorted(places)))}"
        if made in self.made:
            return self.made[made]
        self.made[made] = function  # functions may call themselves
        params = {function.params[i].node for i in places}
        given = tuple(
            n.changed(outputs=[_reference(n.outputs[0])]) if n.name in params else n
            for n in function.body.nodes
        )
        results = list(function.results)
        if node.op.name in LOOPS and body_ref(node, "body").name == name:
            for i in places:
                results[i] = function.params[i]
        self.made[made] = replace(
            function,
            name=made,
            results=tuple(results),
            body=replace(function.body, nodes=self.nodes(given)),
        )
        return self.made[made]


class _Order:
    """Which assignments each node comes after, as sets of bits.

    Args:
        by_name: the nodes so far, in topological order.
        walk: knows which functions assign.
    """

    def __init__(self, by_name: Mapping[str, Node], walk: _Walk) -> None:
        self._by_name = by_name
        self._walk = walk
        self._before: dict[str, int] = {}  # for each node the assignments before it, its own too
        self._count = 0
        self._of: dict[str, int] = {}  # the assignments to a variable, by its name

    def late_reader(self, node: Node) -> Node:
        """The node, with references for reads that it comes after an assignment to."""
        if not self._count:
            return node
        mine = self._above(node)
        inputs = list(node.inputs)
        for i, end in enumerate(inputs):
            if end.node not in self._before:  # a back edge of dataflow primitives
                continue
            memory = _memory(end, self._by_name)
            if memory is None or memory == end:
                continue
            assigned = self._of.get(_key(_root(memory, self._by_name)), 0)
            if assigned & mine & ~self._before[end.node]:
                inputs[i] = memory
        return node if inputs == list(node.inputs) else node.changed(inputs=inputs)

    def add(self, node: Node) -> None:
        """Takes in the next node."""
        before = self._above(node)
        for variable in self._assigned(node):
            bit = 1 << self._count
            self._count += 1
            before |= bit
            self._of[variable] = self._of.get(variable, 0) | bit
        self._before[node.name] = before

    def _above(self, node: Node) -> int:
        before, known = 0, self._before
        if self._count:
            for end in node.inputs:
                before |= known.get(end.node, 0)
            for name in node.after:
                before |= known.get(name, 0)
        return before

    def _assigned(self, node: Node) -> set[str]:
        """The variables that a node may change."""
        if node.op.name == "Identity":
            return set()
        by_name = self._by_name
        found = set[str]()
        for each in node.functions():
            found |= self._walk.variables_assigned(each.name)
        keys = body_keys(node)
        if keys:
            changes = any(self._walk.assigns(body_ref(node, k).name) for k in keys)
        else:
            changes = any(a.is_ref for a in node.op.inputs)
        if changes:
            ends = [e for e in node.inputs if e.node in self._before]
            refs = [e for e in ends if by_name[e.node].outputs[e.index].dtype.is_ref]
            found.update(_key(_root(e, by_name)) for e in refs)
        return found


def _root(end: Endpoint, by_name: Mapping[str, Node]) -> Node:
    """The node that makes what a reference leads to: assignments pass theirs on."""
    node = by_name[end.node]
    while node.inputs and not body_keys(node):
        first = node.inputs[0]
        above = by_name.get(first.node)
        if above is None or not above.outputs[first.index].dtype.is_ref:
            break
        node = above
    return node


def _key(variable: Node) -> str:
    """What a variable is called in its session, from whichever body it is named."""
    shared: bytes = variable.attrs.get("shared_name", b"")
    return shared.decode(errors="surrogateescape") or variable.name


def _memory(end: Endpoint, by_name: Mapping[str, Node]) -> Endpoint | None:
    """The reference that a value is read from; None where it is another value."""
    node = by_name[end.node]
    while not node.outputs[end.index].dtype.is_ref:
        if node.op.name != "Identity" or node.after:
            return None
        end = node.inputs[0]
        node = by_name[end.node]
    return end


def _reference(type_: TensorType) -> TensorType:
    return TensorType(type_.dtype.ref, type_.shape)
