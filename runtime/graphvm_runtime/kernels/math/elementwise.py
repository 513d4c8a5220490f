"""Kernels of element-wise arithmetic, comparisons, choices and casts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType, bfloat16, bool_, string
from graphvm_runtime.errors import (
    DTypeError,
    GraphvmError,
    InternalError,
    InvalidArgumentError,
    UnimplementedError,
)
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import as_strings, is_low, widened
from graphvm_runtime.kernels.registry import Kernel, kernel, ufunc

ZERO_DIVISION = "integer division by zero"


def element_type(node: Node, attr: str = "T") -> np.dtype[Any]:
    """NumPy's type of a type attribute."""
    dtype: np.dtype[Any] = node.attrs[attr].numpy
    return dtype


# ------------------------------------------------------------------- one NumPy function does it all

ufunc("Maximum", np.maximum)
ufunc("Minimum", np.minimum)
ufunc("Sqrt", np.sqrt)
ufunc("Exp", np.exp)
ufunc("Expm1", np.expm1)
ufunc("Log", np.log)
ufunc("Log1p", np.log1p)
ufunc("Floor", np.floor)
ufunc("Ceil", np.ceil)
ufunc("Rint", np.rint)
ufunc("Sin", np.sin)
ufunc("Cos", np.cos)
ufunc("Tanh", np.tanh)
ufunc("LogicalNot", np.logical_not, "~{0}")
ufunc("Conj", np.conjugate)
ufunc("IsNan", np.isnan)
ufunc("IsInf", np.isinf)
ufunc("IsFinite", np.isfinite)
ufunc("NextAfter", np.nextafter)
ufunc("LogicalAnd", np.logical_and, "{0} & {1}")
ufunc("LogicalOr", np.logical_or, "{0} | {1}")


_ARITHMETIC: dict[str, tuple[Callable[..., Any], str]] = {
    "AddV2": (np.add, "{0} + {1}"), "Sub": (np.subtract, "{0} - {1}"),
    "Mul": (np.multiply, "{0} * {1}"), "Neg": (np.negative, "-{0}"),
    "Abs": (np.absolute, "abs({0})"), "Square": (np.square, "{0} * {0}"),
}  # fmt: skip


# NumPy rounds the products of complex arrays and of complex scalars differently
_ARITHMETIC_KERNELS = {
    (op, is_complex): Kernel(
        function, expression="" if is_complex else expression, out=True, inplace=True
    )
    for op, (function, expression) in _ARITHMETIC.items()
    for is_complex in (False, True)
}


def _arithmetic(node: Node) -> Kernel:
    return _ARITHMETIC_KERNELS[node.op.name, node.attrs["T"].is_complex]


kernel(*_ARITHMETIC)(_arithmetic)

_COMPARISONS: dict[str, tuple[Callable[..., Any], str]] = {
    "Less": (np.less, "<"), "LessEqual": (np.less_equal, "<="),
    "Greater": (np.greater, ">"), "GreaterEqual": (np.greater_equal, ">="),
    "Equal": (np.equal, "=="), "NotEqual": (np.not_equal, "!="),
}  # fmt: skip


def _comparison(node: Node) -> Kernel:
    function, sign = _COMPARISONS[node.op.name]
    # a comparison of two bfloat16 scalars, or two strings, gives a bool of Python's
    native = element_type(node).kind in "fiucb"
    return Kernel(function, expression=f"{{0}} {sign} {{1}}" if native else "", out=True)


kernel("Less", "LessEqual", "Greater", "GreaterEqual")(_comparison)


@kernel("ApproximateEqual")
def _approximately_equal(node: Node) -> Callable[..., Any]:
    dtype = element_type(node)
    tolerance = node.attrs["tolerance"]
    if not is_low(dtype) and dtype.kind != "V":
        tolerance = dtype.type(tolerance) if dtype.kind == "f" else tolerance
    return lambda x, y: np.abs(x - y) < tolerance


@kernel("Equal", "NotEqual")
def _equality(node: Node) -> Kernel:
    if node.attrs["incompatible_shape_error"]:
        return _comparison(node)
    function, differs = _COMPARISONS[node.op.name][0], node.op.name == "NotEqual"

    def call(x: Array, y: Array) -> Any:
        try:
            np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return np.bool_(differs)
        return function(x, y)

    return Kernel(call)


@kernel("Add")
def _add(node: Node) -> Kernel:
    if node.attrs["T"] is string:
        return Kernel(lambda x, y: as_strings(np.add(x, y)))
    return Kernel(np.add, expression="{0} + {1}", out=True, inplace=True)


@kernel("Round")
def _round(node: Node) -> Kernel:
    if node.attrs["T"].is_integer:
        return Kernel(lambda x: x, aliases=(0,))
    return Kernel(np.rint, out=True, inplace=True)


@kernel("Sign")
def _sign(node: Node) -> Kernel:
    if node.attrs["T"].is_complex:
        zero = element_type(node).type(0)

        def call(x: Array) -> Any:
            return np.where(x == zero, zero, x / np.absolute(x))

        return Kernel(call)
    return Kernel(np.sign, out=True, inplace=True)


@kernel("ClipByValue")
def _clip(node: Node) -> Kernel:
    if node.attrs["T"].is_complex:
        raise UnimplementedError("complex numbers have no order to clip by")

    def call(x: Array, least: Array, most: Array) -> Any:
        for bound in (least, most):
            if bound.shape not in ((), x.shape):
                raise InvalidArgumentError(
                    f"a bound is a scalar or has the shape {list(x.shape)}, got {list(bound.shape)}"
                )
        return np.maximum(np.minimum(x, most), least)

    return Kernel(call)


# ----------------------------------------------------------------------------------------- division


def _checked(
    function: Callable[..., Any], error: type[GraphvmError] = InvalidArgumentError
) -> Kernel:
    """An integer division that refuses zero, unless there is nothing to divide."""

    def call(x: Array, y: Array) -> Any:
        if not (y.all() if y.ndim else y) and x.size:
            raise error(ZERO_DIVISION)
        return function(x, y)

    return Kernel(call)


def truncated_division(x: Array, y: Array) -> Any:
    """Integer quotient rounded towards zero."""
    quotient = np.floor_divide(x, y)
    return quotient + ((quotient * y != x) & ((x < 0) != (y < 0)))


def _complex_division(x: Array, y: Array) -> Any:
    """Not a number where the divisor is zero; NumPy gives infinities there."""
    nan = y.dtype.type(complex(np.nan, np.nan))
    return np.where(y == 0, nan, np.true_divide(x, y))


@kernel("RealDiv", "Div")
def _real_div(node: Node) -> Kernel:
    if node.attrs["T"].is_complex:
        return Kernel(_complex_division)
    if node.attrs["T"].is_integer:
        dtype = element_type(node)
        return _checked(lambda x, y: truncated_division(x, y).astype(dtype))
    return Kernel(np.true_divide, expression="{0} / {1}", out=True, inplace=True)


@kernel("FloorDiv")
def _floor_div(node: Node) -> Kernel:
    dtype: DType = node.attrs["T"]
    if dtype.is_complex:
        raise DTypeError(f"FloorDiv has no meaning for {dtype.name}")
    if dtype.is_integer:
        return _checked(np.floor_divide)

    # not floor_divide: its quotient is exact, TensorFlow's is rounded first
    def call(x: Array, y: Array, out: Array | None = None) -> Any:
        return np.floor(np.true_divide(x, y, out=out), out=out)

    return Kernel(call, out=True, inplace=True)


@kernel("TruncateDiv")
def _truncate_div(node: Node) -> Kernel:
    dtype = element_type(node)
    if node.attrs["T"].is_integer:
        return _checked(lambda x, y: truncated_division(x, y).astype(dtype), InternalError)
    return Kernel(widened(lambda x, y: np.trunc(np.true_divide(x, y)), dtype))


@kernel("Mod", "TruncateMod")
def _truncate_mod(node: Node) -> Kernel:
    if node.attrs["T"].is_integer:
        # TensorFlow's class of error, which it is for these two ops
        error = InternalError if node.op.name == "TruncateMod" else InvalidArgumentError
        return _checked(np.fmod, error)
    return Kernel(np.fmod, out=True, inplace=True)


@kernel("FloorMod")
def _floor_mod(node: Node) -> Kernel:
    if node.attrs["T"].is_integer:
        return _checked(np.remainder)
    return Kernel(np.remainder, expression="{0} % {1}", out=True, inplace=True)


@kernel("DivNoNan")
def _div_no_nan(node: Node) -> Kernel:
    zero = element_type(node).type(0)

    def call(x: Array, y: Array) -> Any:
        return np.where(y == zero, zero, np.true_divide(x, y))

    return Kernel(call)


@kernel("MulNoNan")
def _mul_no_nan(node: Node) -> Callable[..., Any]:
    zero = element_type(node).type(0)
    return lambda x, y: np.where(y == zero, zero, x * y)


_WITHOUT_NAN: dict[str, Callable[..., Any]] = {
    "Xdivy": lambda x, y: _complex_division(x, y) if y.dtype.kind == "c" else np.true_divide(x, y),
    "Xlogy": lambda x, y: x * np.log(y),
    "Xlog1py": lambda x, y: x * np.log1p(y),
}


@kernel(*_WITHOUT_NAN)
def _zero_at_zero(node: Node) -> Callable[..., Any]:
    """Zero where the first input is, whatever the second is."""
    function, zero = _WITHOUT_NAN[node.op.name], element_type(node).type(0)
    return widened(lambda x, y: np.where(x == zero, zero, function(x, y)), zero.dtype)


@kernel("Reciprocal", "Inv")
def _reciprocal(node: Node) -> Kernel:
    if node.attrs["T"].is_integer:
        one = element_type(node).type(1)
        checked = _checked(truncated_division).call
        dtype = element_type(node)
        return Kernel(lambda x: checked(one, x).astype(dtype))
    return Kernel(np.reciprocal, out=True, inplace=True)


@kernel("Pow")
def _pow(node: Node) -> Kernel:
    if not node.attrs["T"].is_integer:
        return Kernel(np.power, out=True, inplace=True)

    def call(x: Array, y: Array) -> Any:
        if (y < 0).any():
            if not x.size:  # nothing is raised to any power
                return np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
            raise InvalidArgumentError("integers to negative integer powers are not allowed")
        return np.power(x, y)

    return Kernel(call)


# ----------------------------------------------------------------- compositions of a few functions


def _composed(
    op: str,
    make: Callable[[Any], Callable[..., Any]],
    low: Callable[[Any], Callable[..., Any]] | None = None,
) -> None:
    """Registers a kernel that a function of the type's one makes.

    Each step of a 16-bit float is rounded, as TensorFlow does it on a CPU.

    Args:
        op: its name.
        make: makes the function.
        low: makes that of 16-bit floats, where TensorFlow orders their steps in another way.
    """

    def maker(node: Node) -> Kernel:
        dtype = element_type(node)
        if low is not None and is_low(dtype):
            return Kernel(low(dtype.type(1)))
        return Kernel(make(dtype.type(1)), out=True, inplace=True)

    kernel(op)(maker)


@kernel("Rsqrt")
def _rsqrt(node: Node) -> Kernel:
    dtype = element_type(node)

    def call(x: Array, out: Array | None = None) -> Any:
        return np.true_divide(x.dtype.type(1), np.sqrt(x, out=out), out=out)

    if is_low(dtype):  # rounded once
        return Kernel(widened(call, dtype))
    return Kernel(call, out=True, inplace=True)


def sigmoid(one: Any) -> Callable[..., Any]:
    """The logistic function of arrays whose type has this one."""

    def call(x: Array, out: Array | None = None) -> Any:
        if out is None and not x.ndim:
            return one / (one + np.exp(-x))
        out = np.negative(x, out=out)
        np.exp(out, out=out)
        np.add(out, one, out=out)
        return np.true_divide(one, out, out=out)

    return call


def _low_sigmoid(one: Any) -> Callable[..., Any]:
    def call(x: Array) -> Any:
        exponential = np.exp(x)
        return np.where(np.isinf(exponential), one, exponential / (one + exponential))

    return call


def _low_sigmoid_grad(one: Any) -> Callable[..., Any]:
    return lambda y, dy: dy * (y * (one - y))


def _low_sqrt_grad(one: Any) -> Callable[..., Any]:
    half, zero = one / (one + one), one - one
    return lambda y, dy: np.where(dy == zero, zero, dy * (half / y))


def _low_reciprocal_grad(one: Any) -> Callable[..., Any]:
    return lambda y, dy: y * y * -dy


def _sigmoid_grad(one: Any) -> Callable[..., Any]:
    def call(y: Array, dy: Array, out: Array | None = None) -> Any:
        return np.multiply(dy * y, one - y, out=out)

    return call


def _tanh_grad(one: Any) -> Callable[..., Any]:
    def call(y: Array, dy: Array, out: Array | None = None) -> Any:
        return np.multiply(dy, one - y * y, out=out)

    return call


def _sqrt_grad(one: Any) -> Callable[..., Any]:
    half, zero = one / (one + one), one - one

    def call(y: Array, dy: Array, out: Array | None = None) -> Any:
        result = np.where(dy == zero, zero, dy * half / _conjugated(y))
        return result if out is None else _filled(out, result)

    return call


def _rsqrt_grad(one: Any) -> Callable[..., Any]:
    half, zero = -one / (one + one), one - one

    def call(y: Array, dy: Array, out: Array | None = None) -> Any:
        y = _conjugated(y)
        result = np.where(dy == zero, zero, half * (dy * y) * (y * y))
        return result if out is None else _filled(out, result)

    return call


def _reciprocal_grad(one: Any) -> Callable[..., Any]:
    def call(y: Array, dy: Array, out: Array | None = None) -> Any:
        y = _conjugated(y)
        return np.multiply(-dy * y, y, out=out)

    return call


def _squared_difference(one: Any) -> Callable[..., Any]:
    def call(x: Array, y: Array, out: Array | None = None) -> Any:
        difference = np.subtract(x, y, out=out)
        return np.multiply(difference, _conjugated(difference), out=out)

    return call


def _conjugated(x: Any) -> Any:
    return x.conj() if x.dtype.kind == "c" else x


def _filled(out: Array, value: Any) -> Array:
    out[...] = value
    return out


_composed("Sigmoid", sigmoid, _low_sigmoid)
_composed("SigmoidGrad", _sigmoid_grad, _low_sigmoid_grad)
_composed("TanhGrad", _tanh_grad)
_composed("SqrtGrad", _sqrt_grad, _low_sqrt_grad)
_composed("RsqrtGrad", _rsqrt_grad)
_composed("SquaredDifference", _squared_difference)
for _name in ("ReciprocalGrad", "InvGrad"):
    _composed(_name, _reciprocal_grad, _low_reciprocal_grad)


# ---------------------------------------------------------------------------------- choosing, casts


def _chosen(condition: Array, then: Array, other: Array) -> Any:
    if not condition.ndim and not then.ndim and not other.ndim:
        return (then if condition else other)[()]
    return np.where(condition, then, other)


@kernel("SelectV2")
def _select_v2(node: Node) -> Callable[..., Any]:
    return np.where if not node.attrs["T"].is_numpy_compatible else _chosen


@kernel("Select")
def _select(node: Node) -> Callable[..., Any]:
    def call(condition: Array, then: Array, other: Array) -> Any:
        if then.shape != other.shape:
            raise InvalidArgumentError(
                f"the two choices have the shapes {list(then.shape)} and {list(other.shape)}"
            )
        if condition.shape != then.shape and condition.ndim:
            if condition.ndim != 1 or not then.ndim or len(condition) != len(then):
                raise InvalidArgumentError(
                    f"a condition of shape {list(condition.shape)} for choices of shape "
                    f"{list(then.shape)}"
                )
            condition = condition.reshape((-1,) + (1,) * (then.ndim - 1))
        return np.where(condition, then, other)

    return call


@kernel("Cast")
def _cast(node: Node) -> Kernel:
    source, target = node.attrs["SrcT"].base, node.attrs["DstT"].base
    if source is target:
        return Kernel(lambda x: x, aliases=(0,))
    to = target.numpy
    if not source.is_numpy_compatible or not target.is_numpy_compatible:
        raise DTypeError(
            f"no cast from {source.name} to {target.name}",
            do="use as_string" if target is string else "decode it in Python, and feed the numbers",
        )
    if target is bool_:
        zero = source.numpy.type(0)
        # a complex number counts by its real part
        return Kernel((lambda x: x.real != 0) if source.is_complex else (lambda x: x != zero))
    if source.is_complex and not target.is_complex:
        return Kernel(lambda x: x.real.astype(to))
    if node.attrs["Truncate"] and target.is_floating and source.is_floating:
        return Kernel(_truncating(source, target))
    return Kernel(lambda x: x.astype(to))


def _truncating(source: DType, target: DType) -> Callable[..., Any]:
    """A cast to a shorter float that rounds towards zero."""
    to = target.numpy
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}[to.itemsize]
    if target.size >= source.size and target is not bfloat16:
        return lambda x: x.astype(to)

    def call(x: Array) -> Any:
        near = np.asarray(x.astype(to))
        beyond = np.abs(near.astype(np.float64)) > np.abs(x.astype(np.float64))
        lower = (near.view(bits) - bits(1)).view(to)  # the neighbour nearer to zero
        return np.where(beyond, lower, near)[()]

    return call
