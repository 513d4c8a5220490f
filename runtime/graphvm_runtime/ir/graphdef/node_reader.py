"""The nodes of a file: inputs resolved, attributes decoded, defaults filled, types worked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from graphvm_runtime.device_spec import ANY, DeviceSpec, parsed
from graphvm_runtime.dtypes import DType, from_enum, resource, variant
from graphvm_runtime.errors import (
    DTypeError,
    GraphError,
    GraphvmError,
    NotFoundError,
    ShapeError,
    warned,
)
from graphvm_runtime.ir.constants import CONST, constant_attrs
from graphvm_runtime.ir.graph import PRODUCER, Endpoint, Node, Source
from graphvm_runtime.ir.graphdef.attrs import (
    Bindings,
    checked_constant,
    read_attr,
    read_undeclared,
)
from graphvm_runtime.ir.graphdef.debug_info import Sources
from graphvm_runtime.ir.graphdef.file_order import (
    NOTHING_MAPPED,
    Mapped,
    above_of,
    in_order,
    shown,
)
from graphvm_runtime.ir.graphdef.functions import Instances
from graphvm_runtime.ir.graphdef.tensor_proto import decode, is_truncated
from graphvm_runtime.ir.infer import Resolution
from graphvm_runtime.ir.inference_cache import Types
from graphvm_runtime.ir.names import legal_name, parse_body_output, parse_output
from graphvm_runtime.ops.control_flow import MERGES, NEXTS
from graphvm_runtime.ops.functional import CALLS
from graphvm_runtime.ops.registry import OpDef, known, lookup
from graphvm_runtime.ops.signature import REQUIRED, Attrs, AttrValue, FuncRef
from graphvm_runtime.protos.node_def_pb2 import NodeDef
from graphvm_runtime.protos.op_def_pb2 import OpDef as OpDefProto
from graphvm_runtime.shapes import TensorType, merged, shape_text

_SCALAR_FIELDS = frozenset(("type", "i", "s", "b"))
SHAPES = "_output_shapes"
_SCALARS_SAID = 24  # producers before it wrote an unknown shape of a Placeholder as a scalar's


class _Shared(NamedTuple):
    """What nodes with the same op and attributes have in common."""

    op: OpDef
    attrs: Attrs
    inputs: tuple[DType, ...]  # element types, ref where a reference is asked for
    is_common: bool = False  # whether other nodes may share it


class Reader:
    """Reads the nodes of one graph or body.

    Args:
        instances: the functions that they may call.
        sources: the user's own lines.
        rename: final name of a node of the file.
        mapped: what stands for nodes that are not taken from the file.
        outside: nodes that are there already, by final name.
        function: name of the function whose body it is; empty for a graph.
        bindings: what placeholders stand for.
        producer_ops: see `read_graph`.
        is_open: whether inputs that the file does not have are looked up outside.
        internal: whether ops are taken that only programs in memory have.
        producer: version of the program that wrote the file.

    Attributes:
        made: nodes by their name in the file.
    """

    def __init__(
        self,
        instances: Instances,
        sources: Sources,
        *,
        rename: Callable[[str], str] | None = None,
        mapped: Mapped = NOTHING_MAPPED,
        outside: Callable[[str], Node] | None = None,
        function: str = "",
        bindings: Bindings | None = None,
        producer_ops: Mapping[str, OpDefProto] | None = None,
        is_open: bool = False,
        internal: bool = False,
        producer: int = PRODUCER,
    ) -> None:
        self._instances = instances
        self._sources = sources
        self._rename = rename
        self._mapped = mapped
        self._outside = outside
        self._function = function
        self._bindings = bindings
        self._producer_ops = producer_ops
        self._is_open = is_open
        self._internal = internal
        self._producer = producer
        self.made: dict[str, Node] = {}
        self._defs: Sequence[NodeDef] = ()
        self._all: dict[str, int] = {}  # positions of the nodes of the file
        # whether inputs need a closer look than at the names of nodes
        self._special = bool(function) or bool(mapped.ends)
        # nodes by their final name
        self._final: dict[str, Node] = {} if rename is not None else self.made
        self._args: dict[str, list[Endpoint]] = {}
        self._results_of: dict[str, list[tuple[str, int]]] = {}  # of calls by name
        self._shared: dict[tuple[Any, ...], _Shared] = {}
        self._types = Types(Resolution(self._lookup))

    def _lookup(self, name: str) -> Node:
        node = self._final.get(name)
        if node is None:
            if self._outside is None:
                raise GraphError(f"the graph has no operation {name!r}")
            node = self._outside(name)
        return node

    def arg(
        self, group: str, index: int, name: str, attrs: dict[str, AttrValue], type_: TensorType
    ) -> None:
        """Declares a parameter: item `index` of the argument `group`."""
        if name in self.made:
            raise GraphError(f"function {self._function!r} has two arguments {name!r}")
        source = self._sources.of(name, self._function) if self._sources else ""
        node = Node(name, lookup("_Arg"), (), (), MappingProxyType(attrs), (type_,), source=source)
        self.made[name] = self._final[name] = node
        self._args.setdefault(group, []).append(Endpoint(name))

    # -- the order of nodes ----------------------------------------------------------------

    def read(self, defs: Sequence[NodeDef]) -> list[Node]:
        """The nodes, parameters first, in topological order.

        Raises:
            GraphError: a name stands twice or is missing, there is a circle that is no loop, an
                attribute or an input is wrong.
            ShapeError: shapes do not fit.
            NotFoundError: an op is not known.
        """
        nodes = list(self._final.values())
        for at, name in enumerate([d.name for d in defs]):
            if name in self._all or name in self.made:
                raise GraphError(f"node {name!r} is not unique", node=shown(defs[at]))
            self._all[name] = at
        self._defs = defs
        add = nodes.append
        for at, d in enumerate(defs):
            try:
                add(self._node(d))
            except _NotYet:
                # Most files are in order. This one is not, from here on.
                there = set(self.made) | set(self._args)
                if self._is_open:
                    there |= {n for d in defs[at:] for n in above_of(d) if n not in self._all}
                rest = in_order(defs[at:], there, self._mapped)
                nodes += map(self._in_order, rest)
                break
        return nodes

    # -- one node --------------------------------------------------------------------------

    def _in_order(self, d: NodeDef) -> Node:
        try:
            return self._node(d)
        except _NotYet:
            raise GraphError(
                f"node {d.name!r} waits for what comes after it, on a circle that is no while loop",
                node=shown(d),
            ) from None

    def _node(self, d: NodeDef) -> Node:
        name = d.name
        source: Source = self._sources.of(name, self._function) if self._sources else ""
        ends: list[Endpoint] = []
        types: list[TensorType] = []
        after: list[str] = []
        made = None if self._special else self.made
        try:
            if not legal_name(name) and not (self._function and legal_name(name.lstrip("_"))):
                raise GraphError(f"{name!r} is no name of an operation")
            for text in d.input:
                above = made.get(text) if made is not None else None
                if above is not None and not after and above.outputs:  # most inputs are like this
                    ends.append(_new(Endpoint, (above.name, 0)))
                    types.append(above.outputs[0])
                elif text[:1] == "^":
                    after.append(text[1:])
                elif after:
                    raise GraphError("control inputs must come after the others")
                else:
                    end, type_ = self._input(text, d)
                    ends.append(end)
                    types.append(type_)
            inputs = tuple(ends)
            stated = None
            attrs = _constant(d) if d.op == "Const" and not inputs else None
            if attrs is not None:
                op = CONST
                outputs = self._types.constant(attrs["dtype"], attrs["value"].shape)
            else:
                shared, stated = self._common(d, types)
                op, attrs = shared.op, shared.attrs
                if shared.is_common:
                    outputs, _ = self._types.of(op, attrs, types, inputs)
                else:
                    outputs = self._types.fresh(op, attrs, types, inputs)
            if stated is not None:
                outputs = self._stated(name, outputs, stated)
            controls = tuple(map(self._after, dict.fromkeys(after))) if after else ()
        except GraphvmError as error:
            made_at = source if isinstance(source, str) else ""
            raise _as_import_error(error).located(shown(d), made_at) from None
        final = name if self._rename is None else self._rename(name)
        device = ANY if not d.device else _device(name, d.device)
        node: Node = _new(Node, (final, op, inputs, controls, attrs, outputs, device, source))
        self._final[final] = node
        self.made[name] = node
        return node

    def _after(self, name: str) -> str:
        if name in self._mapped.after:
            return self._mapped.after[name]
        node = self.made.get(name)
        if node is not None:
            return node.name
        if name in self._args:
            return self._args[name][0].node
        if name in self._all:
            raise _NotYet
        if self._is_open:
            return self._lookup(name).name
        raise GraphError(f"it comes after {name!r}, which is not in the graph")

    def _input(self, text: str, d: NodeDef) -> tuple[Endpoint, TensorType]:
        """What an input of a node names, and the type of that."""
        key = parse_body_output(text) if self._function else parse_output(text)
        name, output = key
        end = self._mapped.ends.get(key)  # type: ignore[arg-type]  # names miss
        if end is not None:
            return end, self._lookup(end.node).outputs[end.index]
        if name in self._args:
            end = self._arg_end(name, output)
            return end, self.made[end.node].outputs[0]
        above = self.made.get(name)
        if above is None and self._is_open and name not in self._all:
            above = self._lookup(name)
        if above is not None:
            end = Endpoint(above.name, self._output_index(name, above, output))
            if end.index >= len(above.outputs):
                raise GraphError(
                    f"input {name}:{output} does not exist: operation {above.name!r} has "
                    f"{len(above.outputs)} outputs"
                )
            return end, above.outputs[end.index]
        if name not in self._all:
            raise GraphError(f"it takes {name!r}, which is not in the graph")
        back = self._defs[self._all[name]]
        if not (d.op in MERGES and back.op in NEXTS):
            raise _NotYet
        # The back edge of a loop: its type is known, its shape comes with the loop.
        if "T" not in back.attr:
            raise GraphError(f"node {name!r} needs the attribute 'T'")
        dtype = read_attr(back.attr["T"], "type", self._bindings)
        final = name if self._rename is None else self._rename(name)
        is_ref = back.op == "RefNextIteration"
        return Endpoint(final, 0), TensorType(dtype.ref if is_ref else dtype, None)

    def _arg_end(self, name: str, output: int | str) -> Endpoint:
        index = output if isinstance(output, int) else int(output.rpartition(":")[2] or 0)
        group = self._args[name]
        if index >= len(group):
            raise GraphError(f"argument {name!r} has {len(group)} tensors, number {index} is asked")
        return group[index]

    def _output_index(self, name: str, node: Node, output: int | str) -> int:
        if isinstance(output, int):
            return output
        label, _, index = output.rpartition(":")
        results = self._results_of.get(name)
        if results is None:
            start = node.op.output_slice(label, node.attrs).start
            return int(start) + int(index)
        at = 0
        for result, count in results:
            if result == label:
                return at + int(index)
            at += count
        raise GraphError(f"the function that {name!r} calls has no result {label!r}")

    def result(self, text: str) -> Endpoint:
        """What a result of the function names.

        Raises:
            GraphError: the body has no such thing.
        """
        key = parse_body_output(text)
        if key[0] in self._args:
            return self._arg_end(*key)
        node = self.made.get(key[0])
        if node is None:
            raise GraphError(f"function {self._function!r} has no node {key[0]!r}, its result")
        end = Endpoint(node.name, self._output_index(key[0], node, key[1]))
        if end.index >= len(node.outputs):
            raise GraphError(
                f"{text!r} does not exist: {node.name!r} has {len(node.outputs)} outputs"
            )
        return end

    def _common(self, d: NodeDef, types: Sequence[TensorType]) -> tuple[_Shared, AttrValue | None]:
        """Op and attributes; and the shapes that the file states, None where it does not."""
        key: list[Any] | None = [d.op]
        stated = None
        attr = d.attr
        for name in attr:  # items() of such a mapping is slower
            value = attr[name]
            if name == SHAPES:
                stated = read_undeclared({name: value}, self._bindings).get(name)
                continue
            if key is None:
                continue
            field = value.WhichOneof("value")
            if field in _SCALAR_FIELDS:
                key += (name, field, getattr(value, field))
            elif field == "shape" or (field == "list" and not value.list.func):
                key += (name, field, value.SerializeToString(deterministic=True))
            else:
                key = None  # tensors and functions are mostly different ones
        shared = None if key is None else self._shared.get(full := tuple(key))
        if shared is None:
            shared = self._decoded(d, types)
            if key is not None and d.name not in self._results_of:
                shared = self._shared[full] = shared._replace(is_common=True)
        got = tuple([t.dtype for t in types])
        if got != shared.inputs:
            _check_inputs(shared, got)
        return shared, stated

    def _decoded(self, d: NodeDef, types: Sequence[TensorType]) -> _Shared:
        is_known = known(d.op) and (self._internal or not d.op.startswith("_"))
        if not is_known and d.op in self._instances:
            return self._called(d, types)
        if not is_known:
            raise NotFoundError(
                f"no op is called {d.op!r}", do="register it, or check the name of the op"
            )
        op = lookup(d.op)
        attrs = read_attrs(op, d.attr, self._bindings, (self._producer_ops or {}).get(d.op))
        for name, declared in op.attrs.items():
            if name not in attrs:
                if declared.default is REQUIRED:
                    raise GraphError(f"{op.name} needs the attribute {name!r}")
                attrs[name] = declared.default
        for name, value in attrs.items():
            if isinstance(value, FuncRef):
                attrs[name] = self._instances.instance(value)
            elif isinstance(value, tuple) and any(isinstance(v, FuncRef) for v in value):
                attrs[name] = tuple(map(self._instances.instance, value))
        if op.name in CALLS:
            self._instances.called.add(attrs["f"].name)
        if op.name == "Placeholder" and self._producer < _SCALARS_SAID and attrs["shape"] == ():
            attrs["shape"] = None
        if op.name == "Const":
            attrs["value"] = checked_constant(attrs["value"], attrs["dtype"])
        if self._rename is not None and "_class" in attrs:
            attrs["_class"] = tuple(map(self._moved_group, attrs["_class"]))
        groups = op.grouped([t.dtype for t in types], attrs)
        full = op.completed(groups, attrs)
        return _Shared(op, full, op.input_dtypes(full))

    def _moved_group(self, group: bytes) -> bytes:
        assert self._rename is not None
        if not group.startswith(b"loc:@"):
            return group
        name = group[5:].decode(errors="surrogateescape")
        return b"loc:@" + self._rename(name).encode(errors="surrogateescape")

    def _called(self, d: NodeDef, types: Sequence[TensorType]) -> _Shared:
        """A node whose op is a function: a call of it."""
        messages = {k: v for k, v in d.attr.items() if k != SHAPES}
        given = read_undeclared(messages, self._bindings)
        own = {k: given.pop(k) for k in list(given) if k.startswith("_")}
        ref = self._instances.instance(FuncRef(d.op, tuple(sorted(given.items()))))
        self._instances.called.add(ref.name)
        takes, gives, named, stateful = self._instances.call_types(ref)
        op = lookup("StatefulPartitionedCall" if stateful else "PartitionedCall")
        if len(types) != len(takes):
            raise GraphError(f"function {d.op!r} takes {len(takes)} inputs, got {len(types)}")
        attrs = op.completed(
            [[t.dtype for t in types]], {"f": ref, "Tin": takes, "Tout": gives, **own}
        )
        self._results_of[d.name] = named
        return _Shared(op, attrs, op.input_dtypes(attrs))

    def _stated(
        self, name: str, outputs: tuple[TensorType, ...], stated: AttrValue
    ) -> tuple[TensorType, ...]:
        """Output types with the shapes that the file states; where they disagree ours win."""
        if not isinstance(stated, tuple) or len(stated) != len(outputs):
            return outputs
        out = []
        for index, (type_, shape) in enumerate(zip(outputs, stated, strict=True)):
            try:
                both = merged(type_.shape, shape)
            except ShapeError:
                if type_.dtype.base not in (resource, variant):
                    # TensorFlow gives handles the shape [2] of the pairs of text they once were
                    warned(
                        f"the graph states the shape {shape_text(shape)} for {name}:{index}, which "
                        f"is {type_}; what is stated is ignored"
                    )
                both = type_.shape
            out.append(
                self._types.shared(type_ if both == type_.shape else TensorType(type_.dtype, both))
            )
        return tuple(out)


_new = tuple.__new__  # what Node(...) and Endpoint(...) come down to, without the call in between


def _constant(d: NodeDef) -> Attrs | None:
    """Attributes of a `Const` that has its own two and nothing else, as nearly all are.

    None for another one, and for one that is wrong.
    """
    given = d.attr
    if len(given) != 2 or "value" not in given or "dtype" not in given:
        return None
    proto = given["value"].tensor
    if not proto.dtype or proto.dtype != given["dtype"].type:
        return None
    try:
        if is_truncated(proto):
            return None
        return constant_attrs(decode(proto), from_enum(proto.dtype))
    except GraphvmError:
        return None


def read_attrs(
    op: OpDef,
    messages: Mapping[str, Any],
    bindings: Bindings | None = None,
    producer: OpDefProto | None = None,
) -> dict[str, AttrValue]:
    """Attributes of a node as the file gives them, without defaults.

    Args:
        op: what declares their kinds; those that it does not know are kept.
        messages: AttrValue by name.
        bindings: what placeholders stand for.
        producer: the declaration of the program that wrote the file: what we do not know is
            dropped where it has the default there.

    Raises:
        GraphError: one is of another kind than declared.
    """
    defaults = {}
    if producer is not None:
        defaults = {a.name: a.default_value for a in producer.attr if a.HasField("default_value")}
    out: dict[str, AttrValue] = {}
    for name, message in messages.items():
        if name == SHAPES and not op.internal:
            continue
        declared = op.attrs.get(name)
        if declared is None:
            if name in defaults and defaults[name] == message:
                continue
            out |= read_undeclared({name: message}, bindings)
            continue
        try:
            out[name] = read_attr(message, declared.kind, bindings)
        except GraphError as error:
            raise GraphError(f"attribute {name!r} of {op.name}: {error.what}") from None
    return out


def _check_inputs(shared: _Shared, got: Sequence[DType]) -> None:
    name, wants = shared.op.name, shared.inputs
    if len(wants) != len(got):
        raise GraphError(f"{name} takes {len(wants)} inputs, got {len(got)}")
    for at, (want, dtype) in enumerate(zip(wants, got, strict=True)):
        if dtype.base is not want.base or (want.is_ref and not dtype.is_ref):
            raise GraphError(f"{name} takes {want.name} as input {at}, got {dtype.name}")


class _NotYet(Exception):
    """An input is a node further down in the file."""


def _device(name: str, text: str) -> DeviceSpec:
    try:
        return parsed(text)
    except GraphError as error:
        warned(f"the device of {name!r} is ignored: {error.what}")
        return ANY


def _as_import_error(error: GraphvmError) -> GraphvmError:
    # What is wrong in a file is a ValueError, also where it is a type, as in TensorFlow.
    if isinstance(error, DTypeError):
        return GraphError(error.what, do=error.do)
    return error
