"""What is differentiated, as seen from where its derivative is built.

A *scope* is a graph or a body whose nodes are walked. It gives their values as tensors of the
graph where new nodes go: the same graph at the root, a derived body otherwise. There, a value of
the walked body is named by a `_Saved` node, unless it is the same in all iterations.

    root scope      graph ─────────── while ──┐            while_grad ──┐
    body scope             body: walked <─────┘   body: being built <───┘

Paths of `_Saved` nodes are counted from the inside: one of k bodies, standing in the innermost of
d derived bodies, leads from the graph around the k innermost of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, overload

from graphvm.functions.function import FuncGraph
from graphvm.graph.graph import Graph, Operation, Tensor, get_default_graph
from graphvm_runtime import dtypes
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.bodies import body_ref, is_loop_invariant
from graphvm_runtime.ir.derivatives.saved import COUNT, SAVED, TRIPS, Steps, path_attr, path_of
from graphvm_runtime.ir.graph import Endpoint, Function, Node, endpoint
from graphvm_runtime.ir.infer import Resolution
from graphvm_runtime.ops.functional import LOOPS, REGIONS
from graphvm_runtime.ops.signature import AttrValue
from graphvm_runtime.shapes import TensorType

DIFFERENTIABLE = frozenset((*dtypes.FLOATS, *dtypes.COMPLEX, dtypes.resource, dtypes.variant))


# Longer chains of nodes are not computed again in every iteration backwards.
_CHEAP = 16


def has_derivative(type_: TensorType) -> bool:
    """Whether a tensor of this type can have a derivative."""
    return type_.dtype.base in DIFFERENTIABLE


class _Values(Sequence[Tensor]):
    """Inputs or outputs of a node, made available when asked for."""

    __slots__ = ("_ends", "_scope")

    def __init__(self, scope: Scope, ends: Sequence[Endpoint]) -> None:
        self._scope = scope
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> Tensor: ...
    @overload
    def __getitem__(self, index: slice) -> list[Tensor]: ...
    def __getitem__(self, index: int | slice) -> Tensor | list[Tensor]:
        if isinstance(index, slice):
            return [self._scope.value(e) for e in self._ends[index]]
        return self._scope.value(self._ends[index])

    def __iter__(self) -> Iterator[Tensor]:
        return (self._scope.value(e) for e in self._ends)


class NodeSite:
    """A node in a scope: what rules see. See `graphvm.rules.registry.Site`."""

    __slots__ = ("node", "scope", "wanted")

    def __init__(self, node: Node, scope: Scope, wanted: Sequence[bool]) -> None:
        self.node = node
        self.scope = scope
        self.wanted = wanted

    @property
    def name(self) -> str:
        """Its name."""
        return self.node.name

    @property
    def type(self) -> str:
        """Name of the op."""
        return self.node.op.name

    @property
    def inputs(self) -> Sequence[Tensor]:
        """Values that it takes."""
        return _Values(self.scope, self.node.inputs)

    @property
    def outputs(self) -> Sequence[Tensor]:
        """Values that it makes."""
        name = self.node.name
        return _Values(self.scope, [Endpoint(name, i) for i in range(len(self.node.outputs))])

    @property
    def graph(self) -> Graph:
        """Where its derivative is built."""
        return get_default_graph()

    def input_type(self, index: int) -> TensorType:
        """Static type of an input."""
        return self.scope.type_of(self.node.inputs[index])

    def output_type(self, index: int) -> TensorType:
        """Static type of an output."""
        return self.node.outputs[index]

    def input_handle(self, index: int) -> TensorType | None:
        """Type of what a resource or list input holds."""
        return self.scope.handle_of(self.node.inputs[index])

    def attrs(self, *without: str) -> dict[str, Any]:
        """The attributes that its op declares, for another node, some of them left out."""
        declared = self.node.op.attrs
        given = self.node.attrs.items()
        return {k: v for k, v in given if k in declared and k not in without}

    def get_attr(self, name: str) -> Any:
        """Value of an attribute, as TensorFlow gives it."""
        return Operation(get_default_graph(), self.node).get_attr(name)

    def __repr__(self) -> str:
        return f"<{self.node.signature()}>"


class Scope(ABC):
    """Nodes that are walked.

    Attributes:
        steps: the path to them from the root.
        stack: the derived bodies that are being built around here, this one's last.
        graph: where new nodes go.
    """

    steps: Steps = ()
    stack: tuple[BodyScope, ...] = ()
    graph: Graph

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.by_name = nodes
        self._resolution = Resolution(nodes.__getitem__)

    @abstractmethod
    def value(self, end: Endpoint) -> Tensor:
        """The value that an endpoint names, as a tensor to be used in `graph`."""

    def type_of(self, end: Endpoint) -> TensorType:
        """Static type of a value."""
        return self.by_name[end.node].outputs[end.index]

    def handle_of(self, end: Endpoint) -> TensorType | None:
        """Type of what a resource or list holds."""
        return self._resolution.handle(end)

    def operations(self, name: str) -> list[Operation]:
        """What in `graph` has to be kept so that values inside of a node can be named."""
        return [self.graph.operation_named(name)]

    def absolute(self, saved: Node) -> tuple[Steps, str] | None:
        """What a `_Saved` node names, from the root; None where that is outside of the root."""
        steps, last = path_of(saved)
        keep = len(self.steps) - len(steps)
        return None if keep < 0 else (self.steps[:keep] + steps, last)

    def saved(self, steps: Steps, last: str, type_: TensorType, start: int) -> Tensor:
        """A new `_Saved` node in `graph`.

        Args:
            steps: its path from the graph in which `stack[start]` is being built.
            last: what it names in the last body of the path, `node:index` or `loop#trips`.
            type_: type of the value.
            start: see `steps`.
        """
        controls: list[Operation] = []
        loop = last.removesuffix(COUNT)
        path = path_attr(steps, loop)
        if loop != last:
            path = (*path, COUNT.encode())
        if steps:
            self.stack[start].region.after.add(steps[0][0])
        else:
            controls = self.operations(loop)
        attrs: dict[str, AttrValue] = {
            "dtype": type_.dtype.base, "shape": type_.shape, "path": path,
        }  # fmt: skip
        name = "saved_" + last.rpartition("/")[2].partition(":")[0].partition("#")[0].lstrip("_")
        return self.graph.add_node("_Saved", (), attrs, name, controls).outputs[0]

    def trips(self, node: Node) -> Tensor:
        """How often a loop among the nodes runs."""
        at = node.attrs.get(TRIPS)
        if at is not None:
            return self.value(node.inputs[at])
        return self.saved(self.steps, node.name + COUNT, TensorType(dtypes.int32, ()), 0)


class Root(Scope):
    """The graph whose derivative is asked for."""

    def __init__(self, graph: Graph, nodes: Mapping[str, Node]) -> None:
        super().__init__(nodes)
        self.graph = graph

    def value(self, end: Endpoint) -> Tensor:
        """See `Scope`."""
        return self.graph.tensor_at(end)

    def type_of(self, end: Endpoint) -> TensorType:
        """See `Scope`."""
        return self.graph.tensor_at(end).type

    def handle_of(self, end: Endpoint) -> TensorType | None:
        """See `Scope`."""
        return self.graph.handle_of(self.graph.tensor_at(end))


class RaisedRoot(Root):
    """A graph with TensorFlow 1's control flow primitives, seen in its functional form.

    New nodes go to the graph as it is. The outputs of a raised loop or branch are there as the
    `Exit` and `Merge` nodes, which stay in the functional form as `Identity`.
    """

    def __init__(
        self, graph: Graph, nodes: Mapping[str, Node], library: Mapping[str, Function]
    ) -> None:
        super().__init__(graph, nodes)
        self._library = library
        self._tensors: dict[Endpoint, Tensor] = {}
        self._anchors: dict[str, list[Operation]] = {}
        self._there = {n.name for n in graph.nodes_since(0)}
        # Derivatives name values by the names of raised nodes: nobody else may have them.
        bodies = [f.body.nodes for name, f in library.items() if name not in graph.library]
        regions = (n.name for b in bodies for n in b if n.op.name in REGIONS)
        graph.reserve_names(n for n in (*nodes, *regions) if n not in self._there)
        for node in nodes.values():
            if node.op.name == "Identity" and node.name in self._there:
                source = node.inputs[0]
                if source.node not in self._there:
                    operation = graph.operation_named(node.name)
                    self._tensors.setdefault(source, operation.outputs[0])
                    self._anchors.setdefault(source.node, []).append(operation)

    def value(self, end: Endpoint) -> Tensor:
        """See `Scope`."""
        found = self._tensors.get(end)
        if found is not None:
            return found
        if end.node not in self._there:
            node = self.by_name[end.node]
            if node.op.name in LOOPS:
                body = self._library[node.attrs["body"].name]
                if is_loop_invariant(body, end.index):
                    return self.value(node.inputs[end.index])
            if node.inputs or node.op.is_stateful:
                raise GraphError(
                    f"{end} is made by control flow of which nothing leads out",
                    node=node.signature(),
                )
            found = self.graph.add_node(node.op, (), node.attrs, node.op.name).outputs[end.index]
            self._tensors[end] = found
            return found
        return self.graph.tensor_at(end)

    def type_of(self, end: Endpoint) -> TensorType:
        """See `Scope`."""
        return self.by_name[end.node].outputs[end.index]

    def handle_of(self, end: Endpoint) -> TensorType | None:
        """See `Scope`."""
        return self._resolution.handle(end)

    def operations(self, name: str) -> list[Operation]:
        """See `Scope`."""
        # a raised node is reached through what it gives; a derived one made just now is there
        return self._anchors.get(name) or super().operations(name)


class DerivedGraph(FuncGraph):
    """A derived body while it is built.

    A user's own gradient function may use tensors of the body that is walked: they are values of
    it, like those that rules ask for.
    """

    scope: BodyScope

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """See `FuncGraph`."""
        walked = tensor.graph
        if isinstance(walked, FuncGraph) and walked is not self:
            for scope in reversed(self.scope.stack):
                if self.functions.bodies.get(scope.function.name) is walked:
                    return super().capture(scope.value(tensor.endpoint), name)
        return super().capture(tensor, name)


class Walk(Protocol):
    """The walk over a graph and its bodies, as far as a body needs it."""

    def function(self, name: str) -> Function:
        """A function of the graph that is differentiated."""

    def pulled_body(
        self, body: BodyScope, cotangents: Mapping[int, Tensor], params: Sequence[int]
    ) -> list[Any]:
        """See `Body.pull`."""

    def pushed_body(
        self, body: BodyScope, tangents: Mapping[int, Tensor], results: Sequence[int]
    ) -> list[Tensor | None]:
        """See `Body.push`."""


class Derived(Protocol):
    """A derived node while it is built, as its bodies see it.

    Attributes:
        derivation: the walk that it belongs to.
        node: the node whose derivative it is.
        scope: where that node is.
        after: nodes around the new one whose inner values its bodies name.
        name: of the new node, once it is there.
    """

    derivation: Walk
    node: Node
    scope: Scope
    after: set[str]
    name: str


class BodyScope(Scope):
    """A body of a node, walked while a derived body is built; see `graphvm.rules.registry.Body`.

    Attributes:
        region: the derived node being built.
        attr: which of its bodies this is.
        function: the walked body.
    """

    graph: DerivedGraph

    def __init__(self, region: Derived, attr: str, name: str) -> None:
        node, parent = region.node, region.scope
        self.function: Function = region.derivation.function(body_ref(node, attr).name)
        super().__init__(self.function.body.by_name)
        self.region = region
        self.attr = attr
        self.parent = parent
        self.steps = (*parent.steps, (node.name, attr))
        self.stack = (*parent.stack, self)
        self.graph = DerivedGraph(name, parent.graph)
        self.graph.scope = self
        self._values: dict[Endpoint, Tensor] = {}
        self._saved: dict[tuple[Steps, str, int], Tensor] = {}
        self._index = {e: i for i, e in enumerate(self.function.params)}
        self._constants: dict[Endpoint, int] | None = None
        self._open: list[Any] = []

    def __enter__(self) -> BodyScope:
        context = self.graph.as_default()
        context.__enter__()
        self._open.append(context)
        return self

    def __exit__(self, *error: Any) -> None:
        self._open.pop().__exit__(*error)

    # -- values ----------------------------------------------------------------------------

    def value(self, end: Endpoint) -> Tensor:
        """See `Scope`."""
        found = self._values.get(end)
        if found is None:
            found = self._values[end] = self._made(end)
        return found

    def _made(self, end: Endpoint) -> Tensor:
        node = self.by_name[end.node]
        op = node.op.name
        if op == "Identity":
            while node.op.name == "Identity":
                end = node.inputs[0]
                node = self.by_name[end.node]
            return self.value(end)
        if op in LOOPS and is_loop_invariant(
            self.region.derivation.function(node.attrs["body"].name), end.index
        ):
            # where a raised loop has a capture depends on what else is in the graph
            return self.value(node.inputs[end.index])
        if op == SAVED:
            target = self.absolute(node)
            if target is None:
                return self._copied(node)
            return self._named(*target, node.outputs[0], 0)
        index = self._index.get(end)
        loop = self.region.node.op.name in LOOPS
        if index is not None and (not loop or self.is_constant(end)):
            return self.parent.value(self.outer(index))
        if op == "Const" or (loop and self.is_constant(end)):
            return self._copied(node, end.index)
        return self._named(self.steps, str(end), node.outputs[end.index], 0)

    def outer(self, index: int) -> Endpoint:
        """The input that a parameter stands for."""
        region = self.region.node.op.region
        return self.region.node.inputs[index + (region.first if region else 0)]

    def _named(self, steps: Steps, last: str, type_: TensorType, start: int) -> Tensor:
        found = self._saved.get((steps, last, start))
        if found is None:
            found = self._saved[steps, last, start] = self.saved(steps, last, type_, start)
        return found

    def _copied(self, node: Node, index: int = 0) -> Tensor:
        """The same node again, in the derived body."""
        inputs = node.op.grouped([self.value(e) for e in node.inputs], node.attrs)
        name = node.name.rpartition("/")[2].lstrip("_") or node.op.name
        attrs = {k: v for k, v in node.attrs.items() if k in node.op.attrs}
        return self.graph.add_node(node.op, inputs, attrs, name).outputs[index]

    def is_constant(self, end: Endpoint) -> bool:
        """Whether a value is the same in all iterations of the loop, and cheap to have."""
        if self._constants is None:
            self._constants = self._found_constants()
        return end in self._constants

    def _found_constants(self) -> dict[Endpoint, int]:
        """Such values, with the number of nodes that lead to them one after the other."""
        found: dict[Endpoint, int] = {}
        for index, param in enumerate(self.function.params):
            if is_loop_invariant(self.function, index):
                found[param] = 0
        for node in self.function.body.nodes:
            if node.op.name == "Const":
                found[Endpoint(node.name, 0)] = 0
            elif (
                node.inputs
                and not node.op.is_stateful
                and all(e in found for e in node.inputs)
                and not any(True for _ in node.functions())
            ):
                length = 1 + max(found[e] for e in node.inputs)
                if length <= _CHEAP:
                    found.update({Endpoint(node.name, i): length for i in range(len(node.outputs))})
        return found

    # -- the face that rules see -----------------------------------------------------------

    def add_arg(self, type_: TensorType, name: str, handle: TensorType | None = None) -> Tensor:
        """See `Body`."""
        return self.graph.add_arg(type_.dtype, type_.shape, name, handle)

    def param_type(self, index: int) -> TensorType:
        """See `Body`."""
        end = self.function.params[index]
        type_ = self.type_of(end)
        if type_.dtype.base is dtypes.resource:
            held = self.handle_of(end) or self.parent.handle_of(self.outer(index))
            if held is None:
                raise GraphError(f"it is not known what the resource {end} holds")
            return held
        return type_

    def param_handle(self, index: int) -> TensorType | None:
        """See `Body`."""
        end = self.function.params[index]
        if self.type_of(end).dtype.base is not dtypes.variant:
            return None
        return self.handle_of(end) or self.parent.handle_of(self.outer(index))

    def param(self, index: int) -> Tensor:
        """See `Body`."""
        return self.value(self.function.params[index])

    def result(self, index: int) -> Tensor:
        """See `Body`."""
        return self.value(self.function.results[index])

    def is_loop_invariant(self, index: int) -> bool:
        """See `Body`."""
        return is_loop_invariant(self.function, index)

    def pull(self, cotangents: Mapping[int, Tensor], params: Sequence[int]) -> list[Any]:
        """See `Body`."""
        return self.region.derivation.pulled_body(self, cotangents, params)

    def push(self, tangents: Mapping[int, Tensor], results: Sequence[int]) -> list[Tensor | None]:
        """See `Body`."""
        return self.region.derivation.pushed_body(self, tangents, results)

    # -- values of derived bodies ----------------------------------------------------------

    def read(self, tensor: Tensor, made_in: BodyScope) -> Tensor:
        """A tensor that was made while another derived body was built, in the same iteration."""
        mine, other = self.stack, made_in.stack
        common = 0
        while common < min(len(mine), len(other)) and mine[common] is other[common]:
            common += 1
        level = next((i for i, s in enumerate(other, 1) if s.graph is tensor.graph), 0)
        if level <= common:
            return tensor
        steps = tuple((s.region.name, s.attr) for s in other[common:level])
        reader = mine[level - 1]
        return reader._named(steps, str(tensor.endpoint), tensor.type, common)


def sources_of(saved: tuple[Steps, str] | None) -> tuple[Steps, Endpoint] | None:
    """A path from the root as the body that it leads to and the value there."""
    if saved is None or saved[1].endswith(COUNT):
        return None
    return saved[0], endpoint(saved[1])
