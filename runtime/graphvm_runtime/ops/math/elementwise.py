"""Element-wise arithmetic, comparisons, choices and casts."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, Trait, Value, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    agreeing,
    computed,
    fitting,
    passed,
    pointwise,
    refused,
    unchanged,
)
from graphvm_runtime.shapes import Shape, broadcast, is_compatible, is_known, shape_text

# ----------------------------------------------------------------------------- one number at a time

define("Conj", shape=unchanged)
define("Neg", shape=unchanged, value=computed(lambda x: -x))
define("Abs", shape=unchanged, value=computed(abs))
define("Sign", shape=unchanged)
define("Reciprocal", shape=unchanged)
define("Square", shape=unchanged, value=computed(lambda x: x * x))
define(
    "Sqrt",
    "Rsqrt",
    "Exp",
    "Expm1",
    "Log",
    "Log1p",
    "Sin",
    "Cos",
    "Tanh",
    "Sigmoid",
    shape=unchanged,
)
define("SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad", "ReciprocalGrad", shape=agreeing)
define("Floor", "Ceil", "Rint", shape=unchanged)
define("Round", shape=unchanged, value=passed, doc="the nearest whole number, the even one of two")
define("LogicalNot", shape=unchanged)
define("IsNan", "IsInf", "IsFinite", shape=unchanged)


def _cast_value(ctx: ShapeContext) -> Value | None:
    value, to = ctx.resolver.value(0), ctx.attrs["DstT"]
    if not to.is_integer or not ctx.attrs["SrcT"].is_integer:
        return None
    if isinstance(value, tuple):
        return tuple(None if v is None else fitting(v, to) for v in value)
    return None if value is None else fitting(value, to)


define("Cast", shape=unchanged, value=_cast_value, traits=Trait.SAME_TYPE_IDENTITY)

# -------------------------------------------------------------------------------- two at a time


def _equality(ctx: ShapeContext) -> Sequence[Shape]:
    if ctx.attrs["incompatible_shape_error"]:
        return pointwise(ctx)
    if not all(map(is_known, ctx.shapes)):
        return (None,)
    try:
        return (broadcast(*ctx.shapes),)
    except ShapeError:
        return ((),)  # one False (True for NotEqual) stands for all


define("Add", "AddV2", shape=pointwise, value=computed(lambda x, y: x + y))
define("Sub", shape=pointwise, value=computed(lambda x, y: x - y))
define("Mul", shape=pointwise, value=computed(lambda x, y: x * y))
define("FloorDiv", shape=pointwise, value=computed(lambda x, y: x // y))
define("FloorMod", shape=pointwise, value=computed(lambda x, y: x % y))
define("Maximum", shape=pointwise, value=computed(max))
define("Minimum", shape=pointwise, value=computed(min))
define(
    "RealDiv",
    "DivNoNan",
    "SquaredDifference",
    "Pow",
    "Less",
    "LessEqual",
    "Greater",
    "GreaterEqual",
    "LogicalAnd",
    "LogicalOr",
    shape=pointwise,
)
define("Equal", "NotEqual", shape=_equality)
define(
    "Div", "Mod", "TruncateDiv", "TruncateMod", "MulNoNan", "Xdivy", "Xlog1py", "Xlogy",
    "NextAfter", shape=pointwise,
)  # fmt: skip
define("ApproximateEqual", "InvGrad", shape=agreeing)
define("Inv", shape=unchanged)

# ------------------------------------------------------------------------------------- choosing


def _select(ctx: ShapeContext) -> Sequence[Shape]:
    condition = ctx.shapes[0]
    out = agreed(ctx.shapes[1:])
    if condition is None or out is None:
        return (out,)
    if condition == () or is_compatible(condition, out):
        return (out,)
    if len(condition) == 1 and out and (condition[0] is None or out[0] in (None, condition[0])):
        return (out,)
    raise refused(
        f"the condition {shape_text(condition)} is neither a scalar, nor a vector of rows, nor of "
        f"the shape {shape_text(out)}",
    )


def _select_v2(ctx: ShapeContext) -> Sequence[Shape]:
    condition, then, other = ctx.shapes
    if then == other and condition in ((), then) and then is not None and None not in then:
        return (then,)
    try:
        return (broadcast(condition, broadcast(then, other)),)
    except ShapeError as error:
        raise refused(error.what, error.do) from None


define("Select", shape=_select)


def _clip(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    for i, name in ((1, "clip_value_min"), (2, "clip_value_max")):
        bound = ctx.shapes[i]
        if bound is None or bound == () or is_compatible(bound, shape):
            continue
        raise refused(
            f"{name} is a scalar or of the shape {shape_text(shape)}, got {shape_text(bound)}"
        )
    return (shape,)


define("ClipByValue", shape=_clip)
define("SelectV2", shape=_select_v2)
