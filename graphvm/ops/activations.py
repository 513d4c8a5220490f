"""Rectifiers with a slope, a limit or an exponential below zero; softened ones."""

from __future__ import annotations

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.ops.array import concat
from graphvm.ops.math import cast
from graphvm_runtime import dtypes

__all__ = ["crelu", "elu", "leaky_relu", "relu6", "selu", "softplus", "softsign"]


def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """`x` above zero, `alpha * x` below.

    Args:
        features: floating, any shape; integers become float32.
        alpha: the slope below zero.
        name: name of the operation.

    Returns:
        Same shape.

    Source: TF op `LeakyRelu`.
    """
    with op_scope(name or "LeakyRelu", (features,)) as scope:
        x = convert_to_tensor(features, name="features")
        if x.dtype.base.is_integer:
            x = cast(x, dtypes.float32)
        return output("LeakyRelu", (x,), {"alpha": float(alpha)}, scope)


def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """min(max(x, 0), 6) of each element.

    Args:
        features: real, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape.

    Raises:
        DTypeError: the element type is not real.

    Source: TF op `Relu6`.
    """
    return output("Relu6", (features,), None, name)


def elu(features: TensorLike, name: str | None = None) -> Tensor:
    """`x` above zero, exp(x) - 1 below.

    Args:
        features: floating, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape.

    Raises:
        DTypeError: the element type is not floating.

    Source: TF op `Elu`.
    """
    return output("Elu", (features,), None, name)


def selu(features: TensorLike, name: str | None = None) -> Tensor:
    """`elu` with scales that keep the mean and variance of normal numbers.

    Args:
        features: floating, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape.

    Raises:
        DTypeError: the element type is not floating.

    Source: TF op `Selu`.
    """
    return output("Selu", (features,), None, name)


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """The positive part beside the negative part.

    Args:
        features: real, rank at least 1.
        name: name of the operation.
        axis: where the two are joined.

    Returns:
        Same element type; `axis` is twice as long.

    Raises:
        ShapeError: `axis` is outside the rank.

    Source: TF ops `Neg`, `ConcatV2`, `Relu`.
    """
    with op_scope(name or "CRelu", (features,)) as scope:
        x = convert_to_tensor(features, name="features")
        both = concat([x, output("Neg", (x,))], axis, scope.rstrip("/"))
        return output("Relu", (both,))


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """log(1 + exp(x)) of each element, without overflow.

    Args:
        features: floating, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape.

    Raises:
        DTypeError: the element type is not floating.

    Source: TF op `Softplus`.
    """
    return output("Softplus", (features,), None, name)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """X / (1 + abs(x)) of each element.

    Args:
        features: floating, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape.

    Raises:
        DTypeError: the element type is not floating.

    Source: TF op `Softsign`.
    """
    return output("Softsign", (features,), None, name)
