"""Functions of one number, element by element."""

from __future__ import annotations

from graphvm.graph.conversion import TensorLike, convert_to_tensor, output
from graphvm.graph.graph import Tensor
from graphvm_runtime.dtypes import variant
from graphvm_runtime.errors import DTypeError

__all__ = [
    "abs", "ceil", "conj", "cos", "exp", "expm1", "floor", "is_finite", "is_inf", "is_nan",
    "log", "log1p", "negative", "reciprocal", "rint", "round", "rsqrt", "sigmoid", "sign",
    "sin", "sqrt", "square", "tanh",
]  # fmt: skip


def abs(x: TensorLike, name: str | None = None) -> Tensor:
    """Absolute value of each element.

    Args:
        x: real, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Abs`.
    """
    return output("Abs", (x,), None, name)


def cos(x: TensorLike, name: str | None = None) -> Tensor:
    """Cosine of each element.

    Args:
        x: floating or complex, in radians, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Cos`.
    """
    return output("Cos", (x,), None, name)


def exp(x: TensorLike, name: str | None = None) -> Tensor:
    """Exponential of each element.

    Args:
        x: floating or complex, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Exp`.
    """
    return output("Exp", (x,), None, name)


def log(x: TensorLike, name: str | None = None) -> Tensor:
    """Natural logarithm of each element: -inf at 0, NaN below.

    Args:
        x: floating or complex, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Log`.
    """
    return output("Log", (x,), None, name)


def conj(x: TensorLike, name: str | None = None) -> Tensor:
    """Complex conjugate of each element; real numbers stay as they are.

    Args:
        x: numeric, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`; `x` itself where it is real.

    Raises:
        DTypeError: `x` is not numeric.

    Source: TF op `Conj`, `tf.math.conj`.
    """
    tensor = convert_to_tensor(x)
    if tensor.dtype.is_complex or tensor.dtype is variant:
        return output("Conj", (tensor,), None, name)
    if tensor.dtype.is_floating or tensor.dtype.is_integer:
        return tensor
    raise DTypeError(f"conj takes numbers, not {tensor.dtype.name}")


def negative(x: TensorLike, name: str | None = None) -> Tensor:
    """Each element with its sign changed.

    Args:
        x: numeric, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Neg`.
    """
    return output("Neg", (x,), None, name)


def reciprocal(x: TensorLike, name: str | None = None) -> Tensor:
    """One over each element.

    Args:
        x: numeric, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Reciprocal`.
    """
    return output("Reciprocal", (x,), None, name)


def rsqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """One over the square root of each element.

    Args:
        x: floating or complex, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Rsqrt`.
    """
    return output("Rsqrt", (x,), None, name)


def sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Logistic function of each element: 1 / (1 + exp(-x)).

    Args:
        x: floating or complex, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Sigmoid`.
    """
    return output("Sigmoid", (x,), None, name)


def sign(x: TensorLike, name: str | None = None) -> Tensor:
    """-1, 0 or 1 by the sign of each element; x / |x| where it is complex.

    Args:
        x: numeric, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Sign`.
    """
    return output("Sign", (x,), None, name)


def sin(x: TensorLike, name: str | None = None) -> Tensor:
    """Sine of each element.

    Args:
        x: floating or complex, in radians, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Sin`.
    """
    return output("Sin", (x,), None, name)


def sqrt(x: TensorLike, name: str | None = None) -> Tensor:
    """Square root of each element, NaN below 0.

    Args:
        x: floating or complex, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Sqrt`.
    """
    return output("Sqrt", (x,), None, name)


def square(x: TensorLike, name: str | None = None) -> Tensor:
    """Square of each element.

    Args:
        x: numeric, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Square`.
    """
    return output("Square", (x,), None, name)


def tanh(x: TensorLike, name: str | None = None) -> Tensor:
    """Hyperbolic tangent of each element.

    Args:
        x: floating or complex, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Tanh`.
    """
    return output("Tanh", (x,), None, name)


def ceil(x: TensorLike, name: str | None = None) -> Tensor:
    """The least whole number that is not below each element.

    Args:
        x: floating, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Ceil`.
    """
    return output("Ceil", (x,), None, name)


def expm1(x: TensorLike, name: str | None = None) -> Tensor:
    """Exponential of each element, less one; exact near 0.

    Args:
        x: floating or complex, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Expm1`.
    """
    return output("Expm1", (x,), None, name)


def floor(x: TensorLike, name: str | None = None) -> Tensor:
    """The greatest whole number that is not above each element.

    Args:
        x: floating, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Floor`.
    """
    return output("Floor", (x,), None, name)


def log1p(x: TensorLike, name: str | None = None) -> Tensor:
    """Natural logarithm of one plus each element; exact near 0.

    Args:
        x: floating or complex, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Log1p`.
    """
    return output("Log1p", (x,), None, name)


def rint(x: TensorLike, name: str | None = None) -> Tensor:
    """The whole number next to each element, the even one of two.

    Args:
        x: floating, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `Rint`.
    """
    return output("Rint", (x,), None, name)


def round(x: TensorLike, name: str | None = None) -> Tensor:
    """The whole number next to each element, the even one of two.

    Args:
        x: numeric, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`; the tensor itself where it holds integers.

    Source: TF op `Round`, `tf.round`.
    """
    tensor = convert_to_tensor(x, name="x")
    return tensor if tensor.dtype.is_integer else output("Round", (tensor,), None, name)


def is_finite(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether an element is a finite number.

    Args:
        x: floating, any shape.
        name: name of the operation.

    Returns:
        bool, same shape.

    Raises:
        DTypeError: the element type is not floating.

    Source: TF op `IsFinite`.
    """
    return output("IsFinite", (x,), None, name)


def is_inf(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether an element is infinite, of either sign.

    Args:
        x: floating, any shape.
        name: name of the operation.

    Returns:
        bool, same shape.

    Raises:
        DTypeError: the element type is not floating.

    Source: TF op `IsInf`.
    """
    return output("IsInf", (x,), None, name)


def is_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether an element is NaN.

    Args:
        x: floating, any shape.
        name: name of the operation.

    Returns:
        bool, same shape.

    Raises:
        DTypeError: the element type is not floating.

    Source: TF op `IsNan`.
    """
    return output("IsNan", (x,), None, name)
