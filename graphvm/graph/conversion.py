"""Python values to tensors, and operations from whatever a user passes as inputs.

What becomes of a Python value follows TensorFlow: floats are float32, integers int32 where they
fit and int64 otherwise, arrays and NumPy scalars keep their type, a number beside a tensor takes
the tensor's type, and a list that holds tensors is packed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeAlias

import numpy as np

from graphvm.graph.graph import Graph, Operation, Tensor, get_default_graph
from graphvm.graph.literals import ARRAYS, SEQUENCES, array_of, length_of, preferred_array
from graphvm.graph.node_table import wrong_graph_error
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import Dimension, TensorShape
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import Array, DType, as_dtype
from graphvm_runtime.errors import DTypeError, GraphvmError, ShapeError, clipped
from graphvm_runtime.ops.registry import OpDef, lookup
from graphvm_runtime.ops.signature import Arg

__all__ = [
    "TensorLike", "apply", "constant_node", "convert_n_to_tensor", "convert_to_tensor",
    "graph_of", "holds_tensors", "op_scope", "output", "packed",
    "register_tensor_conversion_function", "same_graph",
]  # fmt: skip

# A tensor, a variable, a number, a string, an array, or nested lists of them.
TensorLike: TypeAlias = Any
# (value, dtype, name, as_ref) -> Tensor, or NotImplemented
Conversion: TypeAlias = Callable[[Any, DType | None, str | None, bool], Any]

_CONVERSIONS: list[tuple[int, type, Conversion]] = []
_BY_TYPE: dict[type, tuple[Conversion, ...]] = {}

# whose values can only become constants; `bool` among them
_NUMBERS = frozenset((int, float, bool))


def register_tensor_conversion_function(
    base_type: type | tuple[type, ...],
    conversion_func: Callable[..., Any],
    priority: int = 100,
) -> None:
    """Teaches every function that takes tensors to take objects of a type.

    Args:
        base_type: the type, or several; derived types are included.
        conversion_func: called as `(value, dtype, name, as_ref)`; gives a Tensor, or
            NotImplemented where another function shall try.
        priority: functions of lower number are asked first.

    Source: `tf.register_tensor_conversion_function`.
    """
    kinds = base_type if isinstance(base_type, tuple) else (base_type,)
    _CONVERSIONS.extend((priority, kind, conversion_func) for kind in kinds)
    _CONVERSIONS.sort(key=lambda entry: entry[0])
    _BY_TYPE.clear()


def _conversions_of(kind: type) -> tuple[Conversion, ...]:
    found = _BY_TYPE.get(kind)
    if found is None:
        found = tuple(fn for _, base, fn in _CONVERSIONS if issubclass(kind, base))
        _BY_TYPE[kind] = found
    return found


def convert_to_tensor(
    value: TensorLike,
    dtype: object = None,
    name: str | None = None,
    preferred_dtype: object = None,
    dtype_hint: object = None,
) -> Tensor:
    """The tensor of a Python value.

    Args:
        value: a tensor, a variable, a number, a string, an array, or nested lists of them.
        dtype: element type that the tensor must have.
        name: name of the constant, where one is made.
        preferred_dtype: element type to use where the value can have it.
        dtype_hint: the same.

    Returns:
        `value` itself where it is a tensor, a new constant or `Pack` otherwise.

    Raises:
        DTypeError: the value cannot have this element type.
        GraphError: the value is None, or has no tensor form.

    Source: `tf.convert_to_tensor`.
    """
    wanted = None if dtype is None else as_dtype(dtype).base
    hint = preferred_dtype if preferred_dtype is not None else dtype_hint
    return _converted(value, wanted, name, None if hint is None else as_dtype(hint).base)


def _converted(
    value: Any, dtype: DType | None, name: str | None, hint: DType | None = None,
    as_ref: bool = False,
) -> Tensor:  # fmt: skip
    if isinstance(value, Tensor):
        if dtype is not None and value.dtype.base is not dtype:
            raise DTypeError(
                f"a tensor of {dtype.name} is wanted, {value.name} has {value.dtype.base.name}",
                made=user_line(),
                do="convert it with cast",
            )
        return value
    for convert in _conversions_of(type(value)):
        tensor = convert(value, dtype, name, as_ref)
        if tensor is not NotImplemented:
            return _converted(tensor, dtype, name)
    if isinstance(value, SEQUENCES) and holds_tensors(value):
        return packed(value, dtype, name or "packed")
    if dtype is None and hint is not None:
        array = preferred_array(value, hint)
        kind = hint if array.dtype == hint.numpy else dtypes.from_numpy(array.dtype)
        return constant_node(array, kind, name)
    array = array_of(value, dtype)
    return constant_node(array, dtype or dtypes.from_numpy(array.dtype), name)


def convert_n_to_tensor(
    values: Sequence[TensorLike], dtype: object = None, name: str | None = None
) -> list[Tensor]:
    """The tensors of several values of one element type.

    Args:
        values: what `convert_to_tensor` takes; the first tensor among them decides the type of
            the numbers beside it.
        dtype: element type of all, where it is known.
        name: stem of the names of new constants, to which their places are added.

    Returns:
        A tensor for each value.

    Raises:
        DTypeError: the types differ.
    """
    wanted = None if dtype is None else as_dtype(dtype).base
    wanted = wanted or _type_within(values)
    preferred: DType | None = None  # of the numbers before, where no tensor says it
    out: list[Tensor] = []
    for index, value in enumerate(values):
        own = None if name is None else f"{name}_{index}"
        own_type = wanted if not isinstance(value, Tensor) else None
        tensor = _converted(value, own_type, own, preferred)
        preferred = preferred or tensor.dtype.base
        out.append(tensor)
    return out


def constant_node(array: Array, dtype: DType, name: str | None = None) -> Tensor:
    """A `Const` of the default graph that holds an array, which becomes read-only."""
    return get_default_graph().add_constant(array, dtype, name)


def holds_tensors(values: Sequence[Any]) -> bool:
    """Whether a tensor, or what becomes one as a node, is in nested lists."""
    for value in values:
        kind = type(value)
        if isinstance(value, Tensor) or (kind is not Dimension and _conversions_of(kind)):
            return True
        if isinstance(value, SEQUENCES) and holds_tensors(value):
            return True
    return False


def _type_within(values: Sequence[Any]) -> DType | None:
    """Element type of the first tensor in nested lists."""
    for value in values:
        dtype = getattr(value, "dtype", None)
        if isinstance(dtype, DType):
            return dtype.base
        if isinstance(value, SEQUENCES):
            found = _type_within(value)
            if found is not None:
                return found
    return None


def packed(
    values: Sequence[Any], dtype: DType | None = None, name: str = "packed", axis: int = 0
) -> Tensor:
    """Values, tensors among them, along a new axis.

    Args:
        values: what `convert_to_tensor` takes, all of one shape.
        dtype: element type of all; that of the first tensor otherwise.
        name: of the `Pack`; constants are called by their places below it.
        axis: where the new axis is.
    """
    wanted = dtype or _type_within(values)
    with op_scope(name, values) as scope:
        children: list[Any] = [
            packed(value, wanted, str(place))
            if isinstance(value, SEQUENCES) and holds_tensors(value)
            else value
            for place, value in enumerate(values)
        ]
        tensors = [_converted(child, wanted, str(place)) for place, child in enumerate(children)]
        attrs = {"axis": axis}
        return get_default_graph().add_node("Pack", (tensors,), attrs, scope).outputs[0]


def graph_of(values: Sequence[Any]) -> Graph:
    """The graph that a new operation on `values` belongs to.

    The default graph where it is, or encloses in its bodies, that of the first tensor; otherwise
    the tensor's own, so that `x + 1` works where no graph is the default.

    Raises:
        GraphError: a tensor is of a body that is finished.
    """
    default = get_default_graph()
    for value in values:
        graph = getattr(value, "graph", None)
        if isinstance(graph, Graph):
            outer: Graph | None = default
            while outer is not None:
                if outer is graph:
                    return default
                outer = getattr(outer, "outer", None)
            if graph.building_function and graph.finalized:
                raise wrong_graph_error(value)
            return graph
    return default


@contextmanager
def same_graph(values: Sequence[Any]) -> Iterator[Graph]:
    """Makes `graph_of(values)` the default graph."""
    graph = graph_of(values)
    if graph is get_default_graph():
        yield graph
    else:
        with graph.as_default():
            yield graph


def op_scope(name: str, values: Sequence[Any] = ()) -> AbstractContextManager[str]:
    """A name scope for the nodes of one function of the API.

    Args:
        name: of the scope; ending in `/` it is taken as it is.
        values: the inputs; see `graph_of`.

    Returns:
        A context manager that gives the name that the last node of the function takes, as it is.
    """
    graph = graph_of(values)
    return graph.name_scope(name) if graph is get_default_graph() else _elsewhere(graph, name)


@contextmanager
def _elsewhere(graph: Graph, name: str) -> Iterator[str]:
    with graph.as_default(), graph.name_scope(name) as scope:
        yield scope


def apply(
    op: str,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Operation:
    """A new operation on tensors, or on what can be made tensors.

    Args:
        op: name of a declared op.
        inputs: one item for each declared input; a sequence where it is a list.
        attrs: attributes; those that follow from the inputs may be left out.
        name: name of the operation, the op's own otherwise; constants made for the inputs lie in
            a name scope of the same name.

    Returns:
        The operation.

    Raises:
        DTypeError: an input has, or cannot have, the type that the op takes.
        ShapeError: shapes of the inputs do not fit.
    """
    graph = _graph_if_ready(inputs)
    if graph is not None:
        return graph.add_node(op, inputs, attrs, name or op)
    return _applied(op, inputs, attrs, name)


def _graph_if_ready(inputs: Sequence[Any]) -> Graph | None:
    """The graph of a new operation where all inputs are tensors already, otherwise None."""
    default = get_default_graph()
    elsewhere = False
    for value in inputs:
        if type(value) is not Tensor:
            return None
        elsewhere = elsewhere or value.graph is not default
    return graph_of(inputs) if elsewhere else default


def _beside_values(
    op: str, inputs: Sequence[Any], attrs: Mapping[str, Any], name: Any
) -> Tensor | None:
    """`x + 1` and the like without the detours of the general case; None where it is another."""
    graph, declared = get_default_graph(), lookup(op)
    takes = declared.inputs
    if not isinstance(name, str) or name.endswith("/") or len(inputs) != len(takes):
        return None
    types = {k: v for k, v in attrs.items() if isinstance(v, DType)}
    for arg, value in zip(takes, inputs, strict=True):
        if arg.is_list:
            return None
        if type(value) is Tensor:
            if value.graph is not graph:
                return None
            if arg.type_attr:
                types.setdefault(arg.type_attr, value.type.dtype.base)
        elif arg.is_ref or not _is_plain(value):
            return None
    ready: list[Any] = list(inputs)
    for at, value in enumerate(inputs):
        if type(value) is Tensor:
            continue
        arg = takes[at]
        dtype = arg.dtype or types.get(arg.type_attr)
        if dtype is None:
            dtype = declared.attrs[arg.type_attr].default
        if not isinstance(dtype, DType):
            return None
        is_preferred = arg.dtype is None and arg.type_attr not in types
        try:
            array = preferred_array(value, dtype) if is_preferred else array_of(value, dtype)
        except GraphvmError:
            return None  # the general case says what is wrong, and where
        if array.dtype != dtype.numpy:
            return None  # it has another type than the default
        ready[at] = array, dtype
    made: Tensor = graph.add_with_constants(declared, ready, attrs, name)
    return made


def _is_plain(value: Any) -> bool:
    """Whether it can only become a constant."""
    kind = type(value)
    if kind in _NUMBERS:
        return not _conversions_of(kind)
    if kind is list or kind is tuple:
        return not holds_tensors(value) and not _conversions_of(kind)
    return isinstance(value, ARRAYS) and not _conversions_of(kind)


def output(
    op: str,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Output 0 of `apply`."""
    graph = _graph_if_ready(inputs)
    if graph is not None:
        return graph.add_tensor(op, inputs, attrs, name or op)
    made = _beside_values(op, inputs, attrs or {}, name or op)
    if made is not None:
        return made
    return _applied(op, inputs, attrs, name).outputs[0]


def _applied(
    op: str, inputs: Sequence[Any], attrs: Mapping[str, Any] | None, name: str | None
) -> Operation:
    """An operation on inputs that are to be converted."""
    declared = lookup(op)
    given = attrs or {}
    flat = [v for x in inputs for v in (x if isinstance(x, SEQUENCES) else (x,))]
    with op_scope(name or op, flat) as scope:
        types = {k: v for k, v in given.items() if isinstance(v, DType)}
        for arg, value in zip(declared.inputs, inputs, strict=True):
            _note_type(arg, value, types)
        try:
            converted = [
                _input(declared, arg, value, types, given)
                for arg, value in zip(declared.inputs, inputs, strict=True)
            ]
        except GraphvmError as error:
            shown = ", ".join(
                f"{v.op.name}: {v.type}" if isinstance(v, Tensor) else clipped(v, 40)
                for v in inputs
            )
            raise error.located(f"{scope[:-1]} = {op}({shown})") from error.__cause__
        return get_default_graph().add_node(declared, converted, given, scope)


def _note_type(arg: Arg, value: Any, types: dict[str, DType]) -> None:
    """Takes down what a tensor says of a type attribute, for the numbers beside it."""
    if not arg.type_attr or arg.type_attr in types:
        return
    dtype = getattr(value, "dtype", None)
    if dtype is None and isinstance(value, SEQUENCES):
        dtype = _type_within(value)
    if isinstance(dtype, DType):
        types[arg.type_attr] = dtype.base


def _input(
    op: OpDef, arg: Arg, value: Any, types: dict[str, DType], attrs: Mapping[str, Any]
) -> Tensor | list[Tensor]:
    if arg.list_attr:
        wanted = attrs.get(arg.list_attr) or (None,) * len(value)
        return [
            _converted(v, w, f"{arg.name}_{i}")
            for i, (v, w) in enumerate(zip(value, wanted, strict=True))
        ]
    dtype = arg.dtype or types.get(arg.type_attr)
    if arg.number_attr:
        tensors = convert_n_to_tensor(value, dtype, arg.name)
        if tensors and arg.type_attr:
            types.setdefault(arg.type_attr, tensors[0].dtype.base)
        return tensors
    if isinstance(value, Tensor):
        return value  # of whatever type: add_node says what is wrong, and where
    default = op.attrs[arg.type_attr].default if arg.type_attr and dtype is None else None
    hint = default if isinstance(default, DType) else None
    tensor = _converted(value, dtype, arg.name, hint, as_ref=arg.is_ref)
    if arg.type_attr:
        types.setdefault(arg.type_attr, tensor.dtype.base)
    return tensor


def _shape_to_tensor(
    value: TensorShape, dtype: DType | None, name: str | None, as_ref: bool
) -> Tensor:
    if not value.is_fully_defined():
        raise ShapeError(
            f"shape {value} is not known whole, so it is no tensor",
            made=user_line(),
            do="use shape(x), which is known when it runs",
        )
    dims = [int(d) for d in value]
    kind = dtype or (dtypes.int64 if any(d >= 2**31 for d in dims) else dtypes.int32)
    return constant_node(np.array(dims, kind.numpy), kind, name or "shape_as_tensor")


def _dimension_to_tensor(
    value: Dimension, dtype: DType | None, name: str | None, as_ref: bool
) -> Tensor:
    kind = dtype or dtypes.int32
    return constant_node(np.array(length_of(value), kind.numpy), kind, name or "shape_as_tensor")


register_tensor_conversion_function(TensorShape, _shape_to_tensor)
register_tensor_conversion_function(Dimension, _dimension_to_tensor)
