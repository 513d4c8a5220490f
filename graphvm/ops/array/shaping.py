"""Shapes of tensors, and tensors in other shapes."""

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
from graphvm.ops.arguments import either
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype
from graphvm_runtime.errors import ShapeError

__all__ = [
    "broadcast_to", "expand_dims", "identity", "identity_n", "invert_permutation", "rank",
    "reshape", "reverse", "shape", "shape_n", "size", "squeeze", "stop_gradient", "transpose",
]  # fmt: skip


def shape(input: TensorLike, name: str | None = None, out_type: object = dtypes.int32) -> Tensor:
    """Shape of a tensor, as it is when it runs.

    Args:
        input: any type and shape.
        name: name of the operation.
        out_type: int32 or int64.

    Returns:
        `out_type`, shape [rank]; a constant where the static shape is known.

    Source: TF op `Shape`.
    """
    with op_scope(name or "Shape", (input,)) as scope:
        return shape_of(convert_to_tensor(input, name="input"), True, out_type, scope)


def shape_of(
    tensor: Tensor, optimize: bool, out_type: object = dtypes.int32, name: str = "Shape"
) -> Tensor:
    """The shape of a tensor: a constant where it is known and `optimize` is set."""
    kind = as_dtype(out_type)
    static = tensor.type.shape
    if optimize and static is not None and None not in static:
        return constant_node(np.array(static, kind.numpy), kind, name)
    return output("Shape", (tensor,), {"out_type": kind}, name)


def shape_n(
    input: list[TensorLike], out_type: object = dtypes.int32, name: str | None = None
) -> list[Tensor]:
    """Shapes of several tensors of one element type.

    Args:
        input: any shapes.
        out_type: int32 or int64.
        name: name of the operation.

    Returns:
        A vector for each tensor.

    Source: TF op `ShapeN`.
    """
    attrs = {"out_type": as_dtype(out_type)}
    first = output("ShapeN", (list(input),), attrs, name)
    return list(first.op.outputs)


def size(input: TensorLike, name: str | None = None, out_type: object = dtypes.int32) -> Tensor:
    """Number of elements, as it is when it runs.

    Args:
        input: any type and shape.
        name: name of the operation.
        out_type: int32 or int64.

    Returns:
        Scalar of `out_type`; a constant where the static shape is known.

    Source: TF op `Size`.
    """
    kind = as_dtype(out_type)
    with op_scope(name or "Size", (input,)) as scope:
        tensor = convert_to_tensor(input, name="input")
        count = tensor.shape.num_elements()
        if count is not None:
            return constant_node(np.array(count, kind.numpy), kind, scope)
        return output("Size", (tensor,), {"out_type": kind}, scope)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """Number of axes, as it is when it runs.

    Args:
        input: any type and shape.
        name: name of the operation.

    Returns:
        Scalar int32; a constant where the static rank is known.

    Source: TF op `Rank`.
    """
    with op_scope(name or "Rank", (input,)) as scope:
        tensor = convert_to_tensor(input, name="input")
        if tensor.type.shape is not None:
            return constant_node(np.array(len(tensor.type.shape), np.int32), dtypes.int32, scope)
        return output("Rank", (tensor,), None, scope)


def reshape(tensor: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """The same elements in another shape.

    Args:
        tensor: any type and shape.
        shape: vector of integers; one of them may be -1 and follows from the others.
        name: name of the operation.

    Returns:
        Element type of `tensor`; `shape`.

    Raises:
        ShapeError: the numbers of elements differ.

    Source: TF op `Reshape`.
    """
    return output("Reshape", (tensor, shape), None, name)


def expand_dims(
    input: TensorLike,
    axis: TensorLike = None,
    name: str | None = None,
    dim: TensorLike = None,
) -> Tensor:
    """A tensor with one more axis, of length 1.

    Args:
        input: any type and shape.
        axis: where the axis is in the result; negative counts from the end.
        name: name of the operation.
        dim: old name of `axis`.

    Returns:
        Element type of `input`; its shape with a 1 in it.

    Raises:
        ShapeError: `axis` is outside the rank.
        ValueError: no axis is given, or both names are.

    Source: TF op `ExpandDims`.
    """
    axis = either("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("expand_dims needs an axis")
    return output("ExpandDims", (input, axis), None, name)


def squeeze(
    input: TensorLike,
    axis: Any = None,
    name: str | None = None,
    squeeze_dims: Any = None,
) -> Tensor:
    """A tensor without its axes of length 1.

    Args:
        input: any type and shape.
        axis: integers, the axes to leave out; None means all of length 1.
        name: name of the operation.
        squeeze_dims: old name of `axis`.

    Returns:
        Element type of `input`; its shape without those axes.

    Raises:
        ShapeError: an axis is longer than 1, or outside the rank.
        ValueError: both names of the argument are given.

    Source: TF op `Squeeze`.
    """
    axis = either("axis", axis, "squeeze_dims", squeeze_dims)
    if axis is None:
        axis = ()
    dims = tuple(int(a) for a in np.atleast_1d(np.asarray(axis, np.int64)))
    return output("Squeeze", (input,), {"squeeze_dims": dims}, name)


def transpose(
    a: TensorLike, perm: TensorLike = None, name: str = "transpose", conjugate: bool = False
) -> Tensor:
    """A tensor with its axes in another order.

    Args:
        a: any type, shape of rank n.
        perm: vector of n integers: axis i of the result is axis perm[i] of `a`; None reverses
            the order.
        name: name of the operation.
        conjugate: take the conjugate of complex elements too.

    Returns:
        Element type of `a`; its shape in the new order.

    Raises:
        ShapeError: `perm` has another length.

    Source: TF op `Transpose`.
    """
    with op_scope(name, (a, perm)) as scope:
        a = convert_to_tensor(a, name="a")
        if perm is None:
            dims = a.type.shape
            if dims is not None:
                order = np.arange(len(dims) - 1, -1, -1, dtype=np.int32)
                perm = constant_node(order, dtypes.int32, "perm")
            else:
                last = output("Sub", (output("Rank", (a,)), 1), None, "sub")
                perm = output("Range", (last, -1, -1))
        if conjugate and a.dtype.is_complex:
            return output("Conj", (output("Transpose", (a, perm)),), None, scope)
        return output("Transpose", (a, perm), None, scope)


def broadcast_to(input: TensorLike, shape: TensorLike, name: str | None = None) -> Tensor:
    """A tensor repeated up to a shape, as element-wise operations would.

    Args:
        input: any type and shape.
        shape: vector of integers that the shape of `input` broadcasts to.
        name: name of the operation.

    Returns:
        Element type of `input`; `shape`.

    Raises:
        ShapeError: `input` does not broadcast to it.

    Source: TF op `BroadcastTo`.
    """
    return output("BroadcastTo", (input, shape), None, name)


def identity(input: TensorLike, name: str | None = None) -> Tensor:
    """The same tensor, as an operation of its own.

    Args:
        input: any type and shape.
        name: name of the operation.

    Returns:
        Same element type, shape and value.

    Source: TF op `Identity`.
    """
    return output("Identity", (input,), None, name)


def identity_n(input: list[TensorLike], name: str | None = None) -> list[Tensor]:
    """The same tensors, as one operation: all of them are there, or none.

    Args:
        input: any types and shapes.
        name: name of the operation.

    Returns:
        The tensors.

    Raises:
        ShapeError: there is none.

    Source: TF op `IdentityN`.
    """
    values = list(input)
    if not values:
        raise ShapeError("identity_n takes at least one tensor")
    return list(output("IdentityN", (values,), None, name).op.outputs)


def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """The same tensor, through which no derivative goes.

    Args:
        input: any type and shape.
        name: name of the operation.

    Returns:
        Same element type, shape and value.

    Source: TF op `StopGradient`.
    """
    return output("StopGradient", (input,), None, name)


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """The permutation that undoes another.

    Args:
        x: vector of the integers 0 to n - 1, in any order.
        name: name of the operation.

    Returns:
        Same element type and shape: y[x[i]] = i.

    Raises:
        ShapeError: `x` is no vector.

    Source: TF op `InvertPermutation`.
    """
    return output("InvertPermutation", (x,), None, name)


def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """The tensor with the order of elements turned round along some axes.

    Args:
        tensor: numbers, bool or string, any shape.
        axis: the axes, a vector of int32 or int64; negative ones count from the end.
        name: name of the operation.

    Returns:
        Same type and shape as `tensor`.

    Raises:
        ShapeError: an axis is outside the rank or named twice.

    Source: TF op `ReverseV2`.
    """
    return output("ReverseV2", (tensor, axis), None, name)
