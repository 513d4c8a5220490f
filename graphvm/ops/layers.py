"""Small parts of networks: an affine layer, a loss of independent classes, the greatest entries."""

from __future__ import annotations

from typing import NamedTuple

from graphvm.graph.conversion import TensorLike, apply, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm.ops.array import where, zeros_like
from graphvm.ops.math import add, exp, greater_equal, log1p, matmul, negative
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import as_dtype
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.shapes import is_compatible, shape_text

__all__ = ["sigmoid_cross_entropy_with_logits", "top_k", "xw_plus_b"]


class TopK(NamedTuple):
    """What `top_k` gives."""

    values: Tensor
    indices: Tensor


def xw_plus_b(
    x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None
) -> Tensor:
    """A matrix product with a vector added to each row.

    Args:
        x: numeric, shape [rows, inside].
        weights: same element type, shape [inside, columns].
        biases: same element type, shape [columns].
        name: name of the operation.

    Returns:
        Same element type; shape [rows, columns].

    Raises:
        ShapeError: the shapes do not fit.

    Source: `tf.nn.xw_plus_b`, TF ops `MatMul`, `BiasAdd`.
    """
    with op_scope(name or "xw_plus_b", (x, weights, biases)) as scope:
        return output("BiasAdd", (matmul(x, weights), biases), None, scope)


def sigmoid_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike = None,
    logits: TensorLike = None,
    name: str | None = None,
) -> Tensor:
    """Cross entropy of each probability against a sigmoid, without overflow.

    Args:
        _sentinel: nothing; the others go by name.
        labels: element type and shape of `logits`, probabilities.
        logits: floating, any shape.
        name: name of the operation.

    Returns:
        Element type and shape of `logits`.

    Raises:
        ShapeError: the shapes differ.
        ValueError: arguments go by place, or one is missing.

    Source: `tf.nn.sigmoid_cross_entropy_with_logits`.
    """
    if _sentinel is not None:
        raise ValueError("sigmoid_cross_entropy_with_logits takes labels= and logits= by name only")
    if labels is None or logits is None:
        raise ValueError("sigmoid_cross_entropy_with_logits needs both labels and logits")
    with op_scope(name or "logistic_loss", (logits, labels)) as scope:
        x = convert_to_tensor(logits, name="logits")
        z = convert_to_tensor(labels, x.dtype.base, "labels")
        if not is_compatible(x.type.shape, z.type.shape):
            raise ShapeError(
                f"labels of shape {shape_text(z.type.shape)} for logits of shape "
                f"{shape_text(x.type.shape)}",
                made=user_line(),
                do="give both one shape",
            )
        # max(x, 0) - x * z + log(1 + exp(-abs(x))), with one derivative everywhere
        zero = zeros_like(x)
        above = greater_equal(x, zero)
        negated = where(above, negative(x), x)
        return add(where(above, x, zero) - x * z, log1p(exp(negated)), scope)


def top_k(
    input: TensorLike,
    k: TensorLike = 1,
    sorted: bool = True,
    index_type: object = dtypes.int32,
    name: str | None = None,
) -> TopK:
    """The greatest elements of each row, and where they are; of equal ones the first.

    Args:
        input: real, rank at least 1; rows are along the last axis.
        k: scalar integer, how many.
        sorted: greatest first, which they are in any case.
        index_type: int16, int32 or int64.
        name: name of the operation.

    Returns:
        `values` of the element type of `input` and `indices` of `index_type`, both of its shape
        with a last axis of length k.

    Raises:
        ShapeError: a row has fewer elements.

    Source: TF op `TopKV2`.
    """
    attrs = {"sorted": sorted, "index_type": as_dtype(index_type)}
    return TopK(*apply("TopKV2", (input, k), attrs, name).outputs)
