"""How the nodes of a graph are made: types worked out, names and places given by the scopes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from graphvm.graph.node_table import Elements, foreign
from graphvm.graph.scope_stack import Scoped, Scopes, as_device, check_name
from graphvm.graph.source import user_source
from graphvm.graph.tensor import Operation, Tensor
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
from graphvm_runtime.ir.constants import CONST, constant_attrs
from graphvm_runtime.ir.graph import Endpoint, Node, Source, source_text
from graphvm_runtime.ir.infer import Resolution
from graphvm_runtime.ir.typed import Types
from graphvm_runtime.ops.registry import Attrs, OpDef, lookup
from graphvm_runtime.shapes import TensorType

_SHAREABLE = frozenset((bool, int, bytes, DType))  # what can be told apart by comparing

_new = tuple.__new__  # what Node(...) and Endpoint(...) come down to, without the call in between


class Making(Elements, Scoped):
    """The part of a graph that makes nodes.

    Every new node goes through `_insert`; nodes that are ready, of a file or a function, through
    `append`.

    Source: `tf.Graph.create_op`.
    """

    def __init__(self) -> None:
        Elements.__init__(self)
        Scoped.__init__(self)
        self._resolution = Resolution(self._lookup)
        self._types = Types(self._resolution)
        # All attributes and the output types of a node, by op, identities of input types, and given
        # attributes: a chain of additions is one look-up a node. No types where values count too.
        self._by_types: dict[tuple[Any, ...], tuple[Attrs, tuple[TensorType, ...] | None]] = {}
        self._finalized = False

    def add_node(
        self,
        op: str | OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Attrs | None = None,
        name: str | None = None,
        control_inputs: Iterable[Any] = (),
    ) -> Operation:
        """Makes a node.

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
        declared = lookup(op) if isinstance(op, str) else op
        return self._view(self._add(declared, inputs, attrs, name, control_inputs, user_source()))

    def add_tensor(
        self,
        op: str | OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Attrs | None = None,
        name: str | None = None,
    ) -> Tensor:
        """Makes a node as `add_node` does, and gives its first output."""
        declared = lookup(op) if isinstance(op, str) else op
        return self._first_output(self._add(declared, inputs, attrs, name, (), user_source()))

    def _first_output(self, at: int) -> Tensor:
        view = self._views[at]
        return view if isinstance(view, Tensor) else self._view(at).outputs[0]

    def add_constant(self, array: Array, dtype: DType, name: str | None = None) -> Tensor:
        """Makes a `Const` as `add_node` does, without working out what its array says.

        Args:
            array: its value, of `dtype`; it becomes read-only.
            dtype: the element type.
            name: of the node, made unique; ending in `/` it is taken as it is.

        Raises:
            GraphError: the name is none, or taken.
            FinalizedError: the graph is closed.
        """
        source = user_source()
        final = self._taken("Const" if name is None else name, source)
        return self._constant(array, dtype, final, source)

    def _constant(self, array: Array, dtype: DType, final: str, source: Source) -> Tensor:
        attrs = constant_attrs(array, dtype)
        outputs = self._types.constant(dtype, array.shape)
        at = self._insert(CONST, (), attrs, outputs, final, (), source)
        return self._views[at]  # type: ignore[return-value]  # it has one output

    def add_beside(
        self,
        op: OpDef,
        inputs: Sequence[Tensor | tuple[Array, DType]],
        attrs: Attrs,
        name: str,
    ) -> Tensor:
        """Makes a node as `add_tensor` does, and constants for those of its inputs that are arrays.

        Args:
            op: the op; none of its inputs is a list.
            inputs: tensors, and arrays with their element types; these become read-only.
            attrs: attributes in the runtime's form, where they do not follow from the inputs.
            name: of the node, made unique; the constants lie in a scope of that name.

        Raises:
            ShapeError, DTypeError, GraphError, FinalizedError: see `add_node`.
        """
        source = user_source()
        try:
            final = self._new_scope(name, self._local.now)
        except GraphError as error:
            error.located("", source_text(source))
            raise
        ready: list[Tensor] = []
        for arg, value in zip(op.inputs, inputs, strict=True):
            if isinstance(value, tuple):
                with self._lock:
                    label = self._names.take(f"{final}/{arg.name}")
                value = self._constant(*value, label, source)
            ready.append(value)
        try:
            full, outputs, ends = self._worked_out(op, ready, attrs)
        except GraphvmError as error:
            self._explain(error, op, ready, final, source)
            raise
        return self._first_output(self._insert(op, ends, full, outputs, final, (), source))

    def _add(
        self,
        op: OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Attrs | None,
        name: str | None,
        control_inputs: Iterable[Any],
        source: Source,
    ) -> int:
        """Makes a node; where it lies in the graph."""
        name = op.name if name is None else name
        try:
            full, outputs, ends = self._worked_out(op, inputs, attrs or {})
        except GraphvmError as error:
            shown = name[:-1] if name.endswith("/") else self.unique_name(name, mark_as_used=False)
            flat = [t for i in inputs for t in ((i,) if isinstance(i, Tensor) else i)]
            self._explain(error, op, flat, shown, source)
            raise
        final = self._taken(name, source)
        return self._insert(op, ends, full, outputs, final, control_inputs, source)

    def _worked_out(
        self, op: OpDef, inputs: Sequence[Tensor | Sequence[Tensor]], attrs: Attrs
    ) -> tuple[Attrs, tuple[TensorType, ...], list[Endpoint]]:
        """All attributes of a new node, the types of its outputs, and what its inputs name."""
        flat: list[Tensor] = []
        ends: list[Endpoint] = []
        # Types are shared objects, so their identities say it all.
        key: list[Any] = [op]
        for item in inputs:
            if type(item) is Tensor and item.graph is self:  # most of them
                flat.append(item)
                ends.append(item.endpoint)
                key.append(id(item.type))
                continue
            several = (item,) if isinstance(item, Tensor) else item
            here = [t if t.graph is self else self._adopted(t) for t in several]
            flat += here
            ends += [t.endpoint for t in here]
            ids = [id(t.type) for t in here]
            key.append(ids[0] if isinstance(item, Tensor) else tuple(ids))
        for attr, value in attrs.items():
            kind = type(value)
            if kind not in _SHAREABLE:
                full = self._completed(op, inputs, attrs)
                return full, self._types.fresh(op, full, [t.type for t in flat], ends), ends
            key += (attr, kind, value)  # the kind because True is 1
        found = tuple(key)
        known = self._by_types.get(found)
        if known is None:
            full = self._completed(op, inputs, attrs)
            types = [t.type for t in flat]
            outputs, follow = self._types.of(op, full, types, ends)
            self._types.keep(*types)
            self._by_types[found] = full, outputs if follow else None
            return full, outputs, ends
        full, same = known
        if same is None:
            same = self._types.of(op, full, [t.type for t in flat], ends)[0]
        return full, same, ends

    def _completed(
        self, op: OpDef, inputs: Sequence[Tensor | Sequence[Tensor]], attrs: Attrs
    ) -> Attrs:
        groups = _types(inputs)
        if len(groups) != len(op.inputs):
            raise GraphError(f"{op.name} takes {len(op.inputs)} inputs, got {len(groups)}")
        return op.completed(groups, attrs)

    def _insert(
        self,
        op: OpDef,
        ends: Sequence[Endpoint],
        attrs: Attrs,
        outputs: tuple[TensorType, ...],
        final: str,
        control_inputs: Iterable[Any],
        source: Source,
    ) -> int:
        """Takes in a node that has its types and a name of its own; where it lies in the graph.

        The blocks around give it control inputs and a device.
        """
        scopes = self._local.now
        after: tuple[str, ...] = ()
        if control_inputs or scopes.controls:
            after = self._after(ends, control_inputs, scopes)
        inputs = tuple(ends)
        device = ANY
        if scopes.devices or scopes.colocation or scopes.container or scopes.overrides:
            draft = Node(final, op, inputs, after, attrs, outputs, ANY, source)
            attrs, device = self._placed(draft, scopes)
        node = _new(Node, (final, op, inputs, after, attrs, outputs, device, source))
        view = None
        if len(outputs) == 1:
            view = Tensor(self, outputs[0], _new(Endpoint, (final, 0)))
        with self._lock:
            at = len(self._nodes)
            if self._finalized or self._at.setdefault(final, at) != at:
                raise self._full(final, source)
            self._nodes.append(node)
            self._views.append(view)
        if scopes.controls:
            scopes.saw(final)
        return at

    def _full(self, final: str, source: Source) -> GraphvmError:
        """The error for a node that the graph does not take."""
        error: GraphvmError = GraphError(f"the graph has an operation {final!r} already")
        if self._finalized:
            error = FinalizedError("the graph is finalized: nothing can be added to it")
        return error.located("", source_text(source))

    def _taken(self, name: str, source: Source) -> str:
        """The final name of a node; takes it."""
        scopes = self._local.now
        as_it_is = str(name).endswith("/")  # what is no text is told below
        if as_it_is:
            name = name[:-1]
        try:
            check_name(name, not (scopes.name or as_it_is), "an operation")
        except GraphError as error:
            error.located("", source_text(source))
            raise
        with self._lock:
            if not as_it_is:
                return self._names.take(scopes.within(name))
            self._names.mark(name)
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
        final: str,
        source: Source,
    ) -> None:
        shown = ", ".join(f"{t.op.name}: {t.type}" for t in inputs)
        error.located(f"{final} = {op.name}({shown})", source_text(source))

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
                if op.node.device != ANY:
                    device = op.node.device
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
        from graphvm_runtime.ir.graphdef.node_reader import read_attrs

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
            tensor.op.node = self._nodes[self._at[node.name]] = node.changed(outputs=outputs)
            # what was worked out from the less precise shape is worked out again
            self._resolution.forget()


def _types(inputs: Iterable[Any]) -> list[list[DType]]:
    """Element types, one list for each declared input."""
    return [[i.type.dtype] if isinstance(i, Tensor) else [t.type.dtype for t in i] for i in inputs]
