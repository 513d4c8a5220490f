"""One typed function an op, made from its declaration: `raw_ops.MatMul(a=x, b=y)`.

Inputs and attributes are keyword arguments of TensorFlow's names; attributes that follow from the
inputs (`T`, `N`) are not asked for, those that have a default may be left out.

Source: `tf.raw_ops`.
"""

from __future__ import annotations

import inspect
import typing  # by its own name: `Any` is an op
from collections import namedtuple
from collections.abc import Callable
from functools import cache

import numpy as np

from graphvm.graph.conversion import apply
from graphvm.graph.graph import Operation, Tensor
from graphvm.graph.literals import array_of
from graphvm.graph.tensor_shape import as_plain_shape
from graphvm_runtime import ops
from graphvm_runtime.dtypes import as_dtype
from graphvm_runtime.errors import DTypeError, clipped
from graphvm_runtime.ir.graphdef.tensor_proto import decode
from graphvm_runtime.ops.registry import OpDef
from graphvm_runtime.ops.signature import REQUIRED, AttrDef, AttrValue, FuncRef
from graphvm_runtime.protos.tensor_pb2 import TensorProto

RawOp: typing.TypeAlias = Callable[..., typing.Any]


def __getattr__(name: str) -> RawOp:
    if name.startswith("_") or not ops.known(name):
        raise AttributeError(f"no op is called {name!r}")
    return raw_op(name)


def __dir__() -> list[str]:
    return [n for n in ops.names() if not n.startswith("_")]


@cache
def raw_op(name: str) -> RawOp:
    """The function of an op.

    Raises:
        GraphError: there is no such op.
    """
    op = ops.lookup(name)
    follows = {a for arg in op.inputs for a in (arg.type_attr, arg.number_attr, arg.list_attr)}
    own = {n: d for n, d in op.attrs.items() if n not in follows}
    required = [a.name for a in op.inputs] + [n for n, d in own.items() if d.default is REQUIRED]
    results = _results_of(op)

    def function(*args: typing.Any, **given: typing.Any) -> typing.Any:
        if args:
            raise TypeError(f"raw_ops.{name} takes its arguments by name only")
        label = given.pop("name", None)
        missing = [n for n in required if n not in given]
        unknown = [n for n in given if n not in own and n not in inputs]
        if missing or unknown:
            what = f"misses {', '.join(missing)}" if missing else f"has no {', '.join(unknown)}"
            raise TypeError(f"raw_ops.{name} {what}; it takes {signature}")
        attrs = {n: attr_value(op, n, d, given[n]) for n, d in own.items() if n in given}
        return results(apply(name, [given[n] for n in inputs], attrs, label))

    inputs = [a.name for a in op.inputs]
    signature = _signature(op, own)
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__signature__ = signature  # type: ignore[attr-defined]  # inspect looks for it
    function.__doc__ = _documentation(op)
    return function


def _signature(op: OpDef, own: dict[str, AttrDef]) -> inspect.Signature:
    by_name = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(a.name, by_name) for a in op.inputs]
    for name, declared in own.items():
        default = inspect.Parameter.empty if declared.default is REQUIRED else declared.default
        parameters.append(inspect.Parameter(name, by_name, default=default))
    parameters.append(inspect.Parameter("name", by_name, default=None))
    return inspect.Signature(parameters)


def _documentation(op: OpDef) -> str:
    return f"{op.doc or f'The op {op.name}.'}\n\nSource: `tf.raw_ops.{op.name}`."


def _results_of(op: OpDef) -> Callable[[Operation], typing.Any]:
    """What the function gives for an operation: as TensorFlow, by the declared outputs."""
    if not op.outputs:
        return lambda made: made
    if len(op.outputs) == 1:
        if op.outputs[0].is_list:
            return lambda made: made.outputs
        return lambda made: made.outputs[0]
    names = [a.name for a in op.outputs]
    kind = namedtuple(op.name, names)  # type: ignore[misc]  # the fields are the op's outputs

    def results(made: Operation) -> typing.Any:
        attrs, flat, out = made.node.attrs, made.outputs, []
        for arg in op.outputs:
            part = flat[op.output_slice(arg.name, attrs)]
            out.append(part if arg.is_list else part[0])
        return kind(*out)

    return results


def attr_value(op: OpDef, name: str, declared: AttrDef, value: typing.Any) -> AttrValue:
    """An attribute as the user gives it, in the runtime's form.

    Raises:
        DTypeError: it is not of the declared kind.
    """
    try:
        return _as_kind(declared.kind, value)
    except (AttributeError, TypeError, ValueError) as error:
        raise DTypeError(
            f"{op.name} takes a {declared.kind} for {name!r}, not {clipped(value)}"
        ) from error


def _as_kind(kind: str, value: typing.Any) -> AttrValue:
    if kind.startswith("list("):
        if isinstance(value, (str, bytes, Tensor)):
            raise TypeError(kind)
        return tuple(_as_kind(kind[5:-1], v) for v in value)
    if kind == "type":
        return as_dtype(value)
    if kind == "shape":
        return as_plain_shape(value)
    if kind == "string":
        return _as_bytes(value)
    if kind == "int":
        if isinstance(value, (bool, np.bool_)):
            raise TypeError(kind)
        return int(value.__index__())
    if kind == "float":
        if isinstance(value, (str, bytes)):
            raise TypeError(kind)
        return float(value)
    if kind == "bool":
        if not isinstance(value, (bool, np.bool_)) and value not in (0, 1):
            raise TypeError(kind)
        return bool(value)
    if kind == "tensor":
        return decode(value) if isinstance(value, TensorProto) else array_of(value)
    if isinstance(value, FuncRef):
        return value
    return FuncRef(value if isinstance(value, str) else value.name)


def _as_bytes(value: typing.Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError("string")
