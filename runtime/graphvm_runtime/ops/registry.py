"""The instruction set as data: what an op is called, takes, gives and promises.

A declaration says what an op *is*. What computes it is in `kernels/`, how it is differentiated in
`graphvm/rules/`, each in the file of the same family name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypedDict, Unpack

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import DTypeError, GraphError, clipped
from graphvm_runtime.ops.signature import (
    REQUIRED,
    Arg,
    AttrDef,
    Attrs,
    AttrValue,
    Signature,
    parse,
    parse_args,
)
from graphvm_runtime.shapes import Dim, Shape, TensorType

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
        deprecated: the version of producers from which on graphs may not have it.
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
    deprecated: int | None = None
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


_PACKAGE = __name__.rpartition(".")[0]
_DECLARATIONS = Path(__file__).with_name("declarations.txt")
_OPS: dict[str, OpDef] = {}
# What families say of their ops, made into an OpDef when it is looked up: a program uses few.
_BINDINGS: dict[str, Callable[[], OpDef]] = {}


def _read_declarations() -> dict[str, tuple[str, str]]:
    """The family and the signature of each op, by name."""
    found, family = {}, ""
    for line in _DECLARATIONS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            family = line[1:-1]
        elif line and line[0] != "#":
            found[line.partition("(")[0]] = (family, line)
    return found


_DECLARED = _read_declarations()


def lookup(name: str) -> OpDef:
    """The declaration of an op.

    Raises:
        GraphError: there is no such op.
    """
    found = _OPS.get(name)
    if found is not None:
        return found
    if name not in _BINDINGS:
        if name not in _DECLARED:
            raise GraphError(
                f"no op is called {name!r}", do="register it, or check the name of the op"
            )
        import_module(f"{_PACKAGE}.{_DECLARED[name][0]}")
    return _OPS.setdefault(name, _BINDINGS[name]())  # two threads get the same one


def known(name: str) -> bool:
    """Whether an op of that name is declared."""
    return name in _DECLARED or name in _BINDINGS


def family_of(name: str) -> str:
    """The family that declares an op; empty for a user's own."""
    return _DECLARED[name][0] if name in _DECLARED else ""


def families() -> list[str]:
    """All families of ops, sorted."""
    return sorted({family for family, _ in _DECLARED.values()})


def has_trait(name: str, trait: Trait) -> bool:
    """Whether an op of that name is declared and has the trait."""
    return known(name) and bool(lookup(name).traits & trait)


def names() -> list[str]:
    """Names of all declared ops, sorted."""
    return sorted(_DECLARED.keys() | _BINDINGS.keys())


class Options(TypedDict, total=False):
    """What a declaration may say besides the shape function; see `OpDef`.

    `effects` defaults to STATEFUL where the signature says so, else to PURE.
    """

    value: ValueFn | None
    handle: HandleFn | None
    effects: Effects
    effects_by: EffectsFn
    forwards: bool
    traits: Trait
    collects: int
    region: Region
    on_handles: str
    doc: str


def define(*names: str, shape: ShapeFn, **options: Unpack[Options]) -> None:
    """Says of ops what `declarations.txt` does not: their shapes, effects and traits.

    Raises:
        GraphError: one is defined already, or has no signature.
    """
    for name in names:
        if name in _BINDINGS:
            raise GraphError(f"op {name!r} is declared already")
        if name not in _DECLARED:
            raise GraphError(f"op {name!r} has no signature in {_DECLARATIONS.name}")
        _BINDINGS[name] = partial(_bound, name, shape, options)


def _bound(name: str, shape: ShapeFn, options: Options) -> OpDef:
    family, line = _DECLARED[name]
    return _op_def(parse(line), family, shape, options)


def declare(
    name: str,
    signature: str,
    attrs: Mapping[str, AttrDef] | None = None,
    *,
    shape: ShapeFn,
    **options: Unpack[Options],
) -> OpDef:
    """Declares an op that is not TensorFlow's.

    Args:
        name: its name; a leading underscore makes it internal.
        signature: `"x: T, y: T -> z: T"`; types are names of element types or of attributes,
            `N*T` is N tensors of type T, `*Tlist` a tensor for each type in Tlist, `ref T` a
            reference.
        attrs: declared attributes.
        shape: the shape function.
        **options: see `OpDef`.

    Raises:
        GraphError: the name is taken.
        DTypeError: the signature names a type that there is not.
    """
    if known(name):
        raise GraphError(f"op {name!r} is declared already")
    takes, _, gives = signature.partition("->")
    kinds = MappingProxyType(dict(attrs or {}))
    read = Signature(name, parse_args(takes, kinds), parse_args(gives, kinds), kinds)
    made = _op_def(read, "", shape, options)
    _BINDINGS[name] = lambda: made
    return lookup(name)


def _op_def(read: Signature, family: str, shape: ShapeFn, options: Options) -> OpDef:
    default = STATEFUL if "stateful" in read.flags else PURE
    options = {"effects": default, **options}
    effects = options["effects"]
    return OpDef(
        name=read.name,
        inputs=read.inputs,
        outputs=read.outputs,
        attrs=read.attrs,
        shape=shape,
        commutative="commutative" in read.flags,
        internal=read.name.startswith("_"),
        family=family,
        deprecated=read.deprecated,
        is_stateful=bool(effects & Effects.STATEFUL),
        is_blocking=bool(effects & Effects.BLOCKING),
        **options,
    )


def as_value(array: Array) -> Value | None:
    """A constant as a partial value: integers of rank 0 or 1, at most `LONGEST_VALUE` of them."""
    if array.dtype.kind not in "iu" or array.ndim > 1 or array.size > LONGEST_VALUE:
        return None
    if array.ndim == 0:
        return int(array)
    return tuple(array.tolist())
