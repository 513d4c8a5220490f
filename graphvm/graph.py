"""Graph, Operation and Tensor: the builder of programs.

A graph is an append-only list of frozen nodes (`graphvm_runtime.ir.graph.Node`); Operation and
Tensor are views of it. `Graph.add_node` is the one way in which a node is made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from graphvm.collections import CollectionStore
from graphvm.elements import Elements, foreign
from graphvm.library import Library
from graphvm.source import user_source
from graphvm.stacks import (
    NAME_AT_ROOT,
    NAME_IN_SCOPE,
    Scoped,
    Scopes,
    Stack,
    as_device,
)
from graphvm.tensor import Operation, Tensor
from graphvm_runtime import shapes
from graphvm_runtime.device_spec import ANY, DeviceSpec
from graphvm_runtime.dtypes import Array, DType, as_dtype
from graphvm_runtime.errors import (
    DTypeError,
    FinalizedError,
    GraphError,
    GraphvmError,
    clipped,
)
from graphvm_runtime.ir import graph as ir
from graphvm_runtime.ir.graph import PRODUCER, Endpoint, Node, Source, source_text
from graphvm_runtime.ir.infer import Resolution
from graphvm_runtime.ir.typed import Types
from graphvm_runtime.ops.registry import Attrs, OpDef, lookup
from graphvm_runtime.shapes import TensorType

if TYPE_CHECKING:
    from graphvm_runtime.protos.graph_pb2 import GraphDef
    from graphvm_runtime.protos.versions_pb2 import VersionDef

__all__ = [
    "Graph", "Operation", "Tensor", "get_default_graph", "reset_default_graph", "user_source",
]  # fmt: skip


class Graph(Elements, Scoped, CollectionStore, Library):
    """An append-only graph of operations; safe to build from several threads.

    Attributes:
        outer: the graph around, where this is the body of a function.

    Source: `tf.Graph`.
    """

    outer: Graph | None = None

    def __init__(self) -> None:
        Elements.__init__(self)
        Scoped.__init__(self)
        CollectionStore.__init__(self)
        Library.__init__(self)
        self._resolution = Resolution(self._lookup)
        self._types = Types(self._resolution)
        self._known: dict[tuple[Any, ...], tuple[Attrs, tuple[TensorType, ...]]] = {}
        self._users: dict[Endpoint, list[int]] = {}
        self._users_of = 0  # nodes that `_users` covers
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._finalized = False
        self._producer = PRODUCER
        self._min_consumer = 0

    # -- looking at it ---------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._nodes)} operations>"

    def __str__(self) -> str:
        from graphvm_runtime.ir.text import print_graph

        return print_graph(self.ir(), limit=16)

    @property
    def version(self) -> int:
        """Number of nodes made so far."""
        return len(self._nodes)

    @property
    def outermost(self) -> Graph:
        """The graph in which the bodies around this one lie; itself outside of bodies."""
        return self

    @property
    def building_function(self) -> bool:
        """Whether it is the body of a function."""
        return False

    @property
    def graph_def_versions(self) -> VersionDef:
        """TensorFlow's version numbers that a file of it carries."""
        from graphvm_runtime.protos.versions_pb2 import VersionDef

        return VersionDef(producer=self._producer, min_consumer=self._min_consumer)

    def ir(self) -> ir.Graph:
        """What it holds now, frozen."""
        with self._lock:
            return ir.Graph(
                tuple(self._nodes), dict(self.library), self._producer, self._min_consumer
            )

    def nodes_since(self, version: int) -> list[Node]:
        """Nodes made since it had that version."""
        with self._lock:
            return self._nodes[version:]

    def handle_of(self, tensor: Tensor) -> TensorType | None:
        """Type of what a resource or list holds, None when it is not known."""
        return self._resolution.handle(tensor.endpoint)

    def constant_of(self, tensor: Tensor) -> Array | None:
        """The value of a tensor that is constant, None when it is not known."""
        return self._resolution.constant(tensor.endpoint)

    def consumers(self, end: Endpoint) -> list[Operation]:
        """Operations that take what an endpoint names, once for each input, as in TensorFlow."""
        with self._lock:
            for at in range(self._users_of, len(self._nodes)):
                for each in self._nodes[at].inputs:
                    self._users.setdefault(each, []).append(at)
            self._users_of = len(self._nodes)
            return [self._view(at) for at in self._users.get(end, ())]

    # -- making nodes ----------------------------------------------------------------------

    def add_node(
        self,
        op: str | OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Attrs | None = None,
        name: str | None = None,
        control_inputs: Iterable[Any] = (),
    ) -> Operation:
        """Makes a node: every node of a graph is made here.

        Args:
            op: the op, or its name.
            inputs: one item for each declared input: a tensor, or a sequence for a list.
            attrs: attributes in the runtime's form, where they do not follow from the inputs.
            name: of the node, made unique; ending in `/` it is taken as it is.
            control_inputs: operations or tensors that must have run before, besides those of the
                `control_dependencies` blocks around.

        Raises:
            ShapeError: the shapes of the inputs do not fit.
            DTypeError: their types do not fit.
            GraphError: an attribute or the name does not, or an input is of another graph.
            FinalizedError: the graph is closed.
        """
        return self._view(self._add(op, inputs, attrs, name, control_inputs))

    def add_tensor(
        self,
        op: str | OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Attrs | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Makes a node as `add_node` does, and gives its first output."""
        at = self._add(op, inputs, attrs, name, ())
        view = self._views[at]
        return view if isinstance(view, Tensor) else self._view(at).outputs[0]

    def _add(
        self,
        op: str | OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Attrs | None,
        name: str | None,
        control_inputs: Iterable[Any],
    ) -> int:
        """Makes a node; where it lies in the graph."""
        source = user_source()
        declared = lookup(op) if isinstance(op, str) else op
        flat: list[Tensor] = []
        ends: list[Endpoint] = []
        # Types are shared objects, so their identities say it all.
        key: list[Any] = [declared]
        single = True
        for item in inputs:
            if isinstance(item, Tensor):
                if item.graph is not self:
                    item = self._adopted(item)
                flat.append(item)
                ends.append(item.endpoint)
                key.append(id(item.type))
            else:
                single = False
                here = [t if t.graph is self else self._adopted(t) for t in item]
                flat.extend(here)
                ends.extend([t.endpoint for t in here])
        known = self._known.get(tuple(key)) if single and not attrs else None
        if known is None:
            try:
                known = self._typed(declared, inputs, flat, ends, attrs)
            except GraphvmError as error:
                self._explain(error, declared, flat, name, source)
                raise
        full, outputs = known
        scopes = self._local.now
        after: tuple[str, ...] = ()
        if control_inputs or scopes.controls:
            after = self._after(ends, control_inputs, scopes)
        device = ANY
        if scopes.devices or scopes.colocation or scopes.container or scopes.overrides:
            draft = Node(
                name or declared.name, declared, tuple(ends), after, full, outputs, ANY, source
            )
            full, device = self._placed(draft, scopes)
        with self._lock:
            try:
                if self._finalized:
                    raise FinalizedError("the graph is finalized: nothing can be added to it")
                final = self._node_name(declared.name if name is None else name, scopes)
            except GraphvmError as error:
                error.located("", source_text(source))
                raise
            node = _new(Node, (final, declared, tuple(ends), after, full, outputs, device, source))
            at = len(self._nodes)
            self._at[final] = at
            self._nodes.append(node)
            view = None
            if len(outputs) == 1:
                view = Tensor(self, outputs[0], _new(Endpoint, (final, 0)))
            self._views.append(view)
        if scopes.controls:
            scopes.saw(final)
        return at

    def _typed(
        self,
        op: OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        flat: Sequence[Tensor],
        ends: Sequence[Endpoint],
        attrs: Attrs | None,
    ) -> tuple[Attrs, tuple[TensorType, ...]]:
        """Attributes and output types of a new node, remembered where nothing else decides them."""
        groups = [
            [i.type.dtype] if isinstance(i, Tensor) else [t.type.dtype for t in i] for i in inputs
        ]
        if len(groups) != len(op.inputs):
            raise GraphError(f"{op.name} takes {len(op.inputs)} inputs, got {len(groups)}")
        full = op.completed(groups, attrs or {})
        types = [t.type for t in flat]
        outputs, follow = self._types.fresh(op, full, types, ends)
        if follow and not attrs and len(flat) == len(inputs):
            self._types.keep(*types)
            self._known[(op, *map(id, types))] = full, outputs
        return full, outputs

    def _node_name(self, name: str, scopes: Scopes) -> str:
        """The final name of a node; takes it."""
        if name.endswith("/"):
            name = name[:-1]
            if name in self._at:
                raise GraphError(f"the graph has an operation {name!r} already")
            self._names.mark(name)
        else:
            if not (name.isalnum() and name.isascii()) and not (
                name and (NAME_IN_SCOPE if scopes.name else NAME_AT_ROOT)(name)
            ):
                raise GraphError(
                    f"{name!r} is no name of an operation",
                    do="use letters, digits and _ . / > -, the first of them a letter or digit",
                )
            name = self._names.take(f"{scopes.name}/{name}" if scopes.name else name)
        return name

    def _adopted(self, tensor: Any) -> Tensor:
        """What stands in this graph for a tensor of another one."""
        if not isinstance(tensor, Tensor):
            raise TypeError(f"an input of an operation must be a tensor, not {clipped(tensor)}")
        raise foreign(tensor)

    def _explain(
        self,
        error: GraphvmError,
        op: OpDef,
        inputs: Sequence[Tensor],
        name: str | None,
        source: Source,
    ) -> None:
        shown = ", ".join(f"{t.op.name}: {t.type}" for t in inputs)
        name = name or op.name
        # a name that ends in a slash is taken as it is
        made = name[:-1] if name.endswith("/") else self.unique_name(name, mark_as_used=False)
        error.located(f"{made} = {op.name}({shown})", source_text(source))

    def _after(
        self, ends: Sequence[Endpoint], given: Iterable[Any], scopes: Scopes
    ) -> tuple[str, ...]:
        inputs = {e.node for e in ends}
        own = self._control_names(given)
        return tuple(dict.fromkeys([*own, *scopes.control_names(inputs)]))

    def _control_names(self, items: Iterable[Any]) -> list[str]:
        out: dict[str, None] = {}
        for item in [items] if isinstance(items, (Tensor, Operation)) else items:
            element = self._control_element(item)
            if element is not None:
                out[element.name] = None
        return list(out)

    def _control_element(self, item: Any) -> Operation | None:
        """The operation of this graph that a control input stands for; None where it has none."""
        parts = getattr(item, "_control_element", None)  # IndexedSlices and the like
        element = self.as_graph_element(item if parts is None else parts())
        return element.op if isinstance(element, Tensor) else element

    def _colocation_target(self, op: Any) -> Operation:
        parts = getattr(op, "_control_element", None)
        element = self.as_graph_element(op if parts is None else parts())
        return element.op if isinstance(element, Tensor) else element

    def _placed(self, draft: Node, scopes: Scopes) -> tuple[Attrs, DeviceSpec]:
        """Attributes and device of a node, as the `with` blocks around say."""
        attrs, device = draft.attrs, self._device_of(draft, scopes)
        if scopes.colocation:
            groups = set(attrs.get("_class", ()))
            for op in scopes.colocation:
                groups.update(op.colocation_groups())
                if op._node.device != ANY:
                    device = op._node.device
            attrs = MappingProxyType({**attrs, "_class": tuple(sorted(groups))})
        if scopes.container and draft.op.is_stateful and attrs.get("container") == b"":
            attrs = MappingProxyType({**attrs, "container": scopes.container.encode()})
        override = scopes.overrides.get(draft.op.name)
        if override is not None and "_gradient_op_type" not in attrs:
            attrs = MappingProxyType({**attrs, "_gradient_op_type": override.encode()})
        return attrs, device

    def _device_of(self, draft: Node, scopes: Scopes) -> DeviceSpec:
        device = draft.device
        for entry in reversed(scopes.devices):
            if entry is None:
                break
            if isinstance(entry, DeviceSpec):
                device = entry.merged(device)
            else:
                draft = draft.changed(device=device)
                device = as_device(entry(Operation(self, draft).looked_at()))
        return device

    @contextmanager
    def building(self) -> Iterator[None]:
        """Keeps other threads from adding to it, for what must be added as one."""
        with self._lock:
            yield

    def here(self, tensor: Tensor) -> Tensor:
        """The tensor, or what stands in this graph for one of a graph around.

        Raises:
            GraphError: it is of another graph.
        """
        return tensor if tensor.graph is self else self._adopted(tensor)

    def placing(self) -> Callable[[Node], Node] | None:
        """What gives ready-made nodes the devices and control inputs of the blocks around."""
        scopes = self._local.now
        if not scopes.devices and not scopes.controls:
            return None

        def place(node: Node) -> Node:
            names = scopes.control_names({e.node for e in node.inputs})
            after = [n for n in [*node.after, *names] if n != node.name]
            return node.changed(device=self._device_of(node, scopes), after=after)

        return place

    def merge_versions(self, producer: int, min_consumer: int) -> None:
        """Notes that nodes of a file of these versions were added."""
        self._producer = min(self._producer, producer)
        self._min_consumer = max(self._min_consumer, min_consumer)

    def append(self, nodes: Iterable[Node]) -> None:
        """Takes ready-made nodes, whose names are new, in topological order: all or none.

        Raises:
            GraphError: a name is taken.
            FinalizedError: the graph is closed.
        """
        with self._lock:
            if self._finalized:
                raise FinalizedError("the graph is finalized: nothing can be added to it")
            at, new, start = self._at, list(nodes), len(self._nodes)
            names = {n.name: i for i, n in enumerate(new, start)}
            if len(names) != len(new) or not names.keys().isdisjoint(at):
                taken = next(
                    n.name for i, n in enumerate(new, start) if n.name in at or names[n.name] != i
                )
                raise GraphError(f"the graph has an operation {taken!r} already")
            self._names.mark_all(names)
            self._nodes.extend(new)
            self._views.extend([None] * len(new))
            at.update(names)

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Any = None,
        input_types: Any = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Makes a node, as TensorFlow names this.

        Args:
            op_type: name of the op.
            inputs: its inputs, lists laid out flat.
            dtypes: types of the outputs; checked where given.
            input_types: not looked at: they follow from the inputs.
            name: of the node.
            attrs: attributes as AttrValue messages; all that do not follow from the inputs must
                be given where a list is among them.
            op_def: not looked at.
            compute_shapes: not looked at.
            compute_device: not looked at.

        Raises:
            GraphError: see `add_node`; also when an output has another type than asked for.
        """
        from graphvm_runtime.ir.node_reader import read_attrs

        del input_types, op_def, compute_shapes, compute_device
        declared = lookup(op_type)
        given = read_attrs(declared, attrs or {})
        groups: list[Any] = []
        at = 0
        for arg in declared.inputs:
            if not arg.is_list:
                groups.extend(inputs[at : at + 1])
                at += 1
                continue
            key = arg.list_attr or arg.number_attr
            if key not in given:
                raise GraphError(f"{op_type} needs the attribute {key!r} to be made this way")
            count = len(given[key]) if arg.list_attr else given[key]
            groups.append(list(inputs[at : at + count]))
            at += count
        if at != len(inputs):
            raise GraphError(f"{op_type} takes {at} inputs, got {len(inputs)}")
        if dtypes is not None:
            made = declared.output_dtypes(declared.completed(_types(groups), given))
            if [as_dtype(d).base for d in dtypes] != [d.base for d in made]:
                raise DTypeError(f"{op_type} gives {[d.name for d in made]}, not {dtypes}")
        return self.add_node(declared, groups, given, name)

    def refine(self, tensor: Tensor, shape: shapes.Shape) -> None:
        """Gives a tensor a more precise static shape, for all that is made from now on."""
        with self._lock:
            node = self._lookup(tensor.op.name)
            outputs = list(node.outputs)
            index = tensor.value_index
            self._types.keep(tensor.type)
            outputs[index] = tensor.type = self._types.shared(TensorType(tensor.type.dtype, shape))
            tensor.op._node = self._nodes[self._at[node.name]] = node.changed(outputs=outputs)
            # what was worked out from the less precise shape is worked out again
            self._resolution.forget()

    # -- the graph as a whole --------------------------------------------------------------

    @contextmanager
    def as_default(self) -> Iterator[Graph]:
        """Makes it the default graph inside the block."""
        with _GRAPHS.holding(self):
            yield self

    def finalize(self) -> None:
        """Closes it: nothing can be added any more."""
        self._finalized = True

    @property
    def finalized(self) -> bool:
        """Whether it is closed."""
        return self._finalized

    def prevent_feeding(self, tensor: Tensor) -> None:
        """Forbids to feed a tensor."""
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether a tensor may be fed."""
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        """Forbids to fetch an operation and its outputs."""
        self._unfetchable.add(op)

    def is_fetchable(self, tensor_or_op: Tensor | Operation) -> bool:
        """Whether a tensor or operation may be fetched."""
        op = tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op
        return op not in self._unfetchable

    def as_graph_def(
        self,
        from_version: int | None = None,
        add_shapes: bool = False,
        *,
        control_flow: str = "functional",
        sources: bool = False,
    ) -> GraphDef:
        """The graph as TensorFlow's message.

        Args:
            from_version: only the nodes made since the graph had that version.
            add_shapes: write static shapes as `_output_shapes`.
            control_flow: "functional", or "v1" for programs of TensorFlow 1's time: branches and
                loops as Switch, Merge, Enter, Exit and NextIteration.
            sources: write the user's own lines too.

        Raises:
            GraphError: `control_flow` is neither, or the graph has something that TensorFlow's
                files cannot say.
        """
        from graphvm_runtime.ir.write import file_form, write_graph

        if control_flow not in ("functional", "v1"):
            raise GraphError(f"control_flow is functional or v1, not {clipped(control_flow)}")
        graph = file_form(self.ir(), self.outermost.derived)
        if control_flow == "v1":
            # loaded late: few files are for programs of that time
            from graphvm_runtime.ir.lower import loose_ends, lower

            graph = lower(graph, keep=loose_ends(graph))
        message = write_graph(graph, shapes=add_shapes, sources=sources)
        if from_version is not None:
            old = {n.name for n in self._nodes[:from_version]}
            kept = [n for n in message.node if n.name not in old]
            del message.node[:]
            message.node.extend(kept)
        return message


_new = tuple.__new__  # what Node(...) and Endpoint(...) come down to, without the call in between


def _types(groups: Iterable[Any]) -> list[list[DType]]:
    return [[g.dtype] if isinstance(g, Tensor) else [t.dtype for t in g] for g in groups]


_GRAPHS: Stack[Graph] = Stack()
_default_lock = threading.Lock()
_default: list[Graph] = []


def get_default_graph() -> Graph:
    """The innermost default graph of this thread, or the one of the process.

    Source: `tf.get_default_graph`.
    """
    items = _GRAPHS.items
    if items:
        return items[-1]
    with _default_lock:
        if not _default:
            _default.append(Graph())
        return _default[0]


def reset_default_graph() -> None:
    """Puts a new graph in place of the default one of the process.

    Raises:
        GraphError: called inside `graph.as_default()`.

    Source: `tf.reset_default_graph`.
    """
    if _GRAPHS.items:
        raise GraphError("the default graph cannot be reset inside `graph.as_default()`")
    with _default_lock:
        _default[:] = [Graph()]
