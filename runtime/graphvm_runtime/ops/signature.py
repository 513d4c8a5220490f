"""Signatures of ops: inputs, outputs and attributes, and the notation that they are written in.

    MaxPool(input: T) -> (output: T) attrs T: type in {reals} = float32; ksize: list(int) >= 4
    AddN(inputs: N*T) -> (sum: T) attrs N: int >= 1; T: type in {numbers,variant} [commutative]
    Assign(ref: ref T, value: T) -> (output_ref: ref T) attrs T: type

`N*T` is N tensors of type T, `*Tlist` a tensor for each type in Tlist, `ref T` a reference. An
attribute has a kind, the values that it may take (`in {...}`), the least value or length (`>=`)
and a default (`=`, `?` for an unknown shape); sets of types may be named, such as `reals`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType, as_dtype
from graphvm_runtime.shapes import Shape


@dataclass(frozen=True, slots=True)
class FuncRef:
    """An attribute that names a function, with the attributes that instantiate it."""

    name: str
    attrs: tuple[tuple[str, Any], ...] = ()


# int, float, bool, bytes, DType, Shape, Array, FuncRef, and tuples of them
AttrValue: TypeAlias = Any
Attrs: TypeAlias = Mapping[str, AttrValue]

REQUIRED: Final = object()  # default of an attribute that must be given


class Arg(NamedTuple):
    """One declared input or output.

    Exactly one of `dtype`, `type_attr`, `list_attr` is set; `number_attr` repeats the first two.
    """

    name: str
    dtype: DType | None = None
    type_attr: str = ""
    list_attr: str = ""
    number_attr: str = ""
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        """Whether it stands for any number of tensors."""
        return bool(self.list_attr or self.number_attr)

    def count(self, attrs: Attrs) -> int:
        """Number of the tensors that it stands for; in a file it may be any."""
        if self.list_attr:
            return len(attrs[self.list_attr])
        return attrs[self.number_attr] if self.number_attr else 1

    def dtypes(self, attrs: Attrs) -> tuple[DType, ...]:
        """Types of the tensors that it stands for under these attributes."""
        if self.list_attr:
            return tuple(attrs[self.list_attr])
        dtype: DType = self.dtype or attrs[self.type_attr]
        if self.is_ref:
            dtype = dtype.ref
        return (dtype,) * self.count(attrs)


class AttrDef(NamedTuple):
    """One declared attribute.

    Attributes:
        kind: `type int float bool string shape tensor func`, or `list(...)` of one.
        default: `REQUIRED` when it must be given or follows from the inputs.
        allowed: the values it may take; None means any.
        minimum: least value of an int, least length of a list.
    """

    kind: str
    default: AttrValue = REQUIRED
    allowed: tuple[AttrValue, ...] | None = None
    minimum: int | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """What an op takes and gives.

    Attributes:
        flags: `stateful`, `commutative` and the like; words that TensorFlow's registry has.
        deprecated: the version of producers from which on the op is not to be used; None: never.
    """

    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: Mapping[str, AttrDef]
    flags: frozenset[str] = frozenset()
    deprecated: int | None = None


_LINE = re.compile(
    r"(?P<name>\w+)\((?P<inputs>.*?)\) -> \((?P<outputs>.*?)\)"
    r"(?: attrs (?P<attrs>.*?))?(?: \[(?P<flags>[a-z][a-z ,0-9-]*)\])?"
)
_ATTR = re.compile(
    r"(?P<name>\w+): (?P<kind>[\w()]+)(?: in \{(?P<allowed>.*?)\})?(?: >= (?P<minimum>-?\d+))?"
    r"(?: = (?P<default>.*))?"
)
_DEPRECATED = re.compile(r"deprecated at producer (\d+)")
_GROUPS: Final[Mapping[str, tuple[DType, ...]]] = {
    "floats": dtypes.FLOATS,
    "complex": dtypes.COMPLEX,
    "signed": dtypes.SIGNED,
    "unsigned": dtypes.UNSIGNED,
    "integers": dtypes.INTEGERS,
    "reals": dtypes.REALS,
    "numbers": dtypes.NUMBERS,
    "quantized": dtypes.QUANTIZED,
    "indices": dtypes.INDICES,
}


def parse(line: str) -> Signature:
    """The signature that a line of the notation writes.

    Raises:
        ValueError: it is not in the notation.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"not the signature of an op: {line!r}")
    attrs: dict[str, AttrDef] = {}
    for text in (found["attrs"] or "").split("; ") if found["attrs"] else ():
        name, declared = _attr(text)
        attrs[name] = declared
    flags = found["flags"] or ""
    deprecated = _DEPRECATED.search(flags)
    return Signature(
        found["name"],
        parse_args(found["inputs"], attrs),
        parse_args(found["outputs"], attrs),
        MappingProxyType(attrs),
        frozenset(_DEPRECATED.sub("", flags).split()),
        None if deprecated is None else int(deprecated[1]),
    )


def _attr(text: str) -> tuple[str, AttrDef]:
    found = _ATTR.fullmatch(text)
    if found is None:
        raise ValueError(f"not an attribute: {text!r}")
    kind, allowed, least = found["kind"], found["allowed"], found["minimum"]
    element = kind[5:-1] if kind.startswith("list(") else kind
    default = REQUIRED if found["default"] is None else _value(kind, found["default"])
    return found["name"], AttrDef(
        kind,
        default,
        None if allowed is None else _allowed(element, allowed),
        int(least) if least else None,
    )


def _allowed(kind: str, text: str) -> tuple[AttrValue, ...]:
    if kind != "type":
        return tuple(_value(kind, part) for part in text.split(","))
    return tuple(t for part in text.split(",") for t in _GROUPS.get(part) or (as_dtype(part),))


def _value(kind: str, text: str) -> AttrValue:
    if kind.startswith("list("):
        inner = text.strip("[]")
        return tuple(_value(kind[5:-1], part) for part in inner.split(",")) if inner else ()
    if kind == "type":
        return as_dtype(text)
    if kind == "shape":
        return _shape(text)
    if kind == "string":
        found: bytes = ast.literal_eval(f"b{text}")
        return found
    if kind == "bool":
        return text == "true"
    return float(np.float32(text)) if kind == "float" else int(text)  # a float of 32 bits in files


def _shape(text: str) -> Shape:
    inner = text.strip("[]")
    if text == "?":
        return None
    return tuple(None if d == "?" else int(d) for d in inner.split(",")) if inner else ()


def parse_args(text: str, attrs: Mapping[str, AttrDef]) -> tuple[Arg, ...]:
    """The inputs or outputs that a signature lists. Raises DTypeError for an unknown type."""
    out = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, kind = (p.strip() for p in part.partition(":"))
        is_ref = kind.startswith("ref ")
        kind = kind.removeprefix("ref ")
        number, star, type_ = kind.rpartition("*")
        if star and not number:
            out.append(Arg(name, list_attr=type_))
        elif type_ in attrs:
            out.append(Arg(name, type_attr=type_, number_attr=number, is_ref=is_ref))
        else:
            out.append(Arg(name, dtype=as_dtype(type_), number_attr=number, is_ref=is_ref))
    return tuple(out)


def types(*allowed: DType, default: AttrValue = REQUIRED) -> AttrDef:
    """A type attribute; no `allowed` means any type."""
    return AttrDef("type", default, tuple(allowed) or None)


def type_list(default: AttrValue = REQUIRED, minimum: int | None = None) -> AttrDef:
    """A list of types."""
    return AttrDef("list(type)", default, None, minimum)


def integer(default: AttrValue = REQUIRED, minimum: int | None = None) -> AttrDef:
    """An int attribute."""
    return AttrDef("int", default, None, minimum)


def boolean(default: AttrValue = REQUIRED) -> AttrDef:
    """A bool attribute."""
    return AttrDef("bool", default)


def real(default: AttrValue = REQUIRED) -> AttrDef:
    """A float attribute."""
    return AttrDef("float", default)


def text(default: AttrValue = REQUIRED, allowed: tuple[bytes, ...] | None = None) -> AttrDef:
    """A string attribute; values are bytes."""
    return AttrDef("string", default, allowed)


def shape_attr(default: AttrValue = REQUIRED) -> AttrDef:
    """A shape attribute."""
    return AttrDef("shape", default)


def tensor_attr(default: AttrValue = REQUIRED) -> AttrDef:
    """A tensor attribute; values are arrays."""
    return AttrDef("tensor", default)


def function_attr(default: AttrValue = REQUIRED) -> AttrDef:
    """A function attribute; values are `FuncRef`."""
    return AttrDef("func", default)


def list_of(kind: str, default: AttrValue = REQUIRED, minimum: int | None = None) -> AttrDef:
    """A list attribute of `int float bool string shape tensor func`; values are tuples."""
    return AttrDef(f"list({kind})", default, None, minimum)
