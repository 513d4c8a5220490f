"""Tensors from nothing: constants, placeholders, tensors of one value."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphvm.graph.conversion import (
    TensorLike,
    constant_node,
    convert_to_tensor,
    op_scope,
    output,
)
from graphvm.graph.graph import Tensor
from graphvm.graph.literals import array_of
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import Dimension, TensorShape, as_plain_shape
from graphvm.ops.array.shaping import shape_of
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import Array, DType, as_dtype
from graphvm_runtime.errors import DTypeError, ShapeError, clipped
from graphvm_runtime.shapes import is_known, shape_text, size_of

__all__ = [
    "constant", "fill", "ones", "ones_like", "placeholder", "placeholder_with_default", "zeros",
    "zeros_like",
]  # fmt: skip

# A constant that repeats one value is not written out above this number of elements.
_LARGE = 2**24
# Tensors of one value are kept whole in the graph below this number of elements.
_SMALL = 1000


def constant(
    value: TensorLike,
    dtype: object = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A tensor of fixed value.

    Args:
        value: a number, a string, an array, or nested lists of them; no tensor.
        dtype: element type; follows from the value otherwise (floats are float32, integers int32
            where they fit).
        shape: the shape; a value of fewer elements is filled up with its last one.
        name: name of the operation.
        verify_shape: refuse a value of another shape.

    Returns:
        The value, in the type and shape asked for.

    Raises:
        DTypeError: the value is a tensor, or cannot have this type.
        ShapeError: it has more elements than `shape` holds, or lists of different lengths.
        TypeError: it has another shape and `verify_shape` is set.

    Source: TF op `Const`.
    """
    if isinstance(value, Tensor):
        raise DTypeError(f"{value.name!r} is a tensor already", made=user_line(), do="use identity")
    wanted = None if dtype is None else as_dtype(dtype).base
    if isinstance(value, TensorShape):
        value = value.as_list()
    array = array_of(value, wanted)
    if shape is not None:
        array = _shaped(array, as_plain_shape(shape), verify_shape)
    return constant_node(array, wanted or dtypes.from_numpy(array.dtype), name)


def _shaped(array: Array, shape: Any, verify: bool) -> Array:
    if not is_known(shape):
        raise ShapeError(
            f"a constant needs its whole shape, not {shape_text(shape)}", made=user_line()
        )
    if array.shape == shape:
        return array
    if verify:
        raise DTypeError(
            f"the value has the shape {shape_text(array.shape)}, not {shape_text(shape)}",
            made=user_line(),
        )
    size = size_of(shape) or 0
    if array.size > size:
        raise ShapeError(
            f"{array.size} values for a constant of {size} elements, {shape_text(shape)}",
            made=user_line(),
        )
    if array.size == 1 and size > _LARGE:  # not written out before anything uses it
        return np.broadcast_to(array.reshape(()), shape)
    full = np.zeros(size, array.dtype)
    if array.size:
        full[: array.size] = array.ravel()
        full[array.size :] = array.ravel()[-1]
    return full.reshape(shape)


def placeholder(dtype: object, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor whose value is fed.

    Args:
        dtype: element type.
        shape: what is known of the shape: None for nothing, None inside for a dimension.
        name: name of the operation.

    Returns:
        `dtype`, `shape`. Running what needs it without feeding it is an InvalidArgumentError.

    Raises:
        DTypeError: there is no such type.

    Source: TF op `Placeholder`.
    """
    attrs = {"dtype": as_dtype(dtype), "shape": as_plain_shape(shape)}
    return output("Placeholder", (), attrs, name)


def placeholder_with_default(input: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """A tensor whose value may be fed.

    Args:
        input: the value where nothing is fed.
        shape: what is known of the shape that may be fed.
        name: name of the operation.

    Returns:
        Element type of `input`; `shape`.

    Raises:
        ShapeError: `input` does not have the shape.

    Source: TF op `PlaceholderWithDefault`.
    """
    return output("PlaceholderWithDefault", (input,), {"shape": as_plain_shape(shape)}, name)


def fill(dims: TensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of one value.

    Args:
        dims: vector of integers, the shape.
        value: scalar of any type.
        name: name of the operation.

    Returns:
        Element type of `value`; shape `dims`.

    Raises:
        ShapeError: a dimension is negative, or `value` is no scalar.

    Source: TF op `Fill`.
    """
    return output("Fill", (dims, value), None, name)


def zeros(shape: TensorLike, dtype: object = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros; of empty strings, of False.

    Args:
        shape: integers, or a vector of them.
        dtype: element type.
        name: name of the operation.

    Returns:
        `dtype`, `shape`.

    Raises:
        ShapeError: a dimension is negative or not known.

    Source: `tf.zeros`.
    """
    return _uniform(shape, dtype, 0, name or "zeros")


def ones(shape: TensorLike, dtype: object = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones; of True.

    Args:
        shape: integers, or a vector of them.
        dtype: element type.
        name: name of the operation.

    Returns:
        `dtype`, `shape`.

    Raises:
        DTypeError: `dtype` is string.
        ShapeError: a dimension is negative or not known.

    Source: `tf.ones`.
    """
    return _uniform(shape, dtype, 1, name or "ones")


def _value(dtype: DType, value: int) -> Array:
    if dtype is dtypes.string:
        if value:
            raise DTypeError("there is no 1 of strings", made=user_line())
        array = np.empty((), object)
        array[()] = b""
        return array
    return np.array(value, dtype.numpy)


def _static(shape: Any) -> tuple[int, ...] | None:
    """A shape given as Python integers, None where tensors are among them."""
    if isinstance(shape, int | Dimension | np.integer):
        shape = [shape]
    if isinstance(shape, np.ndarray):
        shape = shape.reshape(-1).tolist()
    if not isinstance(shape, list | tuple | TensorShape):
        return None
    if any(hasattr(d, "graph") for d in shape):
        return None
    dims = tuple(-1 if d is None or getattr(d, "value", 0) is None else int(d) for d in shape)
    if any(d < 0 for d in dims):
        raise ShapeError(
            f"the shape must be known whole, not {clipped(shape)}",
            made=user_line(),
            do="use shape(x), which is known when it runs",
        )
    return dims


def _uniform(shape: TensorLike, dtype: object, value: int, name: str) -> Tensor:
    kind = as_dtype(dtype).base
    dims = _static(shape)
    if dims is not None and (size_of(dims) or 0) < _SMALL:
        whole = np.empty(dims, kind.numpy)
        whole[...] = _value(kind, value)
        return constant_node(whole, kind, name)
    with op_scope(name, (shape,)) as scope:
        if dims is not None:
            vector = convert_to_tensor(list(dims), name="shape_as_tensor", dtype_hint=dtypes.int32)
        else:
            vector = convert_to_tensor(shape, dtype_hint=dtypes.int32)
            if vector.dtype.base not in dtypes.INDICES:
                raise DTypeError(
                    f"a shape is of int32 or int64, not {vector.dtype.name}",
                    made=user_line(),
                )
            if vector.shape.rank == 0:
                vector = output("Reshape", (vector, [-1]))
        return output("Fill", (vector, constant_node(_value(kind, value), kind)), None, scope)


def zeros_like(
    tensor: TensorLike, dtype: object = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Zeros in the shape of another tensor.

    Args:
        tensor: any type and shape.
        dtype: element type; that of `tensor` otherwise.
        name: name of the operation.
        optimize: make a constant where the static shape is known.

    Returns:
        `dtype`, shape of `tensor`.

    Source: TF op `ZerosLike`.
    """
    with op_scope(name or "zeros_like", (tensor,)) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        kind = tensor.dtype.base if dtype is None else as_dtype(dtype).base
        if optimize and tensor.shape.is_fully_defined() and kind is not dtypes.variant:
            return _uniform(tensor.shape, kind, 0, scope)
        if kind is tensor.dtype.base:
            return output("ZerosLike", (tensor,), None, scope)
        return _uniform(shape_of(tensor, optimize), kind, 0, scope)


def ones_like(
    tensor: TensorLike, dtype: object = None, name: str | None = None, optimize: bool = True
) -> Tensor:
    """Ones in the shape of another tensor.

    Args:
        tensor: any type and shape.
        dtype: element type; that of `tensor` otherwise.
        name: name of the operation.
        optimize: make a constant where the static shape is known.

    Returns:
        `dtype`, shape of `tensor`.

    Raises:
        DTypeError: the type is string.

    Source: `tf.ones_like`.
    """
    with op_scope(name or "ones_like", (tensor,)) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        kind = tensor.dtype.base if dtype is None else as_dtype(dtype).base
        if optimize and tensor.shape.is_fully_defined():
            return _uniform(tensor.shape, kind, 1, scope)
        return _uniform(shape_of(tensor, optimize), kind, 1, scope)
