"""Functions of one number, element by element."""

from __future__ import annotations

from graphvm.graph.conversion import TensorLike, convert_to_tensor, output
from graphvm.graph.graph import Tensor
from graphvm.ops.wrappers import Wrappers
from graphvm_runtime.dtypes import variant
from graphvm_runtime.errors import DTypeError

__all__ = [
    "abs", "ceil", "conj", "cos", "exp", "expm1", "floor", "is_finite", "is_inf", "is_nan",
    "log", "log1p", "negative", "reciprocal", "rint", "round", "rsqrt", "sigmoid", "sign",
    "sin", "sqrt", "square", "tanh",
]  # fmt: skip

_wrap = Wrappers(__name__)

abs = _wrap.unary("abs", "Abs", "real", "Absolute value of each element.")
cos = _wrap.unary("cos", "Cos", "floating or complex, in radians", "Cosine of each element.")
exp = _wrap.unary("exp", "Exp", "floating or complex", "Exponential of each element.")
log = _wrap.unary(
    "log", "Log", "floating or complex", "Natural logarithm of each element: -inf at 0, NaN below."
)
negative = _wrap.unary("negative", "Neg", "numeric", "Each element with its sign changed.")
reciprocal = _wrap.unary("reciprocal", "Reciprocal", "numeric", "One over each element.")
rsqrt = _wrap.unary(
    "rsqrt", "Rsqrt", "floating or complex", "One over the square root of each element."
)
sigmoid = _wrap.unary(
    "sigmoid",
    "Sigmoid",
    "floating or complex",
    "Logistic function of each element: 1 / (1 + exp(-x)).",
)
sign = _wrap.unary(
    "sign",
    "Sign",
    "numeric",
    "-1, 0 or 1 by the sign of each element; x / |x| where it is complex.",
)
sin = _wrap.unary("sin", "Sin", "floating or complex, in radians", "Sine of each element.")
sqrt = _wrap.unary(
    "sqrt", "Sqrt", "floating or complex", "Square root of each element, NaN below 0."
)
square = _wrap.unary("square", "Square", "numeric", "Square of each element.")
tanh = _wrap.unary("tanh", "Tanh", "floating or complex", "Hyperbolic tangent of each element.")
ceil = _wrap.unary(
    "ceil", "Ceil", "floating", "The least whole number that is not below each element."
)
expm1 = _wrap.unary(
    "expm1", "Expm1", "floating or complex", "Exponential of each element, less one; exact near 0."
)
floor = _wrap.unary(
    "floor", "Floor", "floating", "The greatest whole number that is not above each element."
)
log1p = _wrap.unary(
    "log1p",
    "Log1p",
    "floating or complex",
    "Natural logarithm of one plus each element; exact near 0.",
)
rint = _wrap.unary(
    "rint", "Rint", "floating", "The whole number next to each element, the even one of two."
)
is_finite = _wrap.unary(
    "is_finite",
    "IsFinite",
    "floating",
    "Whether an element is a finite number.",
    "bool, same shape.",
)
is_inf = _wrap.unary(
    "is_inf",
    "IsInf",
    "floating",
    "Whether an element is infinite, of either sign.",
    "bool, same shape.",
)
is_nan = _wrap.unary(
    "is_nan", "IsNan", "floating", "Whether an element is NaN.", "bool, same shape."
)


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
