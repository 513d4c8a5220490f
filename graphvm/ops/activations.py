"""Rectifiers with a slope, a limit or an exponential below zero; softened ones."""

from __future__ import annotations

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.ops.array import concat
from graphvm.ops.math import cast
from graphvm.ops.wrappers import Wrappers
from graphvm_runtime import dtypes

__all__ = ["crelu", "elu", "leaky_relu", "relu6", "selu", "softplus", "softsign"]

_wrap = Wrappers(__name__)

relu6 = _wrap.activation("relu6", "Relu6", "real", "min(max(x, 0), 6) of each element.")
elu = _wrap.activation("elu", "Elu", "floating", "`x` above zero, exp(x) - 1 below.")
selu = _wrap.activation(
    "selu",
    "Selu",
    "floating",
    "`elu` with scales that keep the mean and variance of normal numbers.",
)
softplus = _wrap.activation(
    "softplus", "Softplus", "floating", "log(1 + exp(x)) of each element, without overflow."
)
softsign = _wrap.activation("softsign", "Softsign", "floating", "X / (1 + abs(x)) of each element.")


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
