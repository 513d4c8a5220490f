"""The one representation of a program: Node, Graph, Function.

`graphvm.Graph` builds these nodes, the compiler rewrites them. All are frozen: a pass makes new
ones. Nodes refer to each other by name, so a loop of TF1's dataflow primitives can be written down.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from types import CodeType, MappingProxyType
from typing import NamedTuple, TypeAlias

from graphvm_runtime.device_spec import ANY, DeviceSpec
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.names import split_output
from graphvm_runtime.ops.control_flow import MERGES, NEXTS, PRIMITIVES
from graphvm_runtime.ops.registry import Effects, OpDef
from graphvm_runtime.ops.signature import Attrs, AttrValue, FuncRef
from graphvm_runtime.shapes import TensorType

# The user's own line: a code object and an instruction offset (the line is worked out only when
# it is shown), or the text itself where it came from a file or another process.
Source: TypeAlias = tuple[CodeType, int] | str

# TensorFlow's `versions.producer` of the release whose semantics GraphVM has.
PRODUCER = 2474


def source_text(source: Source) -> str:
    """`model.py:42, in layer`; empty where it is not known."""
    if isinstance(source, str):
        return source
    code, offset = source
    position = next(islice(code.co_positions(), offset // 2, None), None)
    line = position[0] if position and position[0] is not None else code.co_firstlineno
    return f"{code.co_filename}:{line}, in {code.co_name}"


class Endpoint(NamedTuple):
    """Output `index` of the node called `node`; prints as `x:0`."""

    # A tuple because endpoints are keys everywhere, and tuples hash and compare in C.
    node: str
    index: int = 0  # type: ignore[assignment]  # hides tuple.index, which nothing asks for

    def __repr__(self) -> str:
        return f"{self.node}:{self.index}"


def endpoint(text: str) -> Endpoint:
    """The endpoint written `x:1`, or `x` for output 0. Raises GraphError for a control input."""
    if text.startswith("^"):
        raise GraphError(f"{text!r} is a control input, not a tensor")
    name, index = split_output(text)
    return Endpoint(name, index or 0)


class Node(NamedTuple):
    """One operation of a graph; equal means identical.

    A tuple because it is the cheapest frozen object to make, and graphs have many.

    Attributes:
        inputs: data inputs, lists laid out flat.
        after: names of the nodes that must have run before (control inputs), without duplicates.
        attrs: every declared attribute, and `_class`, `_output_shapes` and the like.
        outputs: types of the outputs as far as they are known.
        source: the user's own line that made it.
    """

    name: str
    op: OpDef
    inputs: tuple[Endpoint, ...]
    after: tuple[str, ...]
    attrs: Attrs
    outputs: tuple[TensorType, ...]
    device: DeviceSpec = ANY
    source: Source = ""

    def __repr__(self) -> str:
        return f"<Node {self.signature()}>"

    def signature(self) -> str:
        """`mul_1 = Mul(x:0, w:0): f32[3]`."""
        inputs = [str(e) for e in self.inputs] + [f"^{n}" for n in self.after]
        outputs = ", ".join(map(str, self.outputs))
        return f"{self.name} = {self.op.name}({', '.join(inputs)}): {outputs or '()'}"

    @property
    def is_stateful(self) -> bool:
        """Whether it does more than give its outputs.

        The op of parameters says that all of them stay, not that one does anything.
        """
        return self.op.is_stateful and self.op.name != "_Arg"

    @property
    def effects(self) -> Effects:
        """What passes may not do with it."""
        return self.op.effects_of(self.attrs)

    def functions(self) -> Iterator[FuncRef]:
        """Functions that its attributes name."""
        for value in self.attrs.values():
            if isinstance(value, FuncRef):
                yield value
            elif isinstance(value, tuple):
                yield from (v for v in value if isinstance(v, FuncRef))

    def changed(
        self,
        *,
        name: str | None = None,
        op: OpDef | None = None,
        inputs: Iterable[Endpoint] | None = None,
        after: Iterable[str] | None = None,
        attrs: Attrs | None = None,
        outputs: Iterable[TensorType] | None = None,
        device: DeviceSpec | None = None,
    ) -> Node:
        """A copy with some fields changed."""
        return Node(
            self.name if name is None else name,
            self.op if op is None else op,
            self.inputs if inputs is None else tuple(inputs),
            self.after if after is None else tuple(dict.fromkeys(after)),
            self.attrs if attrs is None else attrs,
            self.outputs if outputs is None else tuple(outputs),
            self.device if device is None else device,
            self.source,
        )

    def with_attrs(self, **attrs: AttrValue) -> Node:
        """A copy with some attributes set."""
        return self.changed(attrs=MappingProxyType({**self.attrs, **attrs}))


# Two nodes are never the same because they say the same.
Node.__eq__ = object.__eq__  # type: ignore[method-assign]
Node.__ne__ = object.__ne__  # type: ignore[method-assign]
Node.__hash__ = object.__hash__  # type: ignore[method-assign]


@dataclass(frozen=True, repr=False, eq=False)
class Graph:
    """Nodes in topological order over data and control edges, back edges of loops left out.

    Attributes:
        nodes: each name once.
        library: functions by name, bodies of `If`, `While` and calls.
        producer: TensorFlow's `versions.producer` of the file that it came from.
        min_consumer: likewise.
    """

    nodes: tuple[Node, ...]
    library: Mapping[str, Function] = field(default_factory=dict)
    producer: int = 0
    min_consumer: int = 0

    def __repr__(self) -> str:
        return f"<Graph of {len(self.nodes)} nodes, {len(self.library)} functions>"

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """Nodes by name."""
        return {n.name: n for n in self.nodes}

    @cached_property
    def users(self) -> Mapping[str, tuple[str, ...]]:
        """For each node the nodes that take one of its outputs or come after it."""
        out: dict[str, list[str]] = {n.name: [] for n in self.nodes}
        for node in self.nodes:
            for name in dict.fromkeys([*(e.node for e in node.inputs), *node.after]):
                out[name].append(node.name)
        return {k: tuple(v) for k, v in out.items()}

    @cached_property
    def is_dataflow(self) -> bool:
        """Whether it has primitives that only the dataflow machine runs."""
        return any(n.op.name in PRIMITIVES for n in self.nodes)

    def all_nodes(self) -> Iterator[Node]:
        """Its own nodes, then those of all functions of its library."""
        yield from self.nodes
        for function in self.library.values():
            yield from function.body.nodes

    def map_bodies(self, change: Callable[[tuple[Node, ...]], Iterable[Node]]) -> Graph:
        """The same graph with other nodes, in order, for its own and for those of each function."""
        library = {n: f.with_nodes(change(f.body.nodes)) for n, f in self.library.items()}
        return replace(self, nodes=tuple(change(self.nodes)), library=library)

    def type_of(self, end: Endpoint) -> TensorType:
        """Type of an endpoint."""
        return self.by_name[end.node].outputs[end.index]

    def function(self, ref: FuncRef) -> Function:
        """The function that an attribute names. Raises GraphError when it is not there."""
        found = self.library.get(ref.name)
        if found is None:
            raise GraphError(f"the library has no function {ref.name!r}")
        return found

    def with_nodes(self, nodes: Iterable[Node]) -> Graph:
        """The same graph with other nodes, put in order."""
        return replace(self, nodes=tuple(ordered(nodes)))

    def with_library(self, library: Mapping[str, Function]) -> Graph:
        """The same graph with another library."""
        return replace(self, library=library)


# an attribute of a function: the function that is its gradient, a GradientDef in a file
GRADIENT = "_gradient_function"


@dataclass(frozen=True, repr=False, eq=False)
class Function:
    """A named graph with parameters and results.

    Attributes:
        params: outputs 0 of the `_Arg` nodes of the body, in order; their names are the
            argument names.
        results: what it returns.
        result_names: one for each result.
        control: nodes that run whether or not a result needs them (`control_ret`).
        body: its nodes; `body.library` is empty, functions are found in the outer graph's library.
        attrs: attributes of the FunctionDef, `_noinline` and the like.
    """

    name: str
    params: tuple[Endpoint, ...]
    results: tuple[Endpoint, ...]
    result_names: tuple[str, ...]
    body: Graph
    control: tuple[str, ...] = ()
    attrs: Attrs = field(default_factory=dict)

    def __repr__(self) -> str:
        takes = ", ".join(f"{e.node}: {self.body.type_of(e)}" for e in self.params)
        gives = ", ".join(str(self.body.type_of(e)) for e in self.results)
        return f"<Function {self.name}({takes}) -> ({gives})>"

    def with_nodes(self, nodes: Iterable[Node]) -> Function:
        """The same function with other nodes, in order, in its body."""
        return replace(self, body=replace(self.body, nodes=tuple(nodes)))

    @property
    def param_types(self) -> tuple[TensorType, ...]:
        """Types of the parameters."""
        return tuple(self.body.type_of(e) for e in self.params)

    @property
    def result_types(self) -> tuple[TensorType, ...]:
        """Types of the results."""
        return tuple(self.body.type_of(e) for e in self.results)

    @cached_property
    def is_stateful(self) -> bool:
        """Whether any node of the body does more than give its outputs."""
        return any(n.is_stateful for n in self.body.nodes)


def is_back_edge(below: Node, node: Node) -> bool:
    """Whether the edge from `below` to `node` closes a loop."""
    return below.op.name in NEXTS and node.op.name in MERGES


def ordered(nodes: Iterable[Node]) -> list[Node]:
    """Nodes in topological order, stable: a node keeps its place where the edges allow it.

    Back edges do not count.

    Raises:
        GraphError: an input is missing, or there is a circle that is no loop.
    """
    by_name = {n.name: n for n in nodes}
    return reachable(by_name, by_name)


def reachable(
    by_name: Mapping[str, Node], roots: Iterable[str], cut: Collection[str] = frozenset()
) -> list[Node]:
    """Nodes that `roots` need, in topological order; nodes in `cut` are kept out with all above.

    Raises:
        GraphError: a name is not in the graph, or there is a circle that is no loop.
    """
    out: list[Node] = []
    is_done: dict[str, bool] = {}  # False while what a node needs is being visited
    pending = deque(roots)
    while pending:
        root = pending.popleft()
        if root in is_done or root in cut:
            continue
        if root not in by_name:
            raise GraphError(f"the graph has no operation {root!r}")
        node = by_name[root]
        stack: list[tuple[Node, Iterator[str]]] = [(node, iter(_before(node)))]
        is_done[root] = False
        while stack:
            node, rest = stack[-1]
            for name in rest:
                seen = is_done.get(name)
                if seen or name in cut:
                    continue
                below = by_name.get(name)
                if below is None:
                    raise GraphError(
                        f"node {node.name!r} takes {name!r}, which is not in the graph",
                        node=node.signature(),
                    )
                if is_back_edge(below, node):
                    pending.append(name)
                    continue
                if seen is False:
                    raise GraphError(
                        f"nodes {node.name!r} and {name!r} are on a circle that is no while loop",
                        node=node.signature(),
                    )
                is_done[name] = False
                stack.append((below, iter(_before(below))))
                break
            else:
                stack.pop()
                is_done[node.name] = True
                out.append(node)
    return out


def _before(node: Node) -> list[str]:
    return [e.node for e in node.inputs] + list(node.after)


def functions_used(nodes: Iterable[Node], library: Mapping[str, Function]) -> dict[str, Function]:
    """The functions of the library that nodes can reach, through any depth of bodies."""
    out: dict[str, Function] = {}
    pending = list(nodes)
    while pending:
        for ref in pending.pop().functions():
            function = library.get(ref.name)
            if function is not None and ref.name not in out:
                out[ref.name] = function
                pending.extend(function.body.nodes)
    return out


def unused(name: str, *taken: Container[str]) -> str:
    """The name, or `name_1`, `name_2` and so on: the first that is taken nowhere."""
    found, number = name, 0
    while any(found in each for each in taken):
        number += 1
        found = f"{name}_{number}"
    return found


def renamed(ends: Sequence[Endpoint], new: Mapping[Endpoint, Endpoint]) -> tuple[Endpoint, ...]:
    """Endpoints with some of them exchanged."""
    return tuple(new.get(e, e) for e in ends)
