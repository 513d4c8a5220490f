"""Kernels of arrays of tensors behind handles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import InvalidArgumentError, clipped
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.shapes import Shape, shape_text
from graphvm_runtime.values.tensor_array import TensorArray
from graphvm_runtime.values.tensor_list import shape_of_elements, stacked, zeros_of

_FLOW = np.float32(0)


@kernel("TensorArrayV3")
def _made(node: Node) -> Callable[..., Any]:
    attrs = node.attrs
    name = attrs["tensor_array_name"].decode(errors="surrogateescape") or node.name

    def call(size: Array) -> Any:
        array = TensorArray(
            name, attrs["dtype"], int(size), attrs["element_shape"],
            dynamic=attrs["dynamic_size"], clears=attrs["clear_after_read"],
            identical=attrs["identical_element_shapes"],
        )  # fmt: skip
        return array, _FLOW

    return call


@kernel("TensorArrayGradV3")
def _derived(node: Node) -> Callable[..., Any]:
    source: bytes = node.attrs["source"]
    return lambda array, flow: (array.derived(source), flow)


def _check_type(array: TensorArray, dtype: DType) -> None:
    if array.dtype is not dtype:
        raise InvalidArgumentError(f"{array.name!r} holds {array.dtype.name}, not {dtype.name}")


@kernel("TensorArrayWriteV3")
def _write(node: Node) -> Kernel:
    def call(array: TensorArray, index: Array, value: Any, flow: Any) -> Any:
        array.write(int(index), value)
        return flow

    return Kernel(call, aliases=(3,), keeps=(2,))


@kernel("TensorArrayReadV3")
def _read(node: Node) -> Kernel:
    dtype: DType = node.attrs["dtype"]

    def call(array: TensorArray, index: Array, flow: Any) -> Any:
        _check_type(array, dtype)
        return array.read(int(index))

    return Kernel(call, borrowed=True)


@kernel("TensorArrayGatherV3")
def _gather(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["dtype"]
    asked: Shape = node.attrs["element_shape"]

    def call(array: TensorArray, indices: Array, flow: Any) -> Any:
        _check_type(array, dtype)
        if indices.ndim != 1:
            raise InvalidArgumentError(f"indices are a vector, got shape {list(indices.shape)}")
        elements = [array.read(i) for i in indices.tolist()]
        return stacked(elements, dtype, shape_of_elements(array.element_shape, asked, elements))

    return call


@kernel("TensorArrayScatterV3")
def _scatter(node: Node) -> Kernel:
    def call(array: TensorArray, indices: Array, value: Array, flow: Any) -> Any:
        if not value.ndim or indices.ndim != 1 or len(indices) != len(value):
            raise InvalidArgumentError(
                f"an index is needed for each row: got indices of shape {list(indices.shape)} and "
                f"rows of shape {list(value.shape)}"
            )
        for row, index in enumerate(indices.tolist()):
            array.write(index, value[row, ...])
        return flow

    return Kernel(call, aliases=(3,), keeps=(2,))


@kernel("TensorArrayConcatV3")
def _concat(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["dtype"]
    asked: Shape = node.attrs["element_shape_except0"]

    def call(array: TensorArray, flow: Any) -> Any:
        _check_type(array, dtype)
        parts = [array.read(i) for i in range(len(array))]
        if array.element_shape == () or not all(p.ndim for p in parts):
            raise InvalidArgumentError("scalars cannot be put together: elements are vectors")
        rest = None if array.element_shape is None else array.element_shape[1:]
        rest = shape_of_elements(rest, asked, ())
        for part in parts:
            rest = shape_of_elements(rest, part.shape[1:], ())
        lengths = np.array([len(p) for p in parts], np.int64)
        if parts:
            return np.concatenate(parts), lengths
        if rest is None or None in rest:
            raise InvalidArgumentError(
                f"{array.name!r} is empty and its elements have the unknown shape "
                f"{shape_text(rest)}",
                do="give the array an element_shape",
            )
        return zeros_of(dtype, (0, *(d for d in rest if d is not None))), lengths

    return call


@kernel("TensorArraySplitV3")
def _split(node: Node) -> Kernel:
    def call(array: TensorArray, value: Array, lengths: Array, flow: Any) -> Any:
        if not value.ndim or lengths.ndim != 1:
            raise InvalidArgumentError(
                f"a value of rank 1 or more and a vector of lengths are needed, got shapes "
                f"{list(value.shape)} and {list(lengths.shape)}"
            )
        sizes = lengths.tolist()
        if min(sizes, default=0) < 0 or sum(sizes) != len(value):
            raise InvalidArgumentError(
                f"lengths {clipped(sizes)} do not add up to the {len(value)} rows of the value"
            )
        if len(sizes) != len(array) and not (array.dynamic and len(sizes) > len(array)):
            raise InvalidArgumentError(
                f"{len(sizes)} lengths for {array.name!r} of {len(array)} elements"
            )
        at = 0
        for index, size in enumerate(sizes):
            array.write(index, value[at : at + size])
            at += size
        return flow

    return Kernel(call, aliases=(3,), keeps=(1,))


@kernel("TensorArraySizeV3")
def _size(node: Node) -> Callable[..., Any]:
    return lambda array, flow: np.int32(len(array))


@kernel("TensorArrayCloseV3")
def _close(node: Node) -> Callable[..., Any]:
    return TensorArray.close
