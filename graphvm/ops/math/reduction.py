"""Reductions and scans along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphvm.graph.conversion import (
    TensorLike,
    constant_node,
    convert_to_tensor,
    op_scope,
    output,
    same_graph,
)
from graphvm.graph.graph import Tensor
from graphvm.ops.arguments import either
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype

__all__ = [
    "argmax", "argmin", "cumprod", "cumsum", "reduce_all", "reduce_any", "reduce_logsumexp",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
]  # fmt: skip


def argmax(
    input: TensorLike,
    axis: TensorLike = None,
    name: str | None = None,
    dimension: TensorLike = None,
    output_type: object = dtypes.int64,
) -> Tensor:
    """Index of the greatest element along one axis; the first of several.

    Args:
        input: real or bool, rank at least 1.
        axis: the axis, 0 by default.
        name: name of the operation.
        dimension: old name of `axis`.
        output_type: int32 or int64.

    Returns:
        `output_type`; the shape of `input` without `axis`.

    Raises:
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: TF op `ArgMax`.
    """
    axis = either("axis", axis, "dimension", dimension)
    attrs = {"output_type": as_dtype(output_type)}
    return output("ArgMax", (input, 0 if axis is None else axis), attrs, name)


def argmin(
    input: TensorLike,
    axis: TensorLike = None,
    name: str | None = None,
    dimension: TensorLike = None,
    output_type: object = dtypes.int64,
) -> Tensor:
    """Index of the least element along one axis; the first of several.

    Args:
        input: real or bool, rank at least 1.
        axis: the axis, 0 by default.
        name: name of the operation.
        dimension: old name of `axis`.
        output_type: int32 or int64.

    Returns:
        `output_type`; the shape of `input` without `axis`.

    Raises:
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: TF op `ArgMin`.
    """
    axis = either("axis", axis, "dimension", dimension)
    attrs = {"output_type": as_dtype(output_type)}
    return output("ArgMin", (input, 0 if axis is None else axis), attrs, name)


def cumprod(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Product of all elements up to each one, along one axis.

    Args:
        x: numeric, rank at least 1.
        axis: the axis.
        exclusive: leave the element itself out.
        reverse: go from the end to the start.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        ShapeError: `axis` is outside the rank.

    Source: TF op `Cumprod`.
    """
    attrs = {"exclusive": exclusive, "reverse": reverse}
    return output("Cumprod", (x, axis), attrs, name)


def cumsum(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Sum of all elements up to each one, along one axis.

    Args:
        x: numeric, rank at least 1.
        axis: the axis.
        exclusive: leave the element itself out.
        reverse: go from the end to the start.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        ShapeError: `axis` is outside the rank.

    Source: TF op `Cumsum`.
    """
    attrs = {"exclusive": exclusive, "reverse": reverse}
    return output("Cumsum", (x, axis), attrs, name)


def reduce_all(
    input_tensor: TensorLike,
    axis: TensorLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Logical and over some axes.

    Args:
        input_tensor: bool, any shape.
        axis: axes to reduce, an integer or several; None means all, [] none.
        keepdims: keep reduced axes as length 1.
        name: name of the operation.
        reduction_indices: old name of `axis`.
        keep_dims: old name of `keepdims`.

    Returns:
        Same element type as `input_tensor`; its shape without `axis`. True for an empty axis.

    Raises:
        DTypeError: the op does not take the element type.
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: TF op `All`.
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = either("keepdims", keepdims, "keep_dims", keep_dims)
    return _reduced("All", input_tensor, axis, bool(keep), name)


def reduce_any(
    input_tensor: TensorLike,
    axis: TensorLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Logical or over some axes.

    Args:
        input_tensor: bool, any shape.
        axis: axes to reduce, an integer or several; None means all, [] none.
        keepdims: keep reduced axes as length 1.
        name: name of the operation.
        reduction_indices: old name of `axis`.
        keep_dims: old name of `keepdims`.

    Returns:
        Same element type as `input_tensor`; its shape without `axis`. False for an empty axis.

    Raises:
        DTypeError: the op does not take the element type.
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: TF op `Any`.
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = either("keepdims", keepdims, "keep_dims", keep_dims)
    return _reduced("Any", input_tensor, axis, bool(keep), name)


def reduce_logsumexp(
    input_tensor: TensorLike,
    axis: TensorLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """log(sum of exp(x)) over some axes, without overflow.

    Args:
        input_tensor: floating, any shape.
        axis: axes to reduce, an integer or several; None means all, [] none.
        keepdims: keep reduced axes as length 1.
        name: name of the operation.
        reduction_indices: old name of `axis`.
        keep_dims: old name of `keepdims`.

    Returns:
        Same element type as `input_tensor`; its shape without `axis`. -inf for an empty axis.

    Raises:
        DTypeError: the element type is not floating.
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: `tf.reduce_logsumexp`.
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = bool(either("keepdims", keepdims, "keep_dims", keep_dims))
    with op_scope(name or "ReduceLogSumExp", (input_tensor,)) as scope:
        x = convert_to_tensor(input_tensor, name="input_tensor")
        top = _reduced("Max", x, axis, True, None)
        # infinities would give NaN where the sum is infinite, or nothing
        finite = output("IsFinite", (top,))
        top = output("SelectV2", (finite, top, convert_to_tensor(0, x.dtype)))
        top = output("StopGradient", (top,))
        powers = output("Exp", (output("Sub", (x, top)),))
        logs = output("Log", (_reduced("Sum", powers, axis, keep, None),))
        if not keep:
            top = output("Reshape", (top, output("Shape", (logs,))))
        result = output("AddV2", (logs, top), None, scope)
        result.set_shape(logs.shape)
        return result


def reduce_max(
    input_tensor: TensorLike,
    axis: TensorLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Greatest element over some axes.

    Args:
        input_tensor: real, any shape.
        axis: axes to reduce, an integer or several; None means all, [] none.
        keepdims: keep reduced axes as length 1.
        name: name of the operation.
        reduction_indices: old name of `axis`.
        keep_dims: old name of `keepdims`.

    Returns:
        Same element type as `input_tensor`; its shape without `axis`. -inf for an empty
        axis; for integers their least value.

    Raises:
        DTypeError: the op does not take the element type.
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: TF op `Max`.
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = either("keepdims", keepdims, "keep_dims", keep_dims)
    return _reduced("Max", input_tensor, axis, bool(keep), name)


def reduce_mean(
    input_tensor: TensorLike,
    axis: TensorLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Mean over some axes.

    Args:
        input_tensor: numeric, any shape.
        axis: axes to reduce, an integer or several; None means all, [] none.
        keepdims: keep reduced axes as length 1.
        name: name of the operation.
        reduction_indices: old name of `axis`.
        keep_dims: old name of `keepdims`.

    Returns:
        Same element type as `input_tensor`; its shape without `axis`. NaN for an empty axis.

    Raises:
        DTypeError: the op does not take the element type.
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: TF op `Mean`.
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = either("keepdims", keepdims, "keep_dims", keep_dims)
    return _reduced("Mean", input_tensor, axis, bool(keep), name)


def reduce_min(
    input_tensor: TensorLike,
    axis: TensorLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Least element over some axes.

    Args:
        input_tensor: real, any shape.
        axis: axes to reduce, an integer or several; None means all, [] none.
        keepdims: keep reduced axes as length 1.
        name: name of the operation.
        reduction_indices: old name of `axis`.
        keep_dims: old name of `keepdims`.

    Returns:
        Same element type as `input_tensor`; its shape without `axis`. inf for an empty
        axis; for integers their greatest value.

    Raises:
        DTypeError: the op does not take the element type.
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: TF op `Min`.
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = either("keepdims", keepdims, "keep_dims", keep_dims)
    return _reduced("Min", input_tensor, axis, bool(keep), name)


def reduce_prod(
    input_tensor: TensorLike,
    axis: TensorLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Product over some axes.

    Args:
        input_tensor: numeric, any shape.
        axis: axes to reduce, an integer or several; None means all, [] none.
        keepdims: keep reduced axes as length 1.
        name: name of the operation.
        reduction_indices: old name of `axis`.
        keep_dims: old name of `keepdims`.

    Returns:
        Same element type as `input_tensor`; its shape without `axis`. 1 for an empty axis.

    Raises:
        DTypeError: the op does not take the element type.
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: TF op `Prod`.
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = either("keepdims", keepdims, "keep_dims", keep_dims)
    return _reduced("Prod", input_tensor, axis, bool(keep), name)


def reduce_sum(
    input_tensor: TensorLike,
    axis: TensorLike = None,
    keepdims: bool | None = None,
    name: str | None = None,
    reduction_indices: TensorLike = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Sum over some axes.

    Args:
        input_tensor: numeric, any shape.
        axis: axes to reduce, an integer or several; None means all, [] none.
        keepdims: keep reduced axes as length 1.
        name: name of the operation.
        reduction_indices: old name of `axis`.
        keep_dims: old name of `keepdims`.

    Returns:
        Same element type as `input_tensor`; its shape without `axis`. 0 for an empty axis.

    Raises:
        DTypeError: the op does not take the element type.
        ShapeError: `axis` is outside the rank.
        ValueError: both names of an argument are given.

    Source: TF op `Sum`.
    """
    axis = either("axis", axis, "reduction_indices", reduction_indices)
    keep = either("keepdims", keepdims, "keep_dims", keep_dims)
    return _reduced("Sum", input_tensor, axis, bool(keep), name)


def _reduced(op: str, value: TensorLike, axis: Any, keep: bool, name: str | None) -> Tensor:
    attrs = {"keep_dims": keep}
    if axis is not None:
        axis = list(axis) if isinstance(axis, range) else axis
        return output(op, (value, axis), attrs, name)
    value = convert_to_tensor(value, name="input_tensor")
    with same_graph((value,)):
        result = output(op, (value, _all_axes(value)), attrs, name)
    if not keep:
        result.set_shape(())
    return result


def _all_axes(value: Tensor) -> Tensor:
    shape = value.type.shape
    if shape is not None:
        return constant_node(np.arange(len(shape), dtype=np.int32), dtypes.int32)
    return output("Range", (0, output("Rank", (value,)), 1), None, "range")
