"""Reductions, scans, sums of many, segments and ranges."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphvm_runtime.dtypes import (
    NUMBERS,
    QUANTIZED,
    REALS,
)
from graphvm_runtime.ops.registry import ShapeContext, Value, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    agreeing,
    fitting,
    normalized,
    passed,
    product,
    ranked,
    reduction,
    refused,
)
from graphvm_runtime.ops.signature import types
from graphvm_runtime.shapes import Shape, shape_text

ALL_NUMBERS = types(*NUMBERS, *QUANTIZED)
ALL_REALS = types(*REALS, *QUANTIZED)


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


for _name, _types, _value in (
    ("Sum", ALL_NUMBERS, _sum_value), ("Mean", ALL_NUMBERS, None),
    ("Prod", ALL_NUMBERS, _product_value), ("Max", ALL_REALS, None), ("Min", ALL_REALS, None),
):  # fmt: skip
    define(_name, shape=reduction, value=_value)
define("All", "Any", "EuclideanNorm", shape=reduction)


def _arg_max(ctx: ShapeContext) -> Sequence[Shape]:
    shape, axis = ctx.shapes[0], ctx.scalar(1)
    if shape is None:
        return (None,)
    if not shape:
        raise refused("the input has rank 1 or more, got a scalar")
    if axis is None:
        return ((None,) * (len(shape) - 1),)
    at = normalized(axis, len(shape))
    return ((*shape[:at], *shape[at + 1 :]),)


def _cumulative(ctx: ShapeContext) -> Sequence[Shape]:
    shape, axis = ctx.shapes[0], ctx.scalar(1)
    if shape is not None and axis is not None:
        normalized(axis, len(shape))
    return (shape,)


define("ArgMax", shape=ranked(_arg_max, dimension=0))
define("ArgMin", shape=ranked(_arg_max, dimension=0))
define("Cumprod", "Cumsum", "CumulativeLogsumexp", shape=ranked(_cumulative, axis=0))


def _accumulated(ctx: ShapeContext) -> Sequence[Shape]:
    return (agreed((*ctx.shapes, ctx.attrs["shape"])),)


define("AccumulateNV2", shape=_accumulated)
define("AddN", shape=agreeing, value=lambda ctx: passed(ctx) if len(ctx.shapes) == 1 else None)


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
            raise refused(f"{name} is a scalar, got {shape_text(ctx.shapes[i])}")
    bounds = _range_bounds(ctx)
    if bounds is None:
        return ((None,),)
    return ((range_length(*bounds),),)


def range_length(start: float, limit: float, delta: float) -> int:
    """Number of elements of `Range`. Raises ShapeError where delta leads away from limit."""
    if delta == 0:
        raise refused("delta is not zero")
    if start != limit and (limit > start) != (delta > 0):
        raise refused(f"delta {delta} leads from {start} away from {limit}")
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


define("Range", shape=_range, value=_range_value)


def _lin_space(ctx: ShapeContext) -> Sequence[Shape]:
    for i, name in enumerate(("start", "stop", "num")):
        if ctx.shapes[i] is not None and ctx.shapes[i] != ():
            raise refused(f"{name} is a scalar, got {shape_text(ctx.shapes[i])}")
    count = ctx.scalar(2)
    if count is not None and count <= 0:
        raise refused(f"num is 1 or more, got {count}")
    return ((count,),)


define("LinSpace", shape=_lin_space)
