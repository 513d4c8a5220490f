"""Bodies of control flow as levels of one tree, while passes move values in and out of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphvm_runtime.device_spec import ANY, DeviceSpec
from graphvm_runtime.dtypes import int32
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.graph import Endpoint, Function, Node, Source, unused
from graphvm_runtime.ops.registry import lookup
from graphvm_runtime.ops.signature import AttrValue
from graphvm_runtime.shapes import TensorType


@dataclass(eq=False)
class BodyEditor:
    """The nodes of the graph, or of one body of one node of it, while they change."""

    nodes: dict[str, Node]
    params: list[Endpoint]
    results: list[Endpoint]
    result_names: list[str]
    control: tuple[str, ...]
    function: Function | None = None
    owner: tuple[BodyEditor, str, str] | None = None  # level, node, attribute
    bodies: dict[tuple[str, str], BodyEditor] = field(default_factory=dict)
    live: set[str] = field(default_factory=set)
    # outputs of control flow nodes that are needed
    used: set[Endpoint] = field(default_factory=set)
    replaced: dict[Endpoint, Endpoint] = field(default_factory=dict)
    changed: bool = False

    @classmethod
    def of(cls, function: Function, owner: tuple[BodyEditor, str, str] | None = None) -> BodyEditor:
        """The body of a function."""
        return cls(
            {n.name: n for n in function.body.nodes},
            list(function.params),
            list(function.results),
            list(function.result_names),
            function.control,
            function,
            owner,
        )

    def __post_init__(self) -> None:
        self.param_index = {e.node: i for i, e in enumerate(self.params)}

    @property
    def depth(self) -> int:
        """How many bodies it lies in."""
        return 0 if self.owner is None else self.owner[0].depth + 1

    def above(self, steps: int) -> list[BodyEditor]:
        """This level and those around it, outermost first, `steps` + 1 of them."""
        out = [self]
        while len(out) <= steps:
            owner = out[0].owner
            if owner is None:
                raise GraphError("a path has more steps than there are bodies around it")
            out.insert(0, owner[0])
        return out

    def type_of(self, end: Endpoint) -> TensorType:
        """Type of a value. Raises GraphError where there is none."""
        node = self.nodes.get(end.node)
        if node is None or end.index >= len(node.outputs):
            raise GraphError(f"a path names {end}, which is not there")
        return node.outputs[end.index]

    def resolved(self, end: Endpoint) -> Endpoint:
        """What has taken the place of a value; itself where nothing has."""
        while end in self.replaced:
            end = self.replaced[end]
        return end

    def add(
        self,
        name: str,
        op: str,
        inputs: Sequence[Endpoint],
        attrs: Mapping[str, AttrValue],
        types: Sequence[TensorType],
        device: DeviceSpec = ANY,
        source: Source = "",
    ) -> Endpoint:
        """A new live node; its output 0."""
        op_def = lookup(op)
        full = {n: a.default for n, a in op_def.attrs.items()} | dict(attrs)
        node = Node(name, op_def, tuple(inputs), (), full, tuple(types), device, source)
        return Endpoint(self.copied(node), 0)

    def copied(self, node: Node) -> str:
        """Takes a node over, under a name that is new here; that name."""
        unique = unused(node.name, self.nodes)
        self.nodes[unique] = node if unique == node.name else node.changed(name=unique)
        self.live.add(unique)
        self.changed = True
        return unique

    def constant(self, name: str, value: object) -> Endpoint:
        """An int32 constant."""
        return Endpoint(self.copied(constant(name, value, int32)))

    def placeholder(self, type_: TensorType) -> Endpoint:
        """A value that nobody looks at."""
        return self.add("unused", "FakeParam", (), {"dtype": type_.dtype, "shape": type_.shape},
                        [type_])  # fmt: skip

    def param(self, name: str, type_: TensorType) -> Endpoint:
        """A new parameter."""
        end = self.add(name, "_Arg", (), {"T": type_.dtype, "index": len(self.params)}, [type_])
        self.param_index[end.node] = len(self.params)
        self.params.append(end)
        return end

    def result(self, name: str, end: Endpoint) -> None:
        """A new result."""
        self.results.append(end)
        self.result_names.append(unused(name, self.result_names))
        self.changed = True


@dataclass(frozen=True, slots=True)
class CapturePath:
    """The way of a value out of the bodies that make it and into those that need it.

    Attributes:
        steps: the node and the key of each body on the way out, outermost first.
        sources: the levels on the way out, the common one first.
        readers: the levels on the way in, the common one first.
        device: where the value lies.
    """

    steps: tuple[tuple[str, str], ...]
    sources: tuple[BodyEditor, ...]
    readers: tuple[BodyEditor, ...]
    device: DeviceSpec

    def outer(self) -> CapturePath:
        """The rest of the way, once the innermost bodies are left behind."""
        return CapturePath(self.steps[:-1], self.sources[:-1], self.readers[:-1], self.device)
