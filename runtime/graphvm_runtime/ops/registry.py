"""The instruction set as data: what an op is called, takes, gives and promises.

A declaration says what an op *is*. What computes it is in `kernels/`, how it is differentiated in
`graphvm/rules/`, each in the file of the same family name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import wraps
from types import MappingProxyType
from typing import Any, Concatenate, Final, NamedTuple, ParamSpec, Protocol, TypeAlias

from graphvm_runtime.dtypes import Array, DType, as_dtype
from graphvm_runtime.errors import DTypeError, GraphError, clipped
from graphvm_runtime.shapes import Dim, Shape, TensorType


@dataclass(frozen=True, slots=True)
class FuncRef:
    """An attribute that names a function, with the attributes that instantiate it."""

    name: str
    attrs: tuple[tuple[str, Any], ...] = ()


# int, float, bool, bytes, DType, Shape, Array, FuncRef, and tuples of them
AttrValue: TypeAlias = Any
Attrs: TypeAlias = Mapping[str, AttrValue]
# What is known of a small integer tensor while building: a scalar, a vector, or nothing.
Value: TypeAlias = Dim | tuple[Dim, ...]

LONGEST_VALUE = 1024  # elements of a vector whose value is known while building
MOST_TENSORS = 2**16  # of one list of outputs: a file's number must not decide more


class Effects(IntFlag):
    """What an op does besides computing its outputs; passes ask for these, never for names."""

    PURE = 0
    STATEFUL = 1  # never folded, merged, duplicated, nor reordered against control edges
    BLOCKING = 2  # may wait for another op, step or process
    HOST = 4  # touches files, the network or the user's own code
    RANDOM = 8  # draws from a stream of the session
    READS = 16  # with STATEFUL: looks at state and leaves it as it is, so it may be left out
    TRACE = 32  # with STATEFUL: leaves something to be seen, though it has outputs
    QUIET = 64  # with STATEFUL: leaves nothing to be seen, though it has no outputs


PURE = Effects.PURE
STATEFUL = Effects.STATEFUL
BLOCKING = Effects.STATEFUL | Effects.BLOCKING
HOST = Effects.STATEFUL | Effects.HOST
RANDOM = Effects.STATEFUL | Effects.RANDOM
READS = Effects.STATEFUL | Effects.READS
TRACE = Effects.STATEFUL | Effects.TRACE
QUIET = Effects.STATEFUL | Effects.QUIET


class Trait(IntFlag):
    """What an op promises to passes about its meaning; its effects say what they may not do."""

    NONE = 0
    REMATERIALISABLE = 1  # takes nothing and costs nothing: made anew wherever it is used
    PLACELESS = 2  # is on no device of its own
    TYPE_ONLY = 4  # its value function says all of its value, from the types of its inputs
    SAME_TYPE_IDENTITY = 8  # output 0 is input 0 where both have one fully known type
    VARIABLE = 16  # gives a variable's reference or handle, by its shared name
    OUTSIDE = 32  # its value comes from whoever runs the graph


class Region(NamedTuple):
    """How an op runs functions: which, and over which of its inputs.

    Attributes:
        bodies: attributes that name the functions, in their order.
        first: how many inputs come before the functions' arguments: a predicate, an index.
        types: the attribute that lists the types of the arguments.
    """

    bodies: tuple[str, ...]
    first: int = 0
    types: str = "Tin"


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


class Resolver(Protocol):
    """Answers what shape functions may ask of a node's inputs."""

    def value(self, index: int) -> Value | None:
        """Partial value of a small integer input, None when nothing is known."""

    def constant(self, index: int) -> Array | None:
        """The whole value of an input that is constant, None otherwise."""

    def handle(self, index: int) -> TensorType | None:
        """Type of what a resource input holds, None when it is not known."""


class _Nothing:
    """Resolver of a caller that knows no values."""

    def value(self, index: int) -> Value | None:
        return None

    def constant(self, index: int) -> Array | None:
        return None

    def handle(self, index: int) -> TensorType | None:
        return None


NOTHING: Final = _Nothing()


class ShapeContext:
    """What a shape function sees of a node: input shapes, attributes, and small values."""

    __slots__ = ("attrs", "dtypes", "op", "resolver", "shapes")

    def __init__(
        self,
        op: OpDef,
        shapes: Sequence[Shape],
        attrs: Attrs,
        resolver: Resolver = NOTHING,
        dtypes: Sequence[DType] = (),
    ) -> None:
        self.op = op
        self.shapes = shapes
        self.attrs = attrs
        self.resolver = resolver
        self.dtypes = dtypes

    def vector(self, index: int) -> tuple[Dim, ...] | None:
        """Input `index` as a shape; of unknown dimensions where only its length is known."""
        value = self.resolver.value(index)
        if isinstance(value, tuple):
            return value
        shape = self.shapes[index]
        if shape is not None and len(shape) == 1 and shape[0] is not None:
            return (None,) * shape[0] if shape[0] <= LONGEST_VALUE else None
        return None

    def scalar(self, index: int) -> int | None:
        """Input `index` as an integer, also when it is a vector of one."""
        value = self.resolver.value(index)
        if isinstance(value, tuple):
            return value[0] if len(value) == 1 else None
        return value

    def integers(self, index: int) -> tuple[int, ...] | None:
        """Input `index` as integers, all of them known; a scalar gives one."""
        value = self.resolver.value(index)
        if isinstance(value, int):
            return (value,)
        if isinstance(value, tuple) and None not in value:
            return value  # type: ignore[return-value]  # no None inside, checked above
        return None

    def constant(self, index: int) -> Array | None:
        """The whole value of a constant input of any type."""
        return self.resolver.constant(index)

    def handle(self, index: int) -> TensorType | None:
        """Type of what the resource input holds."""
        return self.resolver.handle(index)


ShapeFn: TypeAlias = Callable[[ShapeContext], Sequence[Shape]]
ValueFn: TypeAlias = Callable[[ShapeContext], "Value | None"]
EffectsFn: TypeAlias = Callable[[Attrs], Effects]
HandleFn: TypeAlias = Callable[[ShapeContext, int], "TensorType | None"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class OpDef:
    """Declaration of an op.

    Attributes:
        name: TensorFlow's name.
        shape: output shapes from input shapes, attributes and small values.
        value: partial value of output 0; only small integer ops that shapes depend on have it.
        handle: type of what lies behind a resource or variant output: of a variable's value, of a
            list's elements.
        effects: what passes may not do with it, whatever its attributes.
        effects_by: the effects that depend on its attributes; see `effects_of`.
        commutative: inputs may be swapped.
        forwards: output i is input i, unchanged; there are as many of both.
        traits: what passes may do with it.
        collects: which input a list takes in as its elements; None where it is no such op.
        region: the functions that it runs; None where it runs none.
        on_handles: the op that does to a resource what this one does to a reference; empty where
            that has the same name behind `Resource` or `_`, or there is none.
        internal: never written to files.
        family: the file here that declares it, `math.elementwise`; kernels are first looked for in
            the file of that name; empty for a user's own op.
        constraints: numbered rules that the shape function checks, quoted in its errors.
    """

    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    attrs: Mapping[str, AttrDef]
    shape: ShapeFn
    value: ValueFn | None = None
    handle: HandleFn | None = None
    effects: Effects = PURE
    effects_by: EffectsFn | None = None
    commutative: bool = False
    forwards: bool = False
    traits: Trait = Trait.NONE
    collects: int | None = None
    region: Region | None = None
    on_handles: str = ""
    internal: bool = False
    family: str = ""
    constraints: tuple[str, ...] = ()
    doc: str = ""
    is_stateful: bool = False  # from `effects`: passes must leave each node of it alone
    is_blocking: bool = False  # from `effects`: running a node may wait for others

    def __repr__(self) -> str:
        return f"<OpDef {self.name}>"

    def effects_of(self, attrs: Attrs) -> Effects:
        """What passes may not do with a node of these attributes."""
        if self.effects_by is None:
            return self.effects
        return self.effects | self.effects_by(attrs)

    def completed(self, groups: Sequence[Sequence[DType]], given: Attrs) -> Attrs:
        """All attributes of a node: those given, those that follow from input types, defaults.

        Args:
            groups: one sequence of types for each declared input.
            given: attributes by name; unknown ones (`_class`, ...) are kept.

        Raises:
            DTypeError: input types do not fit the declaration.
            GraphError: an attribute is missing or has a value that is not allowed.
        """
        attrs = dict(given)
        for arg, types in zip(self.inputs, groups, strict=True):
            if arg.number_attr:
                attrs.setdefault(arg.number_attr, len(types))
            if arg.list_attr:
                attrs.setdefault(arg.list_attr, tuple(t.base for t in types))
            elif arg.type_attr and types:
                attrs.setdefault(arg.type_attr, types[0].base)
        for name, declared in self.attrs.items():
            if name not in attrs:
                if declared.default is REQUIRED:
                    raise GraphError(f"{self.name} needs the attribute {name!r}")
                attrs[name] = declared.default
            elif declared.allowed is not None or declared.minimum is not None:
                self._check_attr(name, declared, attrs[name])
        for arg, types in zip(self.inputs, groups, strict=True):
            self._check_types(arg, types, attrs)
        return MappingProxyType(attrs)

    def _check_types(self, arg: Arg, types: Sequence[DType], attrs: Attrs) -> None:
        count = arg.count(attrs)
        if count != len(types):
            raise GraphError(
                f"{self.name} takes {count} tensors for {arg.name!r}, got {len(types)}"
            )
        for want, got in zip(arg.dtypes(attrs), types, strict=True):
            if want.base is not got.base:
                raise DTypeError(
                    f"{self.name} takes {want.base.name} for {arg.name!r}, got {got.name}",
                    do="convert it with cast",
                )
            if arg.is_ref and not got.is_ref:
                raise DTypeError(
                    f"{self.name} takes a reference for {arg.name!r}, got a value of {got.name}",
                    do="pass the variable itself",
                )

    def _check_attr(self, name: str, declared: AttrDef, value: AttrValue) -> None:
        many = declared.kind.startswith("list(")
        counts_outputs = any(name == arg.number_attr for arg in self.outputs)
        if declared.kind == "int" and counts_outputs and value > MOST_TENSORS:
            raise GraphError(
                f"{name} of {self.name} must be at most {MOST_TENSORS}, got {value}: it is a "
                "number of outputs"
            )
        if declared.allowed is not None:
            for each in value if many else (value,):
                if each not in declared.allowed:
                    allowed = ", ".join(getattr(a, "name", repr(a)) for a in declared.allowed)
                    shown = getattr(each, "name", clipped(each))
                    kind = DTypeError if isinstance(each, DType) else GraphError
                    raise kind(f"{self.name} does not take {name} = {shown}; allowed: {allowed}")
        if declared.minimum is not None:
            size = len(value) if many else value
            if size < declared.minimum:
                raise GraphError(f"{self.name} needs {name} >= {declared.minimum}, got {size}")

    def input_dtypes(self, attrs: Attrs) -> tuple[DType, ...]:
        """Types of all inputs, lists laid out flat."""
        return tuple(t for arg in self.inputs for t in arg.dtypes(attrs))

    def output_dtypes(self, attrs: Attrs) -> tuple[DType, ...]:
        """Types of all outputs, lists laid out flat."""
        return tuple(t for arg in self.outputs for t in arg.dtypes(attrs))

    def grouped(self, flat: Sequence[Any], attrs: Attrs) -> list[Sequence[Any]]:
        """A flat sequence of inputs, one group for each declared input.

        Raises:
            GraphError: it is too long or too short.
        """
        groups, at = [], 0
        for arg in self.inputs:
            count = arg.count(attrs)
            groups.append(flat[at : at + count])
            at += count
        if at != len(flat):
            raise GraphError(f"{self.name} takes {at} inputs, got {len(flat)}")
        return groups

    def output_slice(self, name: str, attrs: Attrs) -> slice:
        """Where the declared output `name` lies among the flat outputs. Raises GraphError."""
        at = 0
        for arg in self.outputs:
            count = arg.count(attrs)
            if arg.name == name:
                return slice(at, at + count)
            at += count
        raise GraphError(f"{self.name} has no output {name!r}")


_OPS: dict[str, OpDef] = {}
# Declared, and not looked at yet: a program uses few of the ops, and starts sooner so.
_WAITING: dict[str, Callable[[], OpDef]] = {}
_FAMILIES = f"{__name__.rpartition('.')[0]}."


def lookup(name: str) -> OpDef:
    """The declaration of an op.

    Raises:
        GraphError: there is no such op.
    """
    found = _OPS.get(name)
    if found is None:
        declared = _WAITING.get(name)
        if declared is None:
            raise GraphError(
                f"no op is called {name!r}", do="register it, or check the name of the op"
            )
        found = _OPS.setdefault(name, declared())  # two threads get the same one
    return found


def known(name: str) -> bool:
    """Whether an op of that name is declared."""
    return name in _WAITING


def has_trait(name: str, trait: Trait) -> bool:
    """Whether an op of that name is declared and has the trait."""
    return known(name) and bool(lookup(name).traits & trait)


def names() -> list[str]:
    """Names of all declared ops, sorted."""
    return sorted(_WAITING)


def define(
    name: str,
    signature: str,
    attrs: Mapping[str, AttrDef] | None = None,
    *,
    shape: ShapeFn,
    value: ValueFn | None = None,
    handle: HandleFn | None = None,
    effects: Effects = PURE,
    effects_by: EffectsFn | None = None,
    commutative: bool = False,
    forwards: bool = False,
    traits: Trait = Trait.NONE,
    collects: int | None = None,
    region: Region | None = None,
    on_handles: str = "",
    constraints: Collection[str] = (),
    doc: str = "",
) -> None:
    """Declares an op.

    Args:
        name: TensorFlow's name; a leading underscore makes it internal.
        signature: `"x: T, y: T -> z: T"`; types are names of element types or of attributes,
            `N*T` is N tensors of type T, `*Tlist` a tensor for each type in Tlist, `ref T` a
            reference.
        attrs: declared attributes.
        shape: the shape function.
        value: the value function, of small integer ops.
        handle: the type behind a resource or list output.
        effects: what passes may not do with it, whatever its attributes.
        effects_by: `effects_by(attrs)` gives more effects; STATEFUL and BLOCKING do not depend on
            attributes.
        commutative: whether inputs may be swapped.
        forwards: whether output i is input i, unchanged.
        traits: what passes may do with it.
        collects: which input a list takes in as its elements.
        region: the functions that it runs.
        on_handles: the op that does to a resource what this one does to a reference.
        constraints: numbered rules that the shape function checks.
        doc: what it computes, in one line.

    Raises:
        GraphError: the name is taken.
    """
    if name in _WAITING:
        raise GraphError(f"op {name!r} is declared already")
    module = sys._getframe(1).f_globals["__name__"]
    family = module.removeprefix(_FAMILIES) if module.startswith(_FAMILIES) else ""
    if module == __name__:  # declared from outside, by way of `at_once`
        family = ""

    def declared() -> OpDef:
        takes, _, gives = signature.partition("->")
        kinds = MappingProxyType(dict(attrs or {}))
        return OpDef(
            name=name,
            inputs=_args(takes, kinds),
            outputs=_args(gives, kinds),
            attrs=kinds,
            shape=shape,
            value=value,
            handle=handle,
            effects=effects,
            effects_by=effects_by,
            commutative=commutative,
            forwards=forwards,
            traits=traits,
            collects=collects,
            region=region,
            on_handles=on_handles,
            internal=name.startswith("_"),
            family=family,
            constraints=tuple(constraints),
            doc=doc,
            is_stateful=bool(effects & Effects.STATEFUL),
            is_blocking=bool(effects & Effects.BLOCKING),
        )

    _WAITING[name] = declared


P = ParamSpec("P")


def at_once(
    declare: Callable[Concatenate[str, P], None],
) -> Callable[Concatenate[str, P], OpDef]:
    """`define` for those who wait for its errors: a wrong declaration is refused at once."""

    @wraps(declare)
    def looked_at(name: str, /, *args: P.args, **options: P.kwargs) -> OpDef:
        declare(name, *args, **options)
        try:
            return lookup(name)
        except Exception:
            del _WAITING[name]
            raise

    return looked_at


def _args(text: str, attrs: Mapping[str, AttrDef]) -> tuple[Arg, ...]:
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


def as_value(array: Array) -> Value | None:
    """A constant as a partial value: integers of rank 0 or 1, at most `LONGEST_VALUE` of them."""
    if array.dtype.kind not in "iu" or array.ndim > 1 or array.size > LONGEST_VALUE:
        return None
    if array.ndim == 0:
        return int(array)
    return tuple(array.tolist())
