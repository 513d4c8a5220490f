"""Attribute values and AttrValue messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import GraphError, GraphvmError, InvalidArgumentError, clipped
from graphvm_runtime.ir.graphdef.tensor_proto import (
    decode,
    encode,
    encode_into,
    is_truncated,
    shape_of_proto,
    shape_proto,
)
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.protos.attr_value_pb2 import AttrValue as AttrProto
from graphvm_runtime.protos.attr_value_pb2 import NameAttrList
from graphvm_runtime.protos.tensor_pb2 import TensorProto
from graphvm_runtime.shapes import Shape, TensorType, shape_text

# Values for the attributes of a function, by name, while its body is read.
Bindings: TypeAlias = Mapping[str, AttrValue]

# Field of the message -> kind of a declared attribute.
KINDS = {
    "s": "string", "i": "int", "f": "float", "b": "bool", "type": "type", "shape": "shape",
    "tensor": "tensor", "func": "func",
}  # fmt: skip
_FIELDS = {kind: field for field, kind in KINDS.items()}
_TENSOR_TYPE = "_TensorType"  # stands for a TensorType in messages that never become files


class UnreadableTensor:
    """A tensor attribute whose message does not say a tensor: an error only where it is used.

    Attributes:
        proto: the message.
        error: why it cannot be read.
    """

    __slots__ = ("error", "proto")

    # Enough of an array for shape functions: nothing is known of the elements.
    dtype = np.dtype(object)

    def __init__(self, proto: TensorProto, error: GraphvmError) -> None:
        self.proto = proto
        self.error = error

    @property
    def shape(self) -> Shape:
        """The shape that the message claims, None where that is no whole shape."""
        shape = shape_of_proto(self.proto.tensor_shape)
        return None if shape is None or None in shape else shape

    def decode(self) -> Array:
        """The whole array. Raises the error that says why there is none."""
        raise copy(self.error)  # several nodes may have the tensor

    def __repr__(self) -> str:
        return f"<unreadable tensor: {self.error.what}>"


class TruncatedTensor(UnreadableTensor):
    """A tensor attribute that is far larger than its message: written out where it is used."""

    __slots__ = ()

    def __init__(self, proto: TensorProto) -> None:
        super().__init__(proto, InvalidArgumentError("the tensor is written out when it is used"))

    def decode(self) -> Array:
        """The whole array. Raises ResourceExhaustedError where there is no memory for it."""
        return decode(self.proto)


def read_tensor(proto: TensorProto) -> Array | UnreadableTensor:
    """The array of a message, or a placeholder for one that cannot be read, or not yet.

    Raises:
        GraphError: its shape is none, or not known whole.
    """
    try:
        if is_truncated(proto):
            return TruncatedTensor(proto)
        return decode(proto)
    except GraphvmError as error:
        shape = shape_of_proto(proto.tensor_shape)
        if shape is not None and None in shape:
            raise GraphError(
                f"the shape {shape_text(shape)} of a tensor by value is not known whole"
            ) from None
        return UnreadableTensor(proto, error)


def checked_constant(value: Any, dtype: DType) -> Any:
    """The value of a `Const` of that type; what is not of it is an error only when it runs."""
    if isinstance(value, UnreadableTensor) or not isinstance(value, np.ndarray):
        return value
    found = dtypes.from_numpy(value.dtype)
    if found is dtype.base or (dtype.is_quantized and value.dtype == dtype.numpy):
        return value
    error = InvalidArgumentError(
        f"the constant is declared as {dtype.name}, but its value is {found.name}"
    )
    return UnreadableTensor(encode(value), error)


def _read_func(proto: NameAttrList, bindings: Bindings) -> FuncRef:
    return FuncRef(
        proto.name, tuple((k, read_attr(proto.attr[k], "", bindings)) for k in sorted(proto.attr))
    )


def _one(field: str, bindings: Bindings) -> Callable[[Any], AttrValue]:
    if field == "type":
        return dtypes.from_enum
    if field == "shape":
        return shape_of_proto
    if field == "tensor":
        return read_tensor
    if field == "func":
        return lambda proto: _read_func(proto, bindings)
    return lambda value: value


_PLAIN = frozenset("sifb")

# Attributes that a node may have beside those of its op, with their kinds: hints, which count only
# where they are of that kind.
_HINTS = {
    "_class": "list(string)",
    "_counter": "int",
    "_family": "string",
    "_gradient_op_type": "string",
    "_handle_type": "tensor type",
    "_order": "int",
    "_output_shapes": "list(shape)",
    "_path": "list(string)",
    "_trips": "int",
}


def read_undeclared(
    messages: Mapping[str, AttrProto], bindings: Bindings | None = None
) -> dict[str, AttrValue]:
    """Values of attributes that an op does not declare, without hints of a wrong kind.

    Raises:
        GraphError: a placeholder stands for nothing.
    """
    out: dict[str, AttrValue] = {}
    for name, message in messages.items():
        kind = _HINTS.get(name)
        if kind is not None and kind.startswith("list("):
            filled = {field.name for field, _ in message.list.ListFields()}
            if message.WhichOneof("value") != "list" or filled - {_FIELDS[kind[5:-1]]}:
                continue
        value = as_tensor_type(read_attr(message, "", bindings))
        if kind is None or kind.startswith("list(") or kind_of(value) == kind:
            out[name] = value
    return out


def read_attr(proto: AttrProto, kind: str = "", bindings: Bindings | None = None) -> AttrValue:
    """The value of a message.

    Args:
        proto: the message.
        kind: of the declared attribute; empty for one that is not declared.
        bindings: what placeholders stand for.

    Raises:
        GraphError: it is of another kind than declared, or a placeholder stands for nothing.
    """
    field = proto.WhichOneof("value")
    if field in _PLAIN:
        if kind and kind != KINDS[field]:
            raise _kind_error(KINDS[field], kind)
        return getattr(proto, field)
    if field == "type":
        if kind and kind != "type":
            raise _kind_error("type", kind)
        return dtypes.from_enum(proto.type)
    if field == "placeholder":
        if bindings is None or proto.placeholder not in bindings:
            raise GraphError(f"nothing is given for the function's attribute {proto.placeholder!r}")
        return bindings[proto.placeholder]
    if field is None:
        if kind.startswith("list("):
            return ()  # an empty list may be written as nothing at all
        if not kind:
            return ()
        raise GraphError(f"the attribute has no value, a {kind} is expected")
    bound = bindings or {}
    if field == "list":
        return _read_list(proto.list, kind, bound)
    if kind and kind != KINDS[field]:
        raise _kind_error(KINDS[field], kind)
    return _one(field, bound)(getattr(proto, field))


def _read_list(proto: AttrProto.ListValue, kind: str, bindings: Bindings) -> tuple[AttrValue, ...]:
    filled = [(field.name, values) for field, values in proto.ListFields()]
    if not filled:
        if kind and not kind.startswith("list("):
            raise _kind_error("list", kind)
        return ()
    field, values = filled[0]
    found = f"list({KINDS[field]})"
    if kind and kind != found:
        raise _kind_error(found, kind)
    return tuple(map(_one(field, bindings), values))


def _kind_error(found: str, kind: str) -> GraphError:
    return GraphError(f"the attribute is a {found}, a {kind} is expected")


def kind_of(value: AttrValue) -> str:
    """The kind of a value whose attribute is not declared; a list by its first item."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    if isinstance(value, (bytes, str)):
        return "string"
    if isinstance(value, DType):
        return "type"
    if isinstance(value, (np.ndarray, np.generic, UnreadableTensor)):
        return "tensor"
    if isinstance(value, FuncRef):
        return "func"
    if value is None:
        return "shape"
    if isinstance(value, TensorType):
        return "tensor type"
    if isinstance(value, tuple):
        if not value:
            return "list(int)"
        kinds = {kind_of(v) for v in value}
        if kinds == {"int"}:
            return "list(int)"
        if len(kinds) == 1:
            (kind,) = kinds
            return "list(shape)" if kind.startswith("list(") else f"list({kind})"
        if kinds <= {"int", "shape", "list(int)", "list(shape)"}:
            return "list(shape)" if kinds & {"list(int)", "list(shape)"} else "shape"
    raise GraphError(f"{clipped(value)} is no value of an attribute")


def write_attr(value: AttrValue, kind: str = "") -> AttrProto:
    """The message of a value.

    Args:
        value: in the runtime's form.
        kind: of the declared attribute; empty for one that is not declared.

    Raises:
        GraphError: it is no value of that kind.
    """
    proto = AttrProto()
    write_attr_into(proto, value, kind)
    return proto


def write_attr_into(proto: AttrProto, value: AttrValue, kind: str = "") -> None:
    """As `write_attr`, into an empty message."""
    kind = kind or kind_of(value)
    if kind.startswith("list("):
        field = _FIELDS[kind[5:-1]]
        proto.list.SetInParent()
        getattr(proto.list, field).extend([_message(v, field) for v in value])
    elif kind == "tensor type":
        proto.func.name = _TENSOR_TYPE
        proto.func.attr["dtype"].type = value.dtype.enum
        proto.func.attr["shape"].shape.CopyFrom(shape_proto(value.shape))
    elif kind == "tensor" and not isinstance(value, UnreadableTensor):
        encode_into(proto.tensor, value)
    else:
        field = _FIELDS[kind]
        made = _message(value, field)
        if kind in ("shape", "tensor", "func"):
            getattr(proto, field).CopyFrom(made)
        else:
            setattr(proto, field, made)


def _message(value: AttrValue, field: str) -> Any:
    if field == "type":
        return value.enum
    if field == "shape":
        return shape_proto(value)
    if field == "tensor":
        return value.proto if isinstance(value, UnreadableTensor) else encode(value)
    if field == "func":
        made = NameAttrList(name=value.name)
        for name, inner in value.attrs:
            write_attr_into(made.attr[name], inner)
        return made
    if field == "s":
        return value.encode() if isinstance(value, str) else value
    return value


def as_tensor_type(value: AttrValue) -> AttrValue:
    """What `write_attr` made of a TensorType, as one again; anything else as it is."""
    if isinstance(value, FuncRef) and value.name == _TENSOR_TYPE:
        fields = dict(value.attrs)
        return TensorType(fields["dtype"], fields["shape"])
    return value


def face_of_attr(value: AttrValue, kind: str = "") -> Any:
    """A value as `Operation.get_attr` of TensorFlow gives it: types as types, the rest as messages.

    Source: `tf.Operation.get_attr`.
    """
    kind = kind or kind_of(value)
    if kind.startswith("list("):
        return [face_of_attr(v, kind[5:-1]) for v in value]
    if kind in ("shape", "tensor", "func"):
        return _message(value, _FIELDS[kind])
    return value
