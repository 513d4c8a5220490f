"""Functions of neural networks."""

from __future__ import annotations

import builtins
from typing import Any

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm.ops.activations import (
    crelu,
    elu,
    leaky_relu,
    relu6,
    selu,
    softplus,
    softsign,
)
from graphvm.ops.arguments import either
from graphvm.ops.array import reshape, shape, stop_gradient, subscript, transpose, where_v2
from graphvm.ops.conv import (
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    conv2d_transpose,
    depthwise_conv2d,
    depthwise_conv2d_native,
    separable_conv2d,
)
from graphvm.ops.dropout import dropout
from graphvm.ops.embedding import embedding_lookup
from graphvm.ops.layers import (
    sigmoid_cross_entropy_with_logits,
    top_k,
    xw_plus_b,
)
from graphvm.ops.math import cast, equal, range, sigmoid, tanh
from graphvm.ops.pool import avg_pool, avg_pool2d, max_pool, max_pool2d
from graphvm.ops.wrappers import Wrappers
from graphvm_runtime import dtypes
from graphvm_runtime.errors import GraphError, ShapeError
from graphvm_runtime.shapes import is_compatible, normalized_axis, shape_text

__all__ = [
    "avg_pool", "avg_pool2d", "bias_add", "conv2d", "conv2d_backprop_filter",
    "conv2d_backprop_input", "conv2d_transpose", "crelu", "depthwise_conv2d",
    "depthwise_conv2d_native", "dropout", "elu", "embedding_lookup", "l2_loss", "leaky_relu",
    "log_softmax", "max_pool", "max_pool2d", "relu", "relu6", "selu", "separable_conv2d",
    "sigmoid", "sigmoid_cross_entropy_with_logits", "softmax",
    "softmax_cross_entropy_with_logits", "softmax_cross_entropy_with_logits_v2", "softplus",
    "softsign", "sparse_softmax_cross_entropy_with_logits", "tanh", "top_k", "xw_plus_b",
]  # fmt: skip

_wrap = Wrappers(__name__)

relu = _wrap.activation("relu", "Relu", "real", "max(x, 0) of each element; NaN stays.")


def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """A vector added along the axis of the channels.

    Args:
        value: numeric, rank at least 2.
        bias: same element type, a vector as long as that axis.
        data_format: NHWC, N...C (channels last, the default), NCHW or NC... (first).
        name: name of the operation.

    Returns:
        Same element type and shape as `value`.

    Raises:
        GraphError: there is no such data format.
        ShapeError: `bias` has another length.

    Source: TF op `BiasAdd`.
    """
    if data_format is None or data_format in ("NHWC", "NWC", "NDHWC") or data_format == "N...C":
        order = b"NHWC"
    elif data_format.startswith("NC"):
        order = b"NCHW"
    else:
        raise GraphError(f"there is no data format {data_format!r}")
    return output("BiasAdd", (value, bias), {"data_format": order}, name)


def softmax(
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """exp(x) / sum of exp(x) along one axis, without overflow.

    Args:
        logits: floating, rank at least 1.
        axis: the axis; the last one by default.
        name: name of the operation.
        dim: old name of `axis`.

    Returns:
        Same element type and shape.

    Raises:
        ShapeError: `axis` is outside the rank.
        ValueError: both names of the argument are given.

    Source: TF op `Softmax`.
    """
    return _along("Softmax", logits, either("axis", axis, "dim", dim), name)


def log_softmax(
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Logarithm of `softmax`, precise where the softmax is near 0.

    Args:
        logits: floating, rank at least 1.
        axis: the axis; the last one by default.
        name: name of the operation.
        dim: old name of `axis`.

    Returns:
        Same element type and shape.

    Raises:
        ShapeError: `axis` is outside the rank.
        ValueError: both names of the argument are given.

    Source: TF op `LogSoftmax`.
    """
    return _along("LogSoftmax", logits, either("axis", axis, "dim", dim), name)


def _along(op: str, logits: TensorLike, axis: int | None, name: str | None) -> Tensor:
    if axis is None or axis == -1:
        return output(op, (logits,), None, name)
    with op_scope(name or op, (logits,)) as scope:
        logits = convert_to_tensor(logits, name="logits")
        if _is_last(logits, axis):
            return output(op, (logits,), None, scope)
        order = _swapped_with_last(logits, axis)
        return transpose(output(op, (transpose(logits, order),)), order, scope)


def _is_last(x: Tensor, axis: int) -> bool:
    rank = x.shape.rank
    return axis == -1 or (rank is not None and normalized_axis(axis, rank) == rank - 1)


def _swapped_with_last(x: Tensor, axis: int) -> Any:
    """The order of axes that swaps `axis` with the last one, and undoes itself."""
    rank = x.shape.rank
    if rank is None:
        count = output("Rank", (x,))
        every, last = range(count), count - 1
        at: Any = axis if axis >= 0 else count + axis
        return where_v2(equal(every, at), last, where_v2(equal(every, last), at, every))
    order = [*builtins.range(rank)]
    at = normalized_axis(axis, rank)
    order[at], order[-1] = order[-1], order[at]
    return order


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Half the sum of the squares.

    Args:
        t: floating, any shape.
        name: name of the operation.

    Returns:
        Scalar of the same element type.

    Raises:
        DTypeError: the element type is not floating.

    Source: TF op `L2Loss`.
    """
    return output("L2Loss", (t,), None, name)


def softmax_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike = None,
    logits: TensorLike = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Cross entropy of probabilities against a softmax; no derivative goes to the labels.

    Args:
        _sentinel: nothing; the others go by name.
        labels: shape [..., classes], probabilities; cast to the type of the logits.
        logits: floating, same shape, logarithms of probabilities up to a constant.
        dim: old name of `axis`.
        name: name of the operation.
        axis: the axis of the classes; the last one by default.

    Returns:
        Same element type; the shape without the axis of the classes.

    Raises:
        ShapeError: the shapes differ.
        ValueError: arguments go by place, or one is missing.

    Source: TF op `SoftmaxCrossEntropyWithLogits`.
    """
    _by_name("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with op_scope(name or "softmax_cross_entropy_with_logits_sg", (logits, labels)) as scope:
        fixed = stop_gradient(labels, "labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(
            fixed, logits, dim if axis is None else axis, scope
        )


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Cross entropy of probabilities against a softmax; derivatives go to the labels too.

    Args:
        labels: shape [..., classes], probabilities; cast to the type of the logits.
        logits: floating, same shape, logarithms of probabilities up to a constant.
        axis: the axis of the classes; the last one by default.
        name: name of the operation.
        dim: old name of `axis`.

    Returns:
        Same element type; the shape without the axis of the classes.

    Raises:
        ShapeError: the shapes differ.
        ValueError: both names of an argument are given.

    Source: TF op `SoftmaxCrossEntropyWithLogits`.
    """
    axis = either("axis", axis, "dim", dim)
    axis = -1 if axis is None else axis
    op = "SoftmaxCrossEntropyWithLogits"
    with op_scope(name or "softmax_cross_entropy_with_logits", (logits, labels)) as scope:
        logits = convert_to_tensor(logits, name="logits")
        given = logits.dtype.base
        labels = (
            cast(labels, given) if isinstance(labels, Tensor)
            else convert_to_tensor(labels, given, "labels")
        )  # fmt: skip
        wide = dtypes.float32 if given in (dtypes.float16, dtypes.bfloat16) else given
        logits, labels = cast(logits, wide), cast(labels, wide)
        if not _is_last(logits, axis):
            order = _swapped_with_last(logits, axis)
            logits, labels = transpose(logits, order), transpose(labels, order)
        if logits.shape.rank == 2 and labels.shape.rank == 2:
            last = scope if wide is given else None
            return cast(output(op, (logits, labels), None, last), given, scope)
        losses = output(op, (_as_rows(logits), _as_rows(labels)))
        return reshape(cast(losses, given), _outer(logits), scope)


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike = None,
    logits: TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Cross entropy of one right class against a softmax.

    Args:
        _sentinel: nothing; the others go by name.
        labels: int32 or int64, shape [...], numbers of the right classes; one outside is an error
            when it runs.
        logits: floating, shape [..., classes], logarithms of probabilities up to a constant.
        name: name of the operation.

    Returns:
        Element type of `logits`; shape of `labels`.

    Raises:
        ShapeError: `labels` does not have the shape of `logits` without its last axis.
        ValueError: arguments go by place, or one is missing.

    Source: TF op `SparseSoftmaxCrossEntropyWithLogits`.
    """
    op = "SparseSoftmaxCrossEntropyWithLogits"
    _by_name("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with op_scope(name or op, (labels, logits)):
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        given = logits.dtype.base
        wide = dtypes.float32 if given in (dtypes.float16, dtypes.bfloat16) else given
        logits = cast(logits, wide)
        dims = logits.type.shape
        if dims is not None and not (dims and is_compatible(labels.type.shape, dims[:-1])):
            raise ShapeError(
                f"labels of shape {shape_text(labels.type.shape)} for logits of shape "
                f"{shape_text(dims)}",
                made=user_line(),
                do="labels have the shape of the logits without the last axis",
            )
        if dims is not None and len(dims) == 2:
            return cast(output(op, (logits, labels)), given)
        losses = output(op, (_as_rows(logits), reshape(labels, [-1])))
        result = reshape(cast(losses, given), shape(labels))
        result.set_shape(labels.shape)
        return result


def _by_name(function: str, sentinel: object, labels: TensorLike, logits: TensorLike) -> None:
    if sentinel is not None:
        raise ValueError(f"{function} takes labels= and logits= by name only")
    if labels is None or logits is None:
        raise ValueError(f"{function} needs both labels and logits")


def _as_rows(x: Tensor) -> Tensor:
    """All axes but the last as one."""
    dims = x.type.shape
    last = dims[-1] if dims else None
    return reshape(x, [-1, subscript(shape(x), -1) if last is None else last])


def _outer(x: Tensor) -> Tensor:
    """The shape without its last axis."""
    return subscript(shape(x), slice(None, -1))
