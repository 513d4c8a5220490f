"""Bodies of functions: graphs that take tensors of the graphs around them as captures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MappingProxyType
from typing import Any

from graphvm.graph.graph import Graph, Operation, Tensor, get_default_graph
from graphvm.graph.tensor_shape import as_plain_shape
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir import graph as ir
from graphvm_runtime.ir.graph import Endpoint, Function, Node, reachable, source_text, unused
from graphvm_runtime.ir.infer import Resolution
from graphvm_runtime.ops.registry import lookup
from graphvm_runtime.ops.signature import AttrValue
from graphvm_runtime.shapes import TensorType


class FuncGraph(Graph):
    """The body of a function while it is built.

    A tensor of a graph around that is used inside becomes a parameter, through any depth of
    bodies. Collections, library, seed and the count of seeded ops are those of the outermost
    graph; devices and colocation are inherited from the graph that is the default when the body
    is entered. Names start afresh.

    Attributes:
        name: what the function will be called, made unique when it is finished.
        captures: each tensor of the graph around with the parameter that stands for it.
        control_captures: operations of graphs around that something inside must run after; who
            calls the function runs after them.
        copies_captures: captured tensors are made again inside, so there are no `captures`.
    """

    copies_captures = False

    def __init__(self, name: str, outer: Graph | None = None) -> None:
        super().__init__()
        self.name = name
        around = get_default_graph() if outer is None else outer
        self.outer = around
        self.captures: list[tuple[Tensor, Tensor]] = []
        self._waits: dict[Operation, Operation] = {}  # of a graph around -> what stands for it
        self._left_out: set[str] = set()  # nodes that the finished function does without
        self._args: list[Tensor] = []
        self._captured: dict[Tensor, Tensor] = {}
        self._captured_tensors: dict[
            str, Tensor
        ] = {}  # name of a capture -> tensor of the graph around
        self._outermost = around.outermost
        self._collections = self._outermost._collections
        self.functions = self._outermost.functions
        self.resolution.beyond = self._captured_from
        self._producer = self._outermost._producer

    @classmethod
    def of(cls, function: Function, outer: Graph) -> FuncGraph:
        """A finished function as a graph, to look at its operations."""
        graph = cls(function.name, outer)
        graph.append(function.body.nodes)
        graph._args = [graph.tensor_at(e) for e in function.params]
        return graph

    @property
    def outermost(self) -> Graph:
        """The graph in which the bodies around this one lie."""
        return self._outermost

    @property
    def building_function(self) -> bool:
        """True: it is the body of a function."""
        return True

    @contextmanager
    def as_default(self) -> Iterator[FuncGraph]:
        """Makes it the default graph inside the block, on the devices that are asked for now."""
        around = get_default_graph()
        with ExitStack() as stack:
            if around is not self:
                stack.enter_context(self._scopes.inheriting(around._scopes.current))
            stack.enter_context(super().as_default())
            yield self

    # -- parameters ------------------------------------------------------------------------

    @property
    def inputs(self) -> list[Tensor]:
        """All parameters: those declared, then the captures."""
        return [*self._args, *(inner for _, inner in self.captures)]

    def add_arg(
        self, dtype: Any, shape: Any = None, name: str = "arg", handle: TensorType | None = None
    ) -> Tensor:
        """Declares a parameter.

        Args:
            dtype: its element type.
            shape: its static shape.
            name: its name, made unique in the body.
            handle: type of what it holds, where it is a resource.
        """
        arg = self._arg(TensorType(as_dtype(dtype), as_plain_shape(shape)), name, handle)
        self._args.append(arg)
        return arg

    def _arg(self, type_: TensorType, name: str, handle: TensorType | None) -> Tensor:
        dtype = type_.dtype.base
        attrs: dict[str, AttrValue] = {
            "T": dtype,
            "index": len(self._args) + len(self.captures),
            "_output_shapes": (type_.shape,),
        }
        if handle is not None:
            attrs["_handle_type"] = handle
        with self._scopes.at_root():  # a parameter belongs to no scope of the body
            return self.add_node("_Arg", (), attrs, name).outputs[0]

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """The parameter that stands for a tensor of a graph around.

        Args:
            tensor: of this graph (given back as it is), or of one around it at any depth.
            name: of the parameter, where it is new.

        Raises:
            GraphError: it is of another graph.
            TypeError: it is no tensor.
        """
        if getattr(tensor, "graph", self) is self:
            return super().capture(tensor)
        found = self._captured.get(tensor)
        if found is None:
            assert self.outer is not None
            near = self._in_outer_graph(tensor)
            found = self._captured.get(near)
            if found is None:
                label = name or tensor.op.name.rpartition("/")[2]
                if tensor.value_index:
                    label += f"_{tensor.value_index}"
                handle = None
                if near.type.dtype.base in (dtypes.resource, dtypes.variant):
                    handle = self.outer.handle_of(near)
                found = self._arg(near.type, label.lstrip("_") or "capture", handle)
                self.captures.append((near, found))
                self._captured[near] = found
                self._captured_tensors[found.op.name] = near
            self._captured[tensor] = found
        return found

    def _in_outer_graph(self, tensor: Tensor) -> Tensor:
        """The tensor, or what stands for it in the graph next around."""
        outer = self.outer
        if tensor.graph is outer:
            return tensor
        if isinstance(outer, FuncGraph):
            return outer.capture(tensor)
        return super().capture(tensor)

    def _captured_from(self, end: Endpoint) -> tuple[Resolution, Endpoint] | None:
        """Where to look for the value of a capture: shapes may depend on it."""
        near = self._captured_tensors.get(end.node)
        return None if near is None else (near.graph.resolution, near.endpoint)

    def control_input(self, item: Any) -> Operation | None:
        """See `Graph`; for an operation of a graph around, a node of the body stands."""
        parts = getattr(item, "_control_element", None)  # a variable, perhaps of a graph around
        if parts is not None:
            item = parts()
        if isinstance(item, (Tensor, Operation)):
            op = item.op if isinstance(item, Tensor) else item
            if op.graph is not self and op.graph in self.around():
                return self._wait(op)
        return super().control_input(item)

    def around(self) -> list[Graph]:
        """The graphs in which it lies, the nearest first."""
        found: list[Graph] = []
        graph = self.outer
        while graph is not None:
            found.append(graph)
            graph = graph.outer
        return found

    def _wait(self, op: Operation) -> Operation:
        """The node to wait for instead of one of a graph around; the function is without it."""
        found = self._waits.get(op)
        if found is None:
            label = op.name.rpartition("/")[2].lstrip("_")
            with self._scopes.at_root(), self.control_dependencies(None):
                found = self._waits[op] = self.add_node("NoOp", (), {}, f"after_{label}")
            self._left_out.add(found.name)
        return found

    @property
    def control_captures(self) -> list[Operation]:
        """See the class."""
        return list(self._waits)

    def ir(self) -> ir.Graph:
        """What it holds now, frozen; parameters as placeholders, so that it stands by itself."""
        with self._table.lock:
            nodes = tuple(
                _as_placeholder(n) if n.op.name == "_Arg" else n for n in self._table.nodes
            )
            return ir.Graph(nodes, dict(self.library), self._producer, self._min_consumer)

    def keep_only(self, outputs: Iterable[Tensor], control: Iterable[Operation] = ()) -> None:
        """Leaves out of the function what neither outputs nor effects need.

        Captures and operations to wait for that only such nodes have are needed no more.

        Args:
            outputs: of the function, tensors of this graph.
            control: operations that run whether or not an output needs them.
        """
        roots = [*(t.op.name for t in outputs), *(op.name for op in control)]
        nodes = {n.name: n for n in self.nodes_since(0)}
        kept = {n.name for n in reachable(nodes, roots)}
        self._left_out |= {n for n in nodes if n not in kept and nodes[n].op.name != "_Arg"}
        self._waits = {op: wait for op, wait in self._waits.items() if wait.name in kept}
        self.captures[:] = [pair for pair in self.captures if pair[1].op.name in kept]
        stay = {inner for _, inner in self.captures}
        self._captured = {t: inner for t, inner in self._captured.items() if inner in stay}

    def kept_nodes(self) -> list[Node]:
        """The nodes that the finished function has."""
        return [n for n in self.nodes_since(0) if n.name not in self._left_out]

    # -- the finished function -------------------------------------------------------------

    def finish(
        self,
        outputs: Sequence[Tensor],
        result_names: Sequence[str] | None = None,
        control: Iterable[Operation] = (),
        attrs: Mapping[str, AttrValue] | None = None,
        *,
        exact: bool = False,
    ) -> Function:
        """The function that takes `inputs` and gives `outputs`, now in the library.

        Args:
            outputs: tensors of this graph or of one around (captured).
            result_names: a name for each; without them the names of their operations.
            control: operations that run whether or not an output needs them.
            attrs: attributes of the FunctionDef.
            exact: give it its very name.

        Raises:
            GraphError: the library has another function of that name.
        """
        results = [self.capture(t) for t in outputs]
        if result_names is None:
            taken: set[str] = set()
            result_names = [_unused(_legal(t.op.name), taken) for t in results]
        if len(result_names) != len(results):
            raise GraphError(f"{len(results)} results with {len(result_names)} names")
        table = self._table
        with table.lock:
            for index, param in enumerate(self.inputs):
                node = table[param.op.name]
                if node.attrs["index"] != index or node.attrs["_output_shapes"] != (
                    param.type.shape,
                ):
                    shapes = (param.type.shape,)
                    table.replace(node.with_attrs(index=index, _output_shapes=shapes))
            # parameters first, as in a file
            params = [table[t.op.name] for t in self.inputs]
            rest = [self._without_waits(n) for n in table.nodes if self._stays(n)]
            body = ir.Graph((*params, *rest))
        function = Function(
            self.name if exact else self.functions.unique_name(self.name),
            tuple(t.endpoint for t in self.inputs),
            tuple(t.endpoint for t in results),
            tuple(result_names),
            body,
            tuple(op.name for op in control),
            MappingProxyType(dict(attrs or {})),
        )
        self.functions.add(function)
        waits = {wait.name for wait in self._waits.values()}
        dead_nodes = tuple(n for n in table.nodes if n.name in self._left_out - waits)
        if dead_nodes:
            self.functions.dead_nodes[function.name] = dead_nodes
        if self.control_captures:
            names = tuple(op.name for op in self.control_captures if op.graph is self.outer)
            self.functions.waits[function.name] = names
        self.name = function.name
        self.functions.bodies[function.name] = self
        self.finalize()
        return function

    def _stays(self, node: Node) -> bool:
        return node.op.name != "_Arg" and node.name not in self._left_out

    def _without_waits(self, node: Node) -> Node:
        if self._left_out.isdisjoint(node.after):
            return node
        return node.changed(after=[n for n in node.after if n not in self._left_out])


def copied(
    tensor: Tensor,
    into: FuncGraph,
    copies: dict[Tensor, Tensor],
    *,
    allowed: Collection[str] = (),
    do: str = "",
) -> Tensor:
    """A copy of a tensor in a body, with copies of all operations that it needs.

    Control inputs are left behind: what is copied does nothing but give its outputs.

    Args:
        tensor: of a graph around.
        into: the body.
        copies: tensors copied so far; gets the new ones.
        allowed: ops with state that may be copied nevertheless.
        do: what the user can do about what cannot be copied.

    Raises:
        GraphError: the tensor needs what is fed, state, random numbers, or a loop that is not
            one node.
    """
    pending: list[tuple[Operation, bool]] = [(tensor.op, False)]
    seen: set[Operation] = set()
    while pending:
        op, is_ready = pending.pop()
        node = op.node
        if is_ready:
            if any(t not in copies for t in op.inputs):
                raise _not_copied(op, "is inside of a loop", do)
            groups = node.op.grouped([copies[t] for t in op.inputs], node.attrs)
            attrs = {k: v for k, v in node.attrs.items() if k != "_class"}
            made = into.add_node(node.op, groups, attrs, op.name)
            copies.update(zip(op.outputs, made.outputs, strict=True))
        elif op not in seen and not all(t in copies for t in op.outputs):
            seen.add(op)
            if op.type.startswith("Placeholder") or op.type == "_Arg":
                raise _not_copied(op, "is fed", do)
            if node.op.is_stateful and op.type not in allowed:
                raise _not_copied(op, "has state", do)
            pending.append((op, True))
            pending.extend((t.op, False) for t in reversed(op.inputs))
    return copies[tensor]


def _not_copied(op: Operation, why: str, do: str) -> GraphError:
    return GraphError(
        f"the value of {op.name!r} cannot be copied into a function: it {why}",
        node=op.node.signature(),
        made=source_text(op.node.source),
        do=do,
    )


def _as_placeholder(node: Node) -> Node:
    attrs = {"dtype": node.attrs["T"], "shape": node.outputs[0].shape}
    return node.changed(op=lookup("Placeholder"), attrs=MappingProxyType(attrs))


def _legal(name: str) -> str:
    """A node's name as a result name: small letters, digits and underscores."""
    text = "".join(c if c.isalnum() else "_" for c in name.lower()).lstrip("_")
    return text if text and text[0].isalpha() else f"result_{text}".rstrip("_")


def _unused(name: str, taken: set[str]) -> str:
    made = unused(name, taken)
    taken.add(made)
    return made


def body_of(graph: Graph, name: str) -> FuncGraph:
    """The body of a function of the graph's library, to look at its operations; made once.

    Raises:
        GraphError: there is no such function.
    """
    bodies = graph.functions.bodies
    found = bodies.get(name)
    if found is None:
        function = graph.library.get(name)
        if function is None:
            raise GraphError(f"the library has no function {name!r}")
        found = bodies.setdefault(name, FuncGraph.of(function, graph.outermost))
    body: FuncGraph = found
    return body
