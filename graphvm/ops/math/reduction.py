"""Reductions and scans along axes."""

from __future__ import annotations

from graphvm.graph.conversion import (
    TensorLike,
    convert_to_tensor,
    op_scope,
    output,
)
from graphvm.graph.graph import Tensor
from graphvm.ops.arguments import either
from graphvm.ops.wrappers import Wrappers, reduced
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype

__all__ = [
    "argmax", "argmin", "cumprod", "cumsum", "reduce_all", "reduce_any", "reduce_logsumexp",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
]  # fmt: skip

_wrap = Wrappers(__name__)

reduce_all = _wrap.reduction("reduce_all", "All", "bool", "Logical and over some axes.", "True")
reduce_any = _wrap.reduction("reduce_any", "Any", "bool", "Logical or over some axes.", "False")
reduce_max = _wrap.reduction(
    "reduce_max",
    "Max",
    "real",
    "Greatest element over some axes.",
    "-inf, for integers their least value",
)
reduce_mean = _wrap.reduction("reduce_mean", "Mean", "numeric", "Mean over some axes.", "NaN")
reduce_min = _wrap.reduction(
    "reduce_min",
    "Min",
    "real",
    "Least element over some axes.",
    "inf, for integers their greatest value",
)
reduce_prod = _wrap.reduction("reduce_prod", "Prod", "numeric", "Product over some axes.", "1")
reduce_sum = _wrap.reduction("reduce_sum", "Sum", "numeric", "Sum over some axes.", "0")


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
        top = reduced("Max", x, axis, True, None)
        # infinities would give NaN where the sum is infinite, or nothing
        finite = output("IsFinite", (top,))
        top = output("SelectV2", (finite, top, convert_to_tensor(0, x.dtype)))
        top = output("StopGradient", (top,))
        powers = output("Exp", (output("Sub", (x, top)),))
        logs = output("Log", (reduced("Sum", powers, axis, keep, None),))
        if not keep:
            top = output("Reshape", (top, output("Shape", (logs,))))
        result = output("AddV2", (logs, top), None, scope)
        result.set_shape(logs.shape)
        return result
