"""Kernels of persistent tensor lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType, variant
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.lists import TensorList, shape_of_elements, stacked, zeros_of
from graphvm_runtime.shapes import Shape, shape_text


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
    return Kernel(TensorList.pushed, aliases=(0,), keeps=(1,))


def _present(element: Any, held: TensorList, shape: Array) -> Any:
    """The element, or zeros where it was never set and its shape is known."""
    if element is not None:
        return element
    if held.dtype is variant:
        return TensorList(variant, None)
    known = shape_of_elements(held.element_shape, element_shape(shape), held.elements())
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
        if not tensor.ndim:
            raise InvalidArgumentError("a list is made of a tensor of rank 1 or more")
        rows = list(tensor) if dtype.is_numpy_compatible else [
            tensor[i, ...] for i in range(len(tensor))
        ]  # fmt: skip
        held = element_shape(shape)
        shape_of_elements(held, tensor.shape[1:], ())
        return TensorList(dtype, held, rows)

    return Kernel(call, keeps=(0,))
