"""Rows of the math family."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.plain import each, positions, precise
from tests.ops.rows import Row, Sample, Wrong, given, ints, numbers

NAN, INF = math.nan, math.inf


def special(dtype: DType) -> Any:
    """Numbers where functions have corners."""
    if dtype.is_floating:
        return np.array([0.0, -0.0, 1.0, -1.0, 0.5, INF, -INF, NAN]).astype(dtype.numpy)
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        return np.array([0, 1, 2, info.max, info.min], dtype.numpy)
    return numbers(dtype, 4)


def unary(low: float = -3.0, high: float = 3.0) -> Callable[[DType], Iterable[Sample]]:
    """Samples of an op of one input."""

    def samples(dtype: DType) -> Iterable[Sample]:
        yield given(numbers(dtype, 3, 4, low=low, high=high))
        yield given(numbers(dtype, low=low, high=high, seed=1))
        yield given(numbers(dtype, 0, 2))
        yield given(special(dtype))

    return samples


def binary(
    low: float = -3.0, high: float = 3.0, low2: float | None = None, corners: bool = True
) -> Callable[[DType], Iterable[Sample]]:
    """Samples of an op of two inputs that broadcast."""

    def samples(dtype: DType) -> Iterable[Sample]:
        second = low if low2 is None else low2

        def y(*shape: int, seed: int) -> Any:
            return numbers(dtype, *shape, low=second, high=high, seed=seed)

        yield given(numbers(dtype, 2, 3, low=low, high=high), y(2, 3, seed=1))
        yield given(numbers(dtype, 2, 1, 3, low=low, high=high), y(4, 1, seed=2))
        yield given(numbers(dtype, low=low, high=high), y(seed=3))
        yield given(numbers(dtype, 3, low=low, high=high, seed=4), y(seed=5))
        yield given(numbers(dtype, 0, 3), y(1, 3, seed=6))
        if corners:
            yield given(special(dtype)[:, None], special(dtype))

    return samples


def pair(low: float = -3.0, high: float = 3.0) -> Callable[[DType], Iterable[Sample]]:
    """Samples of an op of two inputs of one shape."""

    def samples(dtype: DType) -> Iterable[Sample]:
        for shape in ((2, 3), (), (0,)):
            yield given(
                numbers(dtype, *shape, low=low, high=high),
                numbers(dtype, *shape, low=low, high=high, seed=1),
            )
        zero = np.zeros(3, dtype.numpy)
        yield given(zero, np.array([0, 1, 2]).astype(dtype.numpy))

    return samples


def mismatched(message: str = "do not broadcast", running: str = "broadcast") -> tuple[Wrong, ...]:
    """Two inputs that do not broadcast."""
    x, y = np.zeros((2, 3), np.float32), np.zeros(4, np.float32)
    return (Wrong(given(x, y), rf"{message}", running),)


UNEQUAL = (Wrong(given(np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)), r"differ", ""),)


def real_or_complex(real: Callable[..., Any], complex_: Callable[..., Any]) -> Callable[..., Any]:
    """A function that has a form for complex numbers; outside its domain a real one gives NaN."""

    def call(*numbers_: Any) -> Any:
        if any(isinstance(n, complex) for n in numbers_):
            return complex_(*numbers_)
        try:
            return real(*numbers_)
        except ValueError:
            return NAN
        except OverflowError:
            return INF

    return call


def divided(x: Any, y: Any) -> Any:
    """Quotient of floats with infinities."""
    if y != 0:
        return x / y
    if isinstance(x, complex) or x == 0 or math.isnan(x):
        return NAN
    return math.copysign(INF, x) * math.copysign(1.0, y)


def floored_modulo(x: Any, y: Any) -> Any:
    """Remainder with the sign of the divisor."""
    if isinstance(x, int):
        return x % y
    if y == 0 or math.isinf(x) or math.isnan(x) or math.isnan(y):
        return NAN
    rest = math.fmod(x, y)
    return rest + y if rest and (rest < 0) != (y < 0) else rest


def floored_quotient(x: Any, y: Any) -> Any:
    """Quotient rounded down."""
    if isinstance(x, int):
        return x // y
    quotient = divided(x, y)
    return quotient if not math.isfinite(quotient) else math.floor(quotient)


def larger(x: Any, y: Any) -> Any:
    """Maximum that hands NaN on."""
    return NAN if x != x or y != y else max(x, y)


def smaller(x: Any, y: Any) -> Any:
    """Minimum that hands NaN on."""
    return NAN if x != x or y != y else min(x, y)


def sign(x: Any) -> Any:
    """-1, 0 or 1, or the direction of a complex number."""
    if isinstance(x, complex):
        return x / abs(x) if x else 0
    return x if x != x else (x > 0) - (x < 0)


def logistic(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + math.exp(-x)) if x > -700 else (NAN if x != x else 0.0)


def exponential(x: float) -> float:
    """Exp with an infinite limit."""
    return math.exp(x) if x < 1000 or x != x else INF


def less_one(x: float) -> float:
    """Exp - 1 with an infinite limit."""
    return math.expm1(x) if x < 1000 or x != x else INF


def whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """A rounding, of finite numbers only."""
    return lambda x: function(x) if math.isfinite(x) else x


def logarithm(x: float) -> float:
    """Log with an infinite limit."""
    return -INF if x == 0 else math.log(x)


def wave(function: Callable[[float], float]) -> Callable[[float], float]:
    """A periodic function, NaN at infinity."""
    return lambda x: function(x) if math.isfinite(x) else NAN


def power(x: Any, y: Any) -> Any:
    """X ** y as C has it."""
    if isinstance(x, int):
        return x**y
    if isinstance(x, complex):
        return x**y
    try:
        return math.pow(x, y)
    except ValueError:
        return INF if x == 0 else NAN
    except OverflowError:
        return INF


def conjugated(x: Any) -> Any:
    """Complex conjugate."""
    return x.conjugate()


EXACT_DIVISION = (Wrong(given(ints(1, 2), ints(1, 0)), "", "division by zero"),)
ELEMENTWISE = (
    Row("Neg", unary(), each(lambda x: -x)),
    Row("Abs", unary(), each(abs)),
    Row("Conj", unary(), each(lambda x: x.conjugate()), types=dtypes.COMPLEX),
    Row("Sign", unary(), each(sign)),
    Row(
        "Reciprocal", unary(0.5, 4.0), each(lambda x: divided(1.0, x)),
        types=(dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16),
    ),
    Row("Square", unary(), each(lambda x: x * x)),
    Row("Sqrt", unary(0.0, 9.0), each(real_or_complex(math.sqrt, cmath.sqrt)), domain=(0.5, 4.0)),
    Row(
        "Rsqrt", unary(0.5, 9.0),
        each(real_or_complex(lambda x: divided(1.0, math.sqrt(x)), lambda x: 1 / cmath.sqrt(x))),
        domain=(0.5, 4.0),
    ),
    Row("Exp", unary(), each(real_or_complex(exponential, cmath.exp))),
    Row("Log", unary(0.1, 9.0), each(real_or_complex(logarithm, cmath.log)), domain=(0.2, 4.0)),
    Row("Expm1", unary(), each(real_or_complex(less_one, lambda x: cmath.exp(x) - 1))),
    Row(
        "Log1p", unary(-0.9, 9.0),
        each(real_or_complex(lambda x: -INF if x == -1 else math.log1p(x),
                             lambda x: cmath.log(1 + x))),
        domain=(-0.7, 4.0),
    ),
    Row("Floor", unary(), each(whole(math.floor))),
    Row("Ceil", unary(), each(whole(math.ceil))),
    Row("Rint", unary(), each(whole(round))),
    Row(
        "Round", unary(),
        each(lambda x: complex(round(x.real), round(x.imag)) if isinstance(x, complex)
             else whole(round)(x)),
    ),
    Row("Sin", unary(), each(real_or_complex(wave(math.sin), cmath.sin))),
    Row("Cos", unary(), each(real_or_complex(wave(math.cos), cmath.cos))),
    Row("Tanh", unary(), each(real_or_complex(math.tanh, cmath.tanh))),
    Row("Sigmoid", unary(), each(real_or_complex(logistic, lambda x: 1 / (1 + cmath.exp(-x))))),
    Row(
        "SqrtGrad", pair(0.5, 3.0),
        each(lambda y, dy: 0.0 if dy == 0 else divided(dy * 0.5, conjugated(y))),
        wrong=UNEQUAL, domain=(0.5, 2.0),
    ),
    Row(
        "RsqrtGrad", pair(0.5, 3.0),
        each(lambda y, dy: 0.0 if dy == 0 else -0.5 * dy * conjugated(y) ** 3),
        wrong=UNEQUAL, domain=(0.5, 2.0),
    ),
    Row(
        "ReciprocalGrad", pair(), each(lambda y, dy: -dy * conjugated(y) ** 2), wrong=UNEQUAL,
    ),
    Row("TanhGrad", pair(), each(lambda y, dy: dy * (1 - y * y)), wrong=UNEQUAL),
    Row(
        "SigmoidGrad", pair(), each(lambda y, dy: dy * y * (1 - y)),
        wrong=UNEQUAL,
    ),
    Row(
        "LogicalNot", lambda dtype: unary()(dtypes.bool_), each(lambda x: not x),
        types=(dtypes.bool_,),
    ),
    Row(
        "Add", lambda dtype: [
            *binary(corners=dtype is not dtypes.string)(dtype),
        ],
        each(lambda x, y: x + y), wrong=mismatched(),
        types=(*dtypes.FLOATS, *dtypes.SIGNED, dtypes.uint8, *dtypes.COMPLEX, dtypes.string),
    ),
    Row("AddV2", binary(), each(lambda x, y: x + y), wrong=mismatched()),
    Row("Sub", binary(), each(lambda x, y: x - y), wrong=mismatched()),
    Row("Mul", binary(), each(lambda x, y: x * y), wrong=mismatched()),
    Row(
        "RealDiv", binary(1.0, 4.0), each(divided), wrong=mismatched(), domain=(0.5, 3.0),
        types=dtypes.FLOATS,
    ),
    Row(
        "FloorDiv", binary(1.0, 7.0, corners=False), each(floored_quotient),
        wrong=(*mismatched(), *EXACT_DIVISION), types=dtypes.REALS,
    ),
    Row(
        "FloorMod", binary(1.0, 7.0, corners=False), each(floored_modulo),
        wrong=(*mismatched(), *EXACT_DIVISION),
    ),
    Row(
        "DivNoNan", binary(), each(lambda x, y: 0.0 if y == 0 else divided(x, y)),
        wrong=mismatched(), domain=(0.5, 3.0),
    ),
    Row(
        "SquaredDifference", binary(), each(lambda x, y: (x - y) * conjugated(x - y)),
        wrong=mismatched(),
    ),
    Row(
        "Pow", binary(0.5, 3.0, 0.0, corners=False), each(power), domain=(0.5, 2.0),
        wrong=(
            *mismatched(),
            Wrong(given(ints(2, 3), ints(1, -1)), "", "negative integer powers"),
        ),
    ),
    Row("Maximum", binary(), each(larger), wrong=mismatched()),
    Row("Minimum", binary(), each(smaller), wrong=mismatched()),
    Row("Less", binary(), each(lambda x, y: x < y), wrong=mismatched()),
    Row("LessEqual", binary(), each(lambda x, y: x <= y), wrong=mismatched()),
    Row("Greater", binary(), each(lambda x, y: x > y), wrong=mismatched()),
    Row("GreaterEqual", binary(), each(lambda x, y: x >= y), wrong=mismatched()),
    Row(
        "LogicalAnd", lambda dtype: binary()(dtypes.bool_), each(lambda x, y: x and y),
        types=(dtypes.bool_,),
    ),
    Row(
        "LogicalOr", lambda dtype: binary()(dtypes.bool_), each(lambda x, y: x or y),
        types=(dtypes.bool_,),
    ),
)  # fmt: skip


def _comparable(dtype: DType) -> Iterable[Sample]:
    yield from binary(corners=dtype is not dtypes.string)(dtype)
    yield given(numbers(dtype, 2), numbers(dtype, 3), incompatible_shape_error=False)


def _equal(x: Any, y: Any, incompatible_shape_error: bool = True) -> Any:
    return each(lambda a, b: a == b)(x, y) if x.shape != (2,) else np.array(False)


def _not_equal(x: Any, y: Any, incompatible_shape_error: bool = True) -> Any:
    return each(lambda a, b: a != b)(x, y) if x.shape != (2,) else np.array(True)


_ANY_TYPES = (*dtypes.REALS, *dtypes.COMPLEX, dtypes.bool_, dtypes.string)


def _selections(dtype: DType) -> Iterable[Sample]:
    x, y = numbers(dtype, 3, 2), numbers(dtype, 3, 2, seed=1)
    for condition in (np.array(True), np.array(False), np.array([True, False, True])):
        yield given(condition, x, y)
    yield given(numbers(dtypes.bool_, 3, 2), x, y)
    yield given(np.array(False), numbers(dtype), numbers(dtype, seed=1))


def _select(condition: Any, x: Any, y: Any) -> Any:
    out = np.empty(x.shape, object)
    for at in positions(x.shape):
        row = condition[at[: condition.ndim]]
        out[at] = precise(x)[at] if row else precise(y)[at]
    return out


def _broadcast_selections(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtypes.bool_, 3, 1), numbers(dtype, 2), numbers(dtype, 1, 1, seed=1))
    yield given(np.array(True), numbers(dtype), numbers(dtype, seed=1))
    yield given(np.array(False), numbers(dtype), numbers(dtype, seed=1))
    yield given(numbers(dtypes.bool_, 2), numbers(dtype, 2), numbers(dtype, 2, seed=1))
    yield given(np.array(True), numbers(dtype, 2, 2), numbers(dtype, seed=1))


_FLOAT2, _BOOL3 = np.zeros(2, np.float32), np.zeros(3, np.bool_)
CHOOSING = (
    Row("Equal", _comparable, _equal, types=_ANY_TYPES, wrong=mismatched()),
    Row("NotEqual", _comparable, _not_equal, types=_ANY_TYPES, wrong=mismatched()),
    Row(
        "Select", _selections, _select, types=(*_ANY_TYPES,),
        wrong=(
            Wrong(
                given(np.array(True), _FLOAT2, np.zeros(3, np.float32)), r"differ", "two choices",
            ),
            Wrong(given(_BOOL3, _FLOAT2, _FLOAT2), r"condition \[3\] is", "a condition of shape"),
        ),
    ),
    Row(
        "SelectV2", _broadcast_selections, each(lambda c, x, y: x if c else y), types=_ANY_TYPES,
        wrong=(Wrong(given(_BOOL3, _FLOAT2, _FLOAT2), r"do not broadcast", "broadcast"),),
    ),
)  # fmt: skip


def _casts(dtype: DType) -> Iterable[Sample]:
    # what C leaves undefined, floats beyond the integers, is left out
    for to in (*dtypes.REALS, dtypes.bool_, *dtypes.COMPLEX):
        low = 0.0 if to.is_unsigned else -3.7
        yield given(numbers(dtype, 2, 3, low=low, high=100.0), DstT=to)
        yield given(numbers(dtype, low=low, high=100.0, seed=1), DstT=to)
    yield given(numbers(dtypes.int64, 3, low=-(2.0**40), high=2.0**40), DstT=dtypes.int16)


def _cast(x: Any, DstT: DType) -> Any:
    def one(value: Any) -> Any:
        if isinstance(value, complex) and not DstT.is_complex:
            value = value.real
        if DstT is dtypes.bool_:
            return value != 0
        return int(value) if DstT.is_integer else value

    return each(one)(x)


CASTS = (
    Row("Cast", _casts, _cast, vary="SrcT",
        types=(*dtypes.REALS, dtypes.bool_, *dtypes.COMPLEX)),
)  # fmt: skip


ROWS = (*ELEMENTWISE, *CHOOSING, *CASTS)
