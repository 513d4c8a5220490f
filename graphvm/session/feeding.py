"""What goes into a run and what comes out: values for feeds, structures of fetches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from graphvm import nest
from graphvm.graph.literals import utf8
from graphvm.graph.tensor import Operation, Tensor
from graphvm_runtime.dtypes import DType, string
from graphvm_runtime.engine import as_feed_value
from graphvm_runtime.errors import (
    DTypeError,
    GraphError,
    GraphvmError,
    NameNotFoundError,
    ShapeError,
    clipped,
)
from graphvm_runtime.ir.graph import source_text
from graphvm_runtime.shapes import Shape, is_compatible, shape_text

Convert: TypeAlias = Callable[[Any], Any]
# values of the fetched tensors, in the order in which they were asked for -> the structure
Pack: TypeAlias = Callable[[Sequence[Any]], Any]


def converter(tensor: Tensor) -> Convert:
    """The function that turns a fed value into an array of the tensor's type.

    The array is the caller's own where no conversion was needed. Numbers are cast silently, as
    in TensorFlow: 1.5 fed to int32 is 1.

    The function raises:
        TypeError (DTypeError): the value is a tensor, or no number of the type.
        ValueError (ShapeError): the shape is not the tensor's.
    """
    dtype, shape = tensor.dtype.base, tensor.type.shape
    numpy = dtype.numpy

    fits = _shape_test(shape)

    def general(value: Any) -> Any:
        array = _array(value, tensor, dtype)
        if not fits(array.shape):
            raise _unfit(
                ShapeError,
                f"a value of shape {shape_text(array.shape)} cannot be fed to {tensor.name!r}, "
                f"which has the shape {shape_text(shape)}",
                tensor,
                "reshape the value, or give the placeholder a shape with None in it",
            )
        return as_feed_value(array)

    if numpy.kind == "O":
        return general
    if shape == ():
        return _scalar_converter(dtype, general)

    def convert(value: Any) -> Any:
        if type(value) is np.ndarray and value.dtype is numpy:
            own = value.shape
            if own == shape or (own and fits(own)):  # rank 0 becomes a NumPy scalar
                return value
        return general(value)

    return convert


def _shape_test(shape: Shape) -> Callable[[tuple[int, ...]], bool]:
    """Whether an array's shape is one that a static shape allows."""
    if shape is None:
        return lambda own: True
    if None not in shape:
        return lambda own: own == shape
    rest, rank = shape[1:], len(shape)
    if None not in rest:  # a batch of examples
        return lambda own: own[1:] == rest and len(own) == rank
    return lambda own: is_compatible(own, shape)


def _scalar_converter(dtype: DType, general: Convert) -> Convert:
    """The converter of a scalar: Python's numbers need no array where they fit."""
    scalar: Any = dtype.numpy.type
    if dtype.is_bool:
        kinds: dict[type, tuple[float, float]] = {bool: (0, 1)}
    elif dtype.is_integer:
        kinds = {int: (int(dtype.min), int(dtype.max))}
    elif dtype.is_floating:
        limit = float(dtype.max)
        # integers up to 2**53 become floats, which are then rounded once
        kinds = {float: (-limit, limit), np.float64: (-limit, limit), int: (-(2**53), 2**53)}
        if limit < 2**53:
            kinds[int] = -limit, limit
    else:
        kinds = {}

    def convert(value: Any) -> Any:
        kind = type(value)
        if kind is scalar:
            return value
        bounds = kinds.get(kind)
        if bounds is not None and bounds[0] <= value <= bounds[1]:
            return scalar(value)
        return general(value)

    return convert


def _array(value: Any, tensor: Tensor, dtype: DType) -> Any:
    numpy = dtype.numpy
    if type(value) is not np.ndarray:
        if isinstance(value, Tensor | Operation):
            raise _unfit(
                DTypeError,
                f"the value fed to {tensor.name!r} is a {type(value).__name__}",
                tensor,
                "feed numbers, strings, lists or NumPy arrays; what `session.run` returns will do",
            )
        if type(value) is int and (dtype.is_integer or dtype.is_bool):
            return _integer(value, tensor, dtype)
    if dtype is string:
        return _strings(value, tensor)
    if numpy.kind == "O":
        return value
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise _unfit(
            ShapeError,
            f"{_cannot(value, tensor)}: its lists are of different lengths",
            tensor,
            "fill them up to one length, or feed them one by one",
        ) from error
    if array.dtype == numpy:
        return array
    if array.dtype.kind == "c" and (dtype.is_floating or dtype.is_integer):
        raise _unfit(
            DTypeError,
            f"{_cannot(value, tensor)}: its imaginary part would be lost",
            tensor,
            "feed its real part",
        )
    try:
        if array.dtype.kind in "iub" and numpy.itemsize > 2:  # cannot overflow loudly
            return array.astype(numpy)
        with np.errstate(all="ignore"):
            return array.astype(numpy)
    except (TypeError, ValueError, OverflowError) as error:
        kind = ShapeError if isinstance(error, ValueError) else DTypeError
        why = "it is text" if array.dtype.kind in "SU" else str(error)
        raise _unfit(kind, f"{_cannot(value, tensor)}: {why}", tensor, "feed numbers") from error


def _integer(value: int, tensor: Tensor, dtype: DType) -> Any:
    """A Python integer; one that does not fit is a mistake, unlike an array, which is cast."""
    least, greatest = (0, 1) if dtype.is_bool else (int(dtype.min), int(dtype.max))
    if not least <= value <= greatest:
        raise _unfit(
            DTypeError,
            f"{value} does not fit into {dtype.name}, the type of {tensor.name!r}",
            tensor,
            f"feed a number from {least} to {greatest}, or let the tensor be of a wider type",
        )
    return dtype.numpy.type(value)


def _cannot(value: Any, tensor: Tensor) -> str:
    return f"{clipped(value)} cannot be fed to {tensor.name!r} of {tensor.dtype.base.name}"


def _unfit(kind: type[GraphvmError], what: str, tensor: Tensor, do: str) -> GraphvmError:
    """The error for a value that a tensor cannot be fed."""
    node = tensor.op.node
    return kind(what, node=node.signature(), made=source_text(node.source), do=do)


def _strings(value: Any, tensor: Tensor) -> Any:
    try:
        array = np.asarray(value, dtype=object)
    except ValueError as error:
        raise _unfit(
            ShapeError,
            f"{clipped(value)} cannot be fed to {tensor.name!r}: {error}",
            tensor,
            "feed str or bytes, lists of them, or an array of them",
        ) from error
    flat = array.reshape(-1).tolist()
    out = np.empty(len(flat), dtype=object)
    for at, element in enumerate(flat):
        if isinstance(element, str):
            out[at] = utf8(element)
        elif isinstance(element, bytes):
            out[at] = bytes(element)
        else:
            raise _unfit(
                DTypeError,
                f"{clipped(element)} cannot be fed to {tensor.name!r} of string",
                tensor,
                "feed str or bytes, lists of them, or an array of them",
            )
    return out.reshape(array.shape)


def flat_feeds(graph: Any, feed_dict: Any) -> Mapping[Any, Any]:
    """A feed dictionary without nested keys, and with each tensor once: its last value counts.

    Raises:
        TypeError: it is no dictionary, or a key names no tensor of the graph.
        ValueError: a key and its value are nested differently, or a key stands twice.
    """
    if not isinstance(feed_dict, Mapping):
        raise TypeError(f"feed_dict must be a dictionary, not {clipped(feed_dict)}")
    if all(isinstance(key, Tensor) for key in feed_dict):
        return feed_dict
    flat: dict[Any, Any] = {}
    for key, value in feed_dict.items():
        keys, values = [key], [value]
        if isinstance(key, tuple):
            keys, values = nest.flatten(key), nest.flatten(value)
            if len(keys) != len(values):
                raise GraphError(
                    f"the key {clipped(key)} of the feeds has {len(keys)} tensors, its value "
                    f"{len(values)}"
                )
        for one, own in zip(keys, values, strict=True):
            if one in flat:
                raise GraphError(f"{clipped(one)} is fed twice")
            flat[one] = own
    tensors = feed_tensors(graph, list(flat))
    if len(set(tensors)) == len(tensors):
        return flat
    return dict(zip(tensors, flat.values(), strict=True))


def feed_tensors(graph: Any, keys: Sequence[Any]) -> list[Tensor]:
    """The tensors that the keys of a feed dictionary stand for.

    Raises:
        TypeError: a key names no tensor of the graph.
        ValueError: a tensor may not be fed.
    """
    out = []
    for key in keys:
        try:
            tensor = graph.as_graph_element(key, allow_operation=False)
        except (GraphvmError, TypeError, KeyError) as error:
            raise TypeError(f"{clipped(key)} cannot be a key of the feeds: {error}") from error
        if not graph.is_feedable(tensor):
            raise GraphError(f"tensor {tensor.name!r} may not be fed")
        out.append(tensor)
    return out


class Fetches:
    """The structure of what is fetched, and the tensors and operations in it.

    Args:
        graph: where names are looked up.
        structure: a tensor, an operation, a name, a variable, or lists, tuples, dictionaries and
            named tuples of them, as deep as you like.

    Raises:
        TypeError: something in it can be no fetch.
        ValueError: the graph has nothing of that name.
    """

    def __init__(self, graph: Any, structure: Any) -> None:
        self._graph = graph
        self.tensors: list[Tensor] = []
        self.targets: list[Operation] = []
        self._at: dict[Tensor, int] = {}
        self.pack: Pack = self._packer(structure)

    def _packer(self, item: Any) -> Pack:
        if item is None:
            raise TypeError(
                "None can be no fetch (a gradient is None where nothing connects it with its x)"
            )
        if isinstance(item, list | tuple):
            parts = [self._packer(part) for part in item]
            if isinstance(item, list):
                return lambda values: [p(values) for p in parts]
            kind: Any = type(item)
            if hasattr(item, "_fields"):
                return lambda values: kind(*(p(values) for p in parts))
            return lambda values: tuple(p(values) for p in parts)
        if isinstance(item, Mapping):
            named = {k: self._packer(v) for k, v in item.items()}
            make: Any = type(item) if type(item).__name__ == "OrderedDict" else dict
            return lambda values: make((k, p(values)) for k, p in named.items())
        components = getattr(item, "_fetch_components", None)
        if components is not None:  # IndexedSlices and the like: several tensors as one value
            inner, rebuild = components()
            packers = [self._packer(part) for part in inner]
            return lambda values: rebuild([p(values) for p in packers])
        element = self._element(item)
        if isinstance(element, Operation):
            self.targets.append(element)
            return lambda values: None
        at = self._at.get(element)
        if at is None:
            at = self._at[element] = len(self.tensors)
            self.tensors.append(element)
        index: int = at
        return lambda values: values[index]

    def _element(self, item: Any) -> Any:
        try:
            element = self._graph.as_graph_element(item)
        except TypeError as error:
            raise TypeError(f"{clipped(item)} can be no fetch: {error}") from error
        except NameNotFoundError as error:
            raise GraphError(
                f"{clipped(item)} can be no fetch: {error.what}", do=error.do
            ) from error
        if not self._graph.is_fetchable(element):
            raise GraphError(
                f"{element.name!r} may not be fetched", node=_node_of(element).signature()
            )
        return element


def _node_of(element: Any) -> Any:
    return (element if isinstance(element, Operation) else element.op).node


def cache_key(fetches: Any, feeds: Iterable[Any]) -> tuple[Any, ...]:
    """A key that runs of equal fetches and feeds share.

    Structures of one level come first, and need no look at their parts: `flat_key`.

    Raises:
        TypeError: something in it cannot be hashed.
    """
    if isinstance(fetches, list | tuple):
        return (type(fetches), len(fetches), *map(_part_key, fetches), *feeds)
    if isinstance(fetches, Mapping):
        values = map(_part_key, fetches.values())
        return (type(fetches), len(fetches), *fetches, *values, *feeds)
    return (fetches, *feeds)


def flat_key(fetches: Any, feeds: Iterable[Any]) -> tuple[Any, ...]:
    """What `cache_key` gives where no part of `fetches` is a structure, at once.

    Where one is, it is no key that `cache_key` gives.
    """
    if isinstance(fetches, (list, tuple)):
        return (type(fetches), len(fetches), *fetches, *feeds)
    if isinstance(fetches, dict):
        return (type(fetches), len(fetches), *fetches, *fetches.values(), *feeds)
    return (fetches, *feeds)


def _part_key(part: Any) -> Hashable:
    if isinstance(part, list | tuple):
        return (_PART, type(part), *map(_part_key, part))
    if isinstance(part, Mapping):
        return (_PART, type(part), tuple(part), *map(_part_key, part.values()))
    hash(part)
    return part  # type: ignore[no-any-return]  # hash() has just proved it


_PART = object()  # no fetch has it, so a tuple that is fetched is never taken for a key
