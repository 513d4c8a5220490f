"""Makes the nodes of a graph: infers types, reserves names, applies the scopes around."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any

from graphvm.graph.node_table import NodeTable
from graphvm.graph.scope_stack import Scopes, ScopeStack, as_device
from graphvm.graph.source import user_source
from graphvm.graph.tensor import Operation, Tensor
from graphvm_runtime import shapes
from graphvm_runtime.device_spec import ANY, DeviceSpec
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import GraphError, GraphvmError
from graphvm_runtime.ir.constants import CONST, constant_attrs
from graphvm_runtime.ir.graph import Endpoint, Node, Source, source_text
from graphvm_runtime.ir.infer import Resolution
from graphvm_runtime.ir.inference_cache import Types
from graphvm_runtime.ops.registry import OpDef, lookup
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import TensorType

_SHAREABLE = frozenset((bool, int, bytes, DType))  # what can be told apart by comparing

_new = tuple.__new__  # what Node(...) and Endpoint(...) come down to, without the call in between


class NodeBuilder:
    """Makes nodes and puts them into the table of a graph.

    Args:
        graph: decides what stands in it for tensors of other graphs and for control inputs.
        table: where nodes go.
        scopes: the `with` blocks around.

    Attributes:
        resolution: what is known of the values of tensors.
    """

    def __init__(self, graph: Any, table: NodeTable, scopes: ScopeStack) -> None:
        self.resolution = Resolution(table.__getitem__)
        self._graph = graph
        self._table = table
        self._scopes = scopes
        self._types = Types(self.resolution)
        # All attributes and the output types of a node, by op, identities of input types, and given
        # attributes: a chain of additions is one look-up a node. No types where values count too.
        self._by_types: dict[tuple[Any, ...], tuple[Attrs, tuple[TensorType, ...] | None]] = {}

    def add(
        self,
        op: str | OpDef,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Attrs | None,
        name: str | None,
        control_inputs: Iterable[Any] = (),
    ) -> int:
        """Makes a node; its position in the table. See `Graph.add_node`."""
        declared = lookup(op) if isinstance(op, str) else op
        source = user_source()
        name = declared.name if name is None else name
        try:
            full, outputs, ends = self._infer(declared, inputs, attrs or {})
        except GraphvmError as error:
            shown = name[:-1] if name.endswith("/") else self._scopes.unique_name(name, False)
            flat = [t for i in inputs for t in ((i,) if isinstance(i, Tensor) else i)]
            _locate(error, declared, flat, shown, source)
            raise
        final = self._reserve(name, source)
        return self._insert(declared, ends, full, outputs, final, control_inputs, source)

    def add_constant(self, array: Array, dtype: DType, name: str | None) -> Tensor:
        """Makes a `Const`; see `Graph.add_constant`."""
        source = user_source()
        final = self._reserve("Const" if name is None else name, source)
        return self._constant(array, dtype, final, source)

    def _constant(self, array: Array, dtype: DType, final: str, source: Source) -> Tensor:
        attrs = constant_attrs(array, dtype)
        outputs = self._types.constant(dtype, array.shape)
        at = self._insert(CONST, (), attrs, outputs, final, (), source)
        return self._table.first_output_at(at)

    def add_with_constants(
        self,
        op: OpDef,
        inputs: Sequence[Tensor | tuple[Array, DType]],
        attrs: Attrs,
        name: str,
    ) -> Tensor:
        """Makes a node, and constants for those inputs that are arrays.

        See `Graph.add_with_constants`.
        """
        source = user_source()
        try:
            final = self._scopes.new_scope(name)
        except GraphError as error:
            error.located("", source_text(source))
            raise
        ready: list[Tensor] = []
        for arg, value in zip(op.inputs, inputs, strict=True):
            if isinstance(value, tuple):
                label = self._scopes.reserve_inside(f"{final}/{arg.name}")
                value = self._constant(*value, label, source)
            ready.append(value)
        try:
            full, outputs, ends = self._infer(op, ready, attrs)
        except GraphvmError as error:
            _locate(error, op, ready, final, source)
            raise
        at = self._insert(op, ends, full, outputs, final, (), source)
        return self._table.first_output_at(at)

    def _infer(
        self, op: OpDef, inputs: Sequence[Tensor | Sequence[Tensor]], attrs: Attrs
    ) -> tuple[Attrs, tuple[TensorType, ...], list[Endpoint]]:
        """All attributes of a new node, the types of its outputs, and what its inputs name."""
        graph = self._graph
        flat: list[Tensor] = []
        ends: list[Endpoint] = []
        # Types are shared objects, so their identities say it all.
        key: list[Any] = [op]
        for item in inputs:
            if type(item) is Tensor and item.graph is graph:  # most of them
                flat.append(item)
                ends.append(item.endpoint)
                key.append(id(item.type))
                continue
            several = (item,) if isinstance(item, Tensor) else item
            here = [t if t.graph is graph else graph.capture(t) for t in several]
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
        groups = element_types(inputs)
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
        """Puts a node that has its types and a name of its own into the table; its position.

        The blocks around give it control inputs and a device.
        """
        scopes = self._scopes.current
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
            view = Tensor(self._graph, outputs[0], _new(Endpoint, (final, 0)))
        at = self._table.insert(node, view)
        if scopes.controls:
            scopes.saw(final)
        return at

    def _reserve(self, name: str, source: Source) -> str:
        try:
            return self._scopes.reserve(name)
        except GraphError as error:
            error.located("", source_text(source))
            raise

    def _after(
        self, ends: Sequence[Endpoint], given: Iterable[Any], scopes: Scopes
    ) -> tuple[str, ...]:
        inputs = {e.node for e in ends}
        own = self._graph.control_names(given)
        return tuple(dict.fromkeys([*own, *scopes.control_names(inputs)]))

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
                device = as_device(entry(Operation(self._graph, draft).looked_at()))
        return device

    def place(self, nodes: Iterable[Node]) -> None:
        """Gives nodes of the table devices and control inputs; see `Graph.place`."""
        scopes = self._scopes.current
        is_placed = bool(scopes.devices or scopes.controls)
        groups: list[tuple[Node, str]] = []
        for node in nodes:
            group = _group_of(node)
            if group:
                groups.append((node, group))
            elif is_placed:
                names = scopes.control_names({e.node for e in node.inputs})
                after = [n for n in [*node.after, *names] if n != node.name]
                device = self._device_of(node, scopes)
                self._table.replace(node.changed(device=device, after=after))
        for node, group in groups:
            device = self._table[group].device
            if device != node.device:
                self._table.replace(node.changed(device=device))

    def append(self, nodes: Iterable[Node]) -> None:
        """Takes ready-made nodes; see `Graph.append`."""
        new = list(nodes)
        with self._table.lock:
            self._table.extend(new)
            self._scopes.mark_all(n.name for n in new)

    def refine(self, tensor: Tensor, shape: shapes.Shape) -> None:
        """Gives a tensor a more precise static shape, for all that is made from now on."""
        with self._table.lock:
            node = self._table[tensor.op.name]
            outputs = list(node.outputs)
            self._types.keep(tensor.type)
            type_ = self._types.shared(TensorType(tensor.type.dtype, shape))
            outputs[tensor.value_index] = tensor.type = type_
            self._table.replace(node.changed(outputs=outputs))
            # what was inferred from the less precise shape is inferred again
            self.resolution.forget()


def element_types(inputs: Iterable[Any]) -> list[list[DType]]:
    """Element types, one list for each declared input."""
    return [[i.type.dtype] if isinstance(i, Tensor) else [t.type.dtype for t in i] for i in inputs]


def _group_of(node: Node) -> str:
    """The name of the other node that it is colocated with; empty where there is none."""
    groups: Sequence[bytes] = node.attrs.get("_class", ())
    for text in groups:
        name = text.removeprefix(b"loc:@").decode(errors="surrogateescape")
        if text.startswith(b"loc:@") and name != node.name:
            return name
    return ""


def check_groups(nodes: Sequence[Node], known: Callable[[str], bool]) -> None:
    """Raises GraphError where a node is colocated with one that is not among them nor known."""
    names = {n.name for n in nodes}
    for node in nodes:
        group = _group_of(node) if "_class" in node.attrs else ""
        if group and group not in names and not known(group):
            raise GraphError(
                f"{node.name!r} is colocated with {group!r}, which does not exist",
                node=node.signature(),
                made=source_text(node.source),
            )


def _locate(
    error: GraphvmError, op: OpDef, inputs: Sequence[Tensor], final: str, source: Source
) -> None:
    shown = ", ".join(f"{t.op.name}: {t.type}" for t in inputs)
    error.located(f"{final} = {op.name}({shown})", source_text(source))
