"""Kernels of persistent tensor lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType, variant
from graphvm_runtime.errors import InvalidArgumentError, clipped
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.shapes import Shape, shape_text
from graphvm_runtime.values.tensor_list import TensorList, shape_of_elements, stacked, zeros_of


def element_shape(value: Array) -> Shape:
    """The shape that an input gives: the scalar -1 for any, -1 inside for any length."""
    if not value.ndim:
        if int(value) != -1:
            raise InvalidArgumentError(f"an element shape is a vector or -1, got {int(value)}")
        return None
    return tuple(None if d < 0 else d for d in value.tolist())


@kernel("EmptyTensorList")
def _empty(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["element_dtype"]
    return lambda shape, limit: TensorList(dtype, element_shape(shape), (), int(limit))


@kernel("TensorListReserve")
def _reserve(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["element_dtype"]

    def call(shape: Array, count: Array) -> TensorList:
        size = int(count)
        if size < 0:
            raise InvalidArgumentError(f"a list cannot have {size} elements")
        return TensorList(dtype, element_shape(shape), [None] * size)

    return call


def _check_type(held: TensorList, dtype: DType) -> None:
    if held.dtype is not dtype:
        raise InvalidArgumentError(f"the list holds {held.dtype.name}, not {dtype.name}")


@kernel("TensorListPushBack")
def _push(node: Node) -> Kernel:
    if node.attrs.get("_shares"):
        # the list never leaves the step, so elements may be what others read as well: counted as
        # memory that it shares, they are neither copied nor written to
        return Kernel(TensorList.pushed, aliases=(0, 1))
    return Kernel(TensorList.pushed, aliases=(0,), keeps=(1,))


def _present(element: Any, held: TensorList, shape: Array) -> Any:
    """The element, or zeros where it was never set and its shape is known."""
    if element is not None:
        return element
    if held.dtype is variant:
        return TensorList(variant, None)
    known = shape_of_elements(held.element_shape, element_shape(shape), ())
    if known is None or None in known:
        known = shape_of_elements(known, None, held.elements())
    if known is None or None in known:
        raise InvalidArgumentError(
            f"an element that was never set has the unknown shape {shape_text(known)}",
            do="give the list an element shape, or set the element first",
        )
    return zeros_of(held.dtype, tuple(d for d in known if d is not None))


@kernel("TensorListPopBack")
def _pop(node: Node) -> Kernel:
    dtype: DType = node.attrs["element_dtype"]

    def call(held: TensorList, shape: Array) -> Any:
        _check_type(held, dtype)
        rest, element = held.popped()
        return rest, _present(element, held, shape)

    return Kernel(call, aliases=(0,))


@kernel("TensorListGetItem")
def _get(node: Node) -> Kernel:
    dtype: DType = node.attrs["element_dtype"]

    def call(held: TensorList, index: Array, shape: Array) -> Any:
        if held.dtype is not dtype:
            _check_type(held, dtype)
        element = held.element(int(index))
        return _present(element, held, shape) if element is None else element

    return Kernel(call, aliases=(0,))


@kernel("TensorListSetItem")
def _set(node: Node) -> Kernel:
    resize: bool = node.attrs["resize_if_index_out_of_bounds"]

    def call(held: TensorList, index: Array, item: Any) -> TensorList:
        return held.replaced(int(index), item, resize)

    return Kernel(call, aliases=(0,), keeps=(2,))


plain("TensorListLength", lambda held: np.int32(len(held)))


@kernel("TensorListStack")
def _stack(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["element_dtype"]
    count: int = node.attrs["num_elements"]

    def call(held: TensorList, shape: Array) -> Any:
        _check_type(held, dtype)
        elements = held.elements()
        if count not in (-1, len(elements)):
            raise InvalidArgumentError(f"a list of {count} elements is due, it has {len(elements)}")
        known = shape_of_elements(held.element_shape, element_shape(shape), elements)
        return stacked(elements, dtype, known)

    return call


@kernel("TensorListFromTensor")
def _from_tensor(node: Node) -> Kernel:
    dtype: DType = node.attrs["element_dtype"]

    def call(tensor: Array, shape: Array) -> TensorList:
        rows = _rows(tensor)
        held = element_shape(shape)
        shape_of_elements(held, tensor.shape[1:], ())
        return TensorList(dtype, held, rows)

    return Kernel(call, keeps=(0,))


def _indices(given: Array) -> list[int]:
    if given.ndim != 1:
        raise InvalidArgumentError(f"indices are a vector, got shape {list(given.shape)}")
    found: list[int] = given.tolist()
    return found


@kernel("TensorListGather")
def _gather(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["element_dtype"]

    def call(held: TensorList, indices: Array, shape: Array) -> Any:
        _check_type(held, dtype)
        elements = [held.element(i) for i in _indices(indices)]
        known = shape_of_elements(held.element_shape, element_shape(shape), elements)
        return stacked(elements, dtype, known)

    return call


def _rows(tensor: Array) -> list[Any]:
    if not tensor.ndim:
        raise InvalidArgumentError("a list is made of a tensor of rank 1 or more")
    if tensor.dtype != object:
        return list(tensor)
    return [tensor[i, ...] for i in range(len(tensor))]


def _paired(indices: Array, tensor: Array) -> list[tuple[int, Any]]:
    """Places of a list with what comes there."""
    at, rows = _indices(indices), _rows(tensor)
    if len(at) != len(rows):
        raise InvalidArgumentError(f"{len(rows)} rows are given for {len(at)} indices")
    return list(zip(at, rows, strict=True))


@kernel("TensorListScatterV2")
def _scatter(node: Node) -> Kernel:
    dtype: DType = node.attrs["element_dtype"]

    def call(tensor: Array, indices: Array, shape: Array, count: Array) -> TensorList:
        pairs, size = _paired(indices, tensor), int(count)
        held = element_shape(shape)
        shape_of_elements(held, tensor.shape[1:], ())
        if size < 0:
            size = 1 + max((i for i, _ in pairs), default=-1)
        elements: list[Any] = [None] * size
        for i, row in pairs:
            if not 0 <= i < size:
                raise InvalidArgumentError(f"element {i} of a list that has {size}")
            elements[i] = row
        return TensorList(dtype, held, elements)

    return Kernel(call, keeps=(0,))


@kernel("TensorListScatterIntoExistingList")
def _scatter_into(node: Node) -> Kernel:
    dtype: DType = node.attrs["element_dtype"]

    def call(held: TensorList, tensor: Array, indices: Array) -> TensorList:
        _check_type(held, dtype)
        for i, row in _paired(indices, tensor):
            held = held.replaced(i, row, True)
        return held

    return Kernel(call, aliases=(0,), keeps=(1,))


@kernel("TensorListSplit")
def _split(node: Node) -> Kernel:
    dtype: DType = node.attrs["element_dtype"]

    def call(tensor: Array, shape: Array, lengths: Array) -> TensorList:
        held = element_shape(shape)
        if not tensor.ndim or held == ():
            raise InvalidArgumentError("a list is split off a tensor of rank 1 or more")
        if lengths.ndim != 1:
            raise InvalidArgumentError(f"lengths are a vector, got shape {list(lengths.shape)}")
        rest = shape_of_elements(None if held is None else held[1:], tensor.shape[1:], ())
        sizes = lengths.tolist()
        if min(sizes, default=0) < 0 or sum(sizes) != len(tensor):
            raise InvalidArgumentError(
                f"lengths {clipped(sizes)} do not add up to the {len(tensor)} rows of the tensor"
            )
        ends = np.cumsum(lengths).tolist()
        parts = [tensor[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        return TensorList(dtype, None if held is None or rest is None else (None, *rest), parts)

    return Kernel(call, keeps=(0,))


@kernel("TensorListConcatV2")
def _concat(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["element_dtype"]

    def call(held: TensorList, shape: Array, leading: Array) -> Any:
        _check_type(held, dtype)
        elements, sizes = held.elements(), leading.tolist()
        asked = element_shape(shape)
        if () in (asked, held.element_shape) or any(e is not None and not e.ndim for e in elements):
            raise InvalidArgumentError("scalars cannot be put together: elements are vectors")
        rest = _behind_first(held.element_shape)
        rest = shape_of_elements(rest, _behind_first(asked), ())
        for element in elements:
            if element is not None:
                rest = shape_of_elements(rest, element.shape[1:], ())
        if (not elements or any(e is None for e in elements)) and (rest is None or None in rest):
            raise InvalidArgumentError(
                f"elements that were never set have the unknown shape {shape_text(rest)}",
                do="give the list an element shape",
            )
        parts = []
        for place, element in enumerate(elements):
            if element is None:
                if place >= len(sizes):
                    raise InvalidArgumentError(
                        f"element {place} was never set, and only {len(sizes)} lengths are given"
                    )
                element = zeros_of(dtype, (sizes[place], *rest))  # type: ignore[misc]
            parts.append(element)
        lengths = np.array([len(p) for p in parts], np.int64)
        if not parts:
            return zeros_of(dtype, (0, *rest)), lengths  # type: ignore[misc]
        return np.concatenate(parts), lengths

    return call


def _behind_first(shape: Shape) -> Shape:
    return None if shape is None else shape[1:]


@kernel("TensorListElementShape")
def _shape_held(node: Node) -> Callable[..., Any]:
    kind = node.attrs["shape_type"].numpy

    def call(held: TensorList) -> Any:
        shape = held.element_shape
        if shape is None:
            return kind.type(-1)
        return np.array([-1 if d is None else d for d in shape], kind)

    return call


@kernel("TensorListResize")
def _resize(node: Node) -> Kernel:
    def call(held: TensorList, size: Array) -> TensorList:
        count = int(size)
        if count < 0:
            raise InvalidArgumentError(f"a list cannot have {count} elements")
        return held.resized(count)

    return Kernel(call, aliases=(0,))
