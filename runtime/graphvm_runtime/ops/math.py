"""Arithmetic, comparisons, products and reductions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphvm_runtime.dtypes import (
    COMPLEX,
    FLOATS,
    INDICES,
    INTEGERS,
    NUMBERS,
    QUANTIZED,
    REALS,
    SIGNED,
    UNSIGNED,
    bool_,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
    variant,
)  # fmt: skip
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, Value, boolean, define, integer, types
from graphvm_runtime.ops.shape_functions import (
    AXES_IN_RANK,
    BROADCASTS,
    SAME_SHAPES,
    agreed,
    agreeing,
    computed,
    fitting,
    normalized,
    passed,
    pointwise,
    product,
    reduction,
    refused,
    unchanged,
    with_rank,
    with_rank_at_least,
)  # fmt: skip
from graphvm_runtime.shapes import Dim, Shape, broadcast, is_compatible, shape_text

ANY = types()
INDEX = types(*INDICES, default=int32)
INEXACT = types(*FLOATS, *COMPLEX)
ALL_NUMBERS = types(*NUMBERS, *QUANTIZED)
ALL_REALS = types(*REALS, *QUANTIZED)
SIGNED_REALS = types(*FLOATS, *SIGNED)
SIGNED_NUMBERS = types(*FLOATS, *SIGNED, *COMPLEX)
UNARY = "x: T -> y: T"
BINARY = "x: T, y: T -> z: T"
COMPARISON = "x: T, y: T -> z: bool"

# ----------------------------------------------------------------------------- one number at a time

define("Neg", UNARY, {"T": SIGNED_NUMBERS}, shape=unchanged, value=computed(lambda x: -x))
define("Abs", UNARY, {"T": SIGNED_REALS}, shape=unchanged, value=computed(abs))
define("Sign", UNARY, {"T": SIGNED_NUMBERS}, shape=unchanged)
define("Reciprocal", UNARY, {"T": SIGNED_NUMBERS}, shape=unchanged)
define("Square", UNARY, {"T": types(*NUMBERS)}, shape=unchanged, value=computed(lambda x: x * x))
for _name in ("Sqrt", "Rsqrt", "Exp", "Log", "Sin", "Cos", "Tanh", "Sigmoid"):
    define(_name, UNARY, {"T": INEXACT}, shape=unchanged)
for _name in ("SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad"):
    define(_name, "y: T, dy: T -> z: T", {"T": INEXACT}, shape=agreeing,
           constraints=[SAME_SHAPES])  # fmt: skip
define("LogicalNot", "x: bool -> y: bool", shape=unchanged)


def _cast_value(ctx: ShapeContext) -> Value | None:
    value, to = ctx.resolver.value(0), ctx.attrs["DstT"]
    if not to.is_integer or not ctx.attrs["SrcT"].is_integer:
        return None
    if isinstance(value, tuple):
        return tuple(None if v is None else fitting(v, to) for v in value)
    return None if value is None else fitting(value, to)


define("Cast", "x: SrcT -> y: DstT", {"SrcT": ANY, "DstT": ANY, "Truncate": boolean(False)},
       shape=unchanged, value=_cast_value)  # fmt: skip

# -------------------------------------------------------------------------------- two at a time


def _equality(ctx: ShapeContext) -> Sequence[Shape]:
    if ctx.attrs["incompatible_shape_error"]:
        return pointwise(ctx)
    try:
        return (broadcast(*ctx.shapes),)
    except ShapeError:
        return ((),)  # one False (True for NotEqual) stands for all


def _binary(
    name: str, *allowed: object, value: object = None, commutative: bool = False,
    signature: str = BINARY,
) -> None:  # fmt: skip
    define(name, signature, {"T": types(*allowed)}, shape=pointwise,  # type: ignore[arg-type]
           value=value, commutative=commutative, constraints=[BROADCASTS])  # type: ignore[arg-type]  # fmt: skip


_NARROW = (*FLOATS, *SIGNED, uint8, *COMPLEX)

_binary("Add", *_NARROW, string, value=computed(lambda x, y: x + y))
_binary("AddV2", *NUMBERS, value=computed(lambda x, y: x + y), commutative=True)
_binary("Sub", *NUMBERS, value=computed(lambda x, y: x - y))
_binary("Mul", *NUMBERS, value=computed(lambda x, y: x * y), commutative=True)
_binary("RealDiv", *NUMBERS)
_binary("FloorDiv", *NUMBERS, value=computed(lambda x, y: x // y))
_binary("FloorMod", *REALS, value=computed(lambda x, y: x % y))
_binary("DivNoNan", *FLOATS, *COMPLEX)
_binary("SquaredDifference", *FLOATS, int32, int64, *COMPLEX, commutative=True)
_binary("Pow", *FLOATS, *SIGNED, *COMPLEX)
_binary("Maximum", *REALS, value=computed(max))
_binary("Minimum", *REALS, value=computed(min))
for _name in ("Less", "LessEqual", "Greater", "GreaterEqual"):
    _binary(_name, *REALS, signature=COMPARISON)
for _name in ("Equal", "NotEqual"):
    define(_name, COMPARISON, {"T": ANY, "incompatible_shape_error": boolean(True)},
           shape=_equality, commutative=True, constraints=[BROADCASTS])  # fmt: skip
for _name in ("LogicalAnd", "LogicalOr"):
    define(_name, "x: bool, y: bool -> z: bool", shape=pointwise, commutative=True,
           constraints=[BROADCASTS])  # fmt: skip

# ------------------------------------------------------------------------------------- choosing


def _select(ctx: ShapeContext) -> Sequence[Shape]:
    condition = ctx.shapes[0]
    out = agreed(ctx.shapes[1:], 1)
    if condition is None or out is None:
        return (out,)
    if condition == () or is_compatible(condition, out):
        return (out,)
    if len(condition) == 1 and out and (condition[0] is None or out[0] in (None, condition[0])):
        return (out,)
    raise refused(
        f"the condition {shape_text(condition)} is neither a scalar, nor a vector of rows, nor of "
        f"the shape {shape_text(out)}", 2,
    )  # fmt: skip


def _select_v2(ctx: ShapeContext) -> Sequence[Shape]:
    condition, then, other = ctx.shapes
    if then == other and condition in ((), then) and then is not None and None not in then:
        return (then,)
    try:
        return (broadcast(condition, broadcast(then, other)),)
    except ShapeError as error:
        raise refused(error.what, 1, error.do) from None


define("Select", "condition: bool, t: T, e: T -> output: T", {"T": ANY}, shape=_select,
       constraints=["C1: t and e have the same shape",
                    "C2: the condition is a scalar, their shape, or an entry a row"])  # fmt: skip
define("SelectV2", "condition: bool, t: T, e: T -> output: T", {"T": ANY}, shape=_select_v2,
       constraints=[BROADCASTS])  # fmt: skip

# ------------------------------------------------------------------------------------- products


def _matmul(ctx: ShapeContext) -> Sequence[Shape]:
    a, b = with_rank(ctx, 0, 2, 1), with_rank(ctx, 1, 2, 1)
    rows, inner = reversed(a) if ctx.attrs["transpose_a"] else a
    below, columns = reversed(b) if ctx.attrs["transpose_b"] else b
    if inner is not None and below is not None and inner != below:
        raise refused(
            f"inner dimensions differ: {inner} of {shape_text(a)} against {below} of "
            f"{shape_text(b)}", 2,
        )  # fmt: skip
    return ((rows, columns),)


def _batch_matmul(ctx: ShapeContext) -> Sequence[Shape]:
    x, y = with_rank_at_least(ctx, 0, 2, 1), with_rank_at_least(ctx, 1, 2, 1)
    if x is None or y is None:
        return (None,)
    rows, inner = reversed(x[-2:]) if ctx.attrs["adj_x"] else x[-2:]
    below, columns = reversed(y[-2:]) if ctx.attrs["adj_y"] else y[-2:]
    if inner is not None and below is not None and inner != below:
        raise refused(
            f"inner dimensions differ: {inner} of {shape_text(x)} against {below} of "
            f"{shape_text(y)}", 2,
        )  # fmt: skip
    try:
        batch = broadcast(x[:-2], y[:-2]) or ()
    except ShapeError as error:
        raise refused(error.what, 3, error.do) from None
    return ((*batch, rows, columns),)


define("MatMul", "a: T, b: T -> product: T",
       {"transpose_a": boolean(False), "transpose_b": boolean(False),
        "T": types(*FLOATS, int32, int64, *UNSIGNED, *COMPLEX),
        "grad_a": boolean(False), "grad_b": boolean(False)},
       shape=_matmul,
       constraints=["C1: both are matrices", "C2: the inner dimensions are equal"])  # fmt: skip
define("BatchMatMulV2", "x: T, y: T -> output: T",
       {"T": types(*FLOATS, int16, int32, int64, *UNSIGNED, *COMPLEX),
        "adj_x": boolean(False), "adj_y": boolean(False),
        "grad_x": boolean(False), "grad_y": boolean(False)},
       shape=_batch_matmul,
       constraints=["C1: both have rank 2 or more", "C2: the inner dimensions are equal",
                    "C3: the other axes broadcast"])  # fmt: skip

# ----------------------------------------------------------------------------------- reductions


def _product_value(ctx: ShapeContext) -> Value | None:
    value, axes = ctx.resolver.value(0), ctx.integers(1)
    if not isinstance(value, tuple) or axes is None or not set(axes) <= {0, -1}:
        return None
    if not axes:
        return value
    result = product(value)
    result = None if result is None else fitting(result, ctx.attrs["T"])
    return (result,) if ctx.attrs["keep_dims"] else result


def _sum_value(ctx: ShapeContext) -> Value | None:
    value, axes = ctx.integers(0), ctx.integers(1)
    if value is None or ctx.shapes[0] is None or len(ctx.shapes[0]) != 1:
        return None
    if axes is None or not axes or not set(axes) <= {0, -1}:
        return None
    result = fitting(sum(value), ctx.attrs["T"])
    return (result,) if ctx.attrs["keep_dims"] else result


_REDUCTION = "input: T, reduction_indices: Tidx -> output: T"
for _name, _types, _value in (
    ("Sum", ALL_NUMBERS, _sum_value), ("Mean", ALL_NUMBERS, None),
    ("Prod", ALL_NUMBERS, _product_value), ("Max", ALL_REALS, None), ("Min", ALL_REALS, None),
):  # fmt: skip
    define(_name, _REDUCTION, {"keep_dims": boolean(False), "T": _types, "Tidx": INDEX},
           shape=reduction, value=_value, constraints=[AXES_IN_RANK])  # fmt: skip
define("All", "input: bool, reduction_indices: Tidx -> output: bool",
       {"keep_dims": boolean(False), "Tidx": INDEX}, shape=reduction,
       constraints=[AXES_IN_RANK])  # fmt: skip


def _arg_max(ctx: ShapeContext) -> Sequence[Shape]:
    shape, axis = ctx.shapes[0], ctx.scalar(1)
    if shape is None:
        return (None,)
    if not shape:
        raise refused("the input has rank 1 or more, got a scalar", 1)
    if axis is None:
        return ((None,) * (len(shape) - 1),)
    at = normalized(axis, len(shape), 1)
    return ((*shape[:at], *shape[at + 1 :]),)


def _cumulative(ctx: ShapeContext) -> Sequence[Shape]:
    shape, axis = ctx.shapes[0], ctx.scalar(1)
    if shape is not None and axis is not None:
        normalized(axis, len(shape), 1)
    return (shape,)


define("ArgMax", "input: T, dimension: Tidx -> output: output_type",
       {"T": types(*REALS, *QUANTIZED, bool_), "Tidx": types(int16, *INDICES, default=int32),
        "output_type": types(int16, uint16, int32, int64, default=int64)},
       shape=_arg_max, constraints=[AXES_IN_RANK])  # fmt: skip
define("Cumprod", "x: T, axis: Tidx -> out: T",
       {"exclusive": boolean(False), "reverse": boolean(False), "T": ALL_NUMBERS, "Tidx": INDEX},
       shape=_cumulative, constraints=[AXES_IN_RANK])  # fmt: skip
define("AddN", "inputs: N*T -> sum: T",
       {"N": integer(minimum=1), "T": types(*NUMBERS, *QUANTIZED, variant)}, shape=agreeing,
       value=lambda ctx: passed(ctx) if len(ctx.shapes) == 1 else None, commutative=True,
       constraints=[SAME_SHAPES])  # fmt: skip


def _segments(ctx: ShapeContext) -> Sequence[Shape]:
    data, ids = ctx.shapes[:2]
    count = ctx.scalar(2)
    if count is not None and count < 0:
        raise refused(f"num_segments is not negative, got {count}", 2)
    if data is None or ids is None:
        return (None,)
    if len(ids) > len(data) or not is_compatible(data[: len(ids)], ids):
        raise refused(
            f"the ids {shape_text(ids)} are no first axes of the data {shape_text(data)}", 1
        )
    return ((count, *data[len(ids) :]),)


define("UnsortedSegmentSum",
       "data: T, segment_ids: Tindices, num_segments: Tnumsegments -> output: T",
       {"T": ALL_NUMBERS, "Tindices": types(int16, *INDICES), "Tnumsegments": INDEX},
       shape=_segments,
       constraints=["C1: the shape of the ids starts the shape of the data",
                    "C2: num_segments is not negative"])  # fmt: skip

# ---------------------------------------------------------------------------------------- ranges


def _range_bounds(ctx: ShapeContext) -> tuple[float, float, float] | None:
    if not ctx.attrs["Tidx"].is_integer:
        arrays = [ctx.constant(i) for i in range(3)]
        if any(a is None or a.ndim for a in arrays):
            return None
        start, limit, delta = (float(a) for a in arrays if a is not None)
        return start, limit, delta
    values = [ctx.scalar(i) for i in range(3)]
    if None in values:
        return None
    return values[0], values[1], values[2]  # type: ignore[return-value]  # no None, checked above


def _range(ctx: ShapeContext) -> Sequence[Shape]:
    for i, name in enumerate(("start", "limit", "delta")):
        if ctx.shapes[i] is not None and ctx.shapes[i] != ():
            raise refused(f"{name} is a scalar, got {shape_text(ctx.shapes[i])}", 1)
    bounds = _range_bounds(ctx)
    if bounds is None:
        return ((None,),)
    return ((range_length(*bounds),),)


def range_length(start: float, limit: float, delta: float) -> int:
    """Number of elements of `Range`. Raises ShapeError where delta leads away from limit."""
    if delta == 0:
        raise refused("delta is not zero", 2)
    if start != limit and (limit > start) != (delta > 0):
        raise refused(f"delta {delta} leads from {start} away from {limit}", 2)
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return len(range(start, limit, delta))
    return math.ceil(abs((limit - start) / delta))


def _range_value(ctx: ShapeContext) -> Value | None:
    values = [ctx.scalar(i) for i in range(3)]
    if None in values or not ctx.attrs["Tidx"].is_integer:
        return None
    start, limit, delta = (v for v in values if v is not None)
    numbers = range(start, limit, delta) if delta else ()
    return tuple(numbers) if len(numbers) <= 1024 else None


_RANGE_TYPES = (*FLOATS, *SIGNED, uint16, uint32, uint64)
define("Range", "start: Tidx, limit: Tidx, delta: Tidx -> output: Tidx",
       {"Tidx": types(*_RANGE_TYPES, default=int32)}, shape=_range, value=_range_value,
       constraints=["C1: start, limit and delta are scalars",
                    "C2: delta is not zero and leads to limit"])  # fmt: skip

__all__ = ["INTEGERS", "Dim", "range_length"]
