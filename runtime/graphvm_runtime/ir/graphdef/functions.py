"""FunctionDef and Function: signatures, instances of polymorphic functions, bodies."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Endpoint, Function, unused
from graphvm_runtime.ir.graphdef.attrs import Bindings, read_attr
from graphvm_runtime.ir.names import split_output
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.protos.function_pb2 import FunctionDef
from graphvm_runtime.protos.op_def_pb2 import OpDef as OpDefProto


def bound_attrs(definition: FunctionDef, given: Mapping[str, AttrValue]) -> dict[str, AttrValue]:
    """Values for the attributes of a signature: given, or defaults.

    Raises:
        GraphError: one has neither.
    """
    out: dict[str, AttrValue] = {}
    for declared in definition.signature.attr:
        if declared.name in given:
            out[declared.name] = given[declared.name]
        elif declared.HasField("default_value"):
            out[declared.name] = read_attr(declared.default_value, declared.type)
        else:
            raise GraphError(
                f"function {definition.signature.name!r} needs the attribute {declared.name!r}"
            )
    return out


def arg_types(arg: OpDefProto.ArgDef, bindings: Bindings) -> tuple[DType, ...]:
    """Types of the tensors that an argument or result of a signature stands for.

    Raises:
        GraphError: an attribute that it is typed by has no value.
    """
    try:
        if arg.type_list_attr:
            return tuple(bindings[arg.type_list_attr])
        dtype = bindings[arg.type_attr] if arg.type_attr else dtypes.from_enum(arg.type)
        if arg.is_ref:
            dtype = dtype.ref
        return (dtype,) * (bindings[arg.number_attr] if arg.number_attr else 1)
    except KeyError as missing:
        raise GraphError(
            f"argument {arg.name!r} is typed by {missing}, which has no value"
        ) from None


def flat_names(args: Iterable[OpDefProto.ArgDef], bindings: Bindings) -> list[str]:
    """Names for the tensors of a signature: `x`, and `x_0`, `x_1` where `x` is a list."""
    out: list[str] = []
    for arg in args:
        count = len(arg_types(arg, bindings))
        is_list = bool(arg.number_attr or arg.type_list_attr)
        out += [f"{arg.name}_{i}" for i in range(count)] if is_list else [arg.name]
    return out


def instance_name(name: str, bindings: Bindings, taken: Iterable[str]) -> str:
    """The name of a polymorphic function with its attributes given."""
    shown = repr(sorted((k, _shown(v)) for k, v in bindings.items()))
    short = "_".join(re.sub(r"\W+", "", _shown(v)) for _, v in sorted(bindings.items()))
    if len(short) > 40 or not short:
        short = hashlib.sha256(shown.encode()).hexdigest()[:16]
    return unused(f"{name}__{short}", set(taken))


def _shown(value: AttrValue) -> str:
    if isinstance(value, DType):
        return value.name
    if isinstance(value, FuncRef):
        return f"{value.name}({', '.join(f'{k}={_shown(v)}' for k, v in value.attrs)})"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_shown, value)) + ")"
    return repr(value)


class Instances:
    """The functions of a file: instances made as they are asked for.

    Args:
        definitions: the file's.
        known: functions that are there already; they win over definitions of their name.
        gradients: names of the functions that are gradients of others.

    Attributes:
        pending: instances whose body is not read yet, `(definition, name, attributes)`.
        needed: names of functions that something referred to.
        called: names of functions that are called, not bodies of branches and loops.
    """

    def __init__(
        self,
        definitions: Iterable[FunctionDef],
        known: Mapping[str, Function],
        gradients: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.definitions = {f.signature.name: f for f in definitions}
        self.gradients = gradients
        self.known = known
        self.pending: list[tuple[FunctionDef, str, dict[str, AttrValue]]] = []
        self.needed: set[str] = set()
        self.called: set[str] = set()
        self._names: dict[tuple[str, str], str] = {}
        self._taken = {*self.definitions, *known}
        self._signatures: dict[str, tuple[FunctionDef, dict[str, AttrValue]]] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.definitions or name in self.known

    def instance(self, ref: FuncRef) -> FuncRef:
        """The reference to the instance that `ref` asks for; to be read, where it is new.

        Raises:
            GraphError: an attribute of the function has no value.
        """
        self.needed.add(ref.name)
        definition = self.definitions.get(ref.name)
        if ref.name in self.known or definition is None:
            return ref
        bindings = bound_attrs(definition, dict(ref.attrs))
        key = ref.name, repr(sorted((k, _shown(v)) for k, v in bindings.items()))
        name = self._names.get(key)
        if name is None:
            name = ref.name if not bindings else instance_name(ref.name, bindings, self._taken)
            self._taken.add(name)
            self._names[key] = name
            self._signatures[name] = definition, bindings
            self.pending.append((definition, name, bindings))
        self.needed.add(name)
        return FuncRef(name)

    def call_types(
        self, ref: FuncRef
    ) -> tuple[tuple[DType, ...], tuple[DType, ...], list[tuple[str, int]], bool]:
        """Of an instance: argument types, result types, results by name and count, has effects."""
        function = self.known.get(ref.name)
        if function is not None:
            gives = tuple(t.dtype for t in function.result_types)
            takes = tuple(t.dtype for t in function.param_types)
            return takes, gives, [(n, 1) for n in function.result_names], function.is_stateful
        definition, bindings = self._signatures[ref.name]
        signature = definition.signature
        inputs = [t for a in signature.input_arg for t in arg_types(a, bindings)]
        counts = [(a.name, arg_types(a, bindings)) for a in signature.output_arg]
        outputs = [t for _, types in counts for t in types]
        named = [(name, len(types)) for name, types in counts]
        return tuple(inputs), tuple(outputs), named, signature.is_stateful


def result_ends(
    definition: FunctionDef, bindings: Bindings, resolve: Any
) -> tuple[tuple[Endpoint, ...], tuple[str, ...]]:
    """What a function returns, and the names of that.

    Raises:
        GraphError: a result is not said, or names nothing in the body.
    """
    ends: list[Endpoint] = []
    for arg in definition.signature.output_arg:
        text = definition.ret.get(arg.name)
        if text is None:
            raise GraphError(
                f"function {definition.signature.name!r} does not say its result {arg.name!r}"
            )
        count = len(arg_types(arg, bindings))
        if count == 1:
            ends.append(resolve(text))
            continue
        stem, _ = split_output(text)
        ends.extend(resolve(f"{stem}:{i}") for i in range(count))
    return tuple(ends), tuple(flat_names(definition.signature.output_arg, bindings))
