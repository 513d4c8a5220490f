"""Element-wise arithmetic, comparisons, choices and casts."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import (
    COMPLEX,
    FLOATS,
    NUMBERS,
    QUANTIZED,
    REALS,
    SIGNED,
    complex64,
    int32,
    int64,
    string,
    uint8,
    variant,
)  # fmt: skip
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, Trait, Value, boolean, define, types
from graphvm_runtime.ops.shape_functions import (
    BROADCASTS,
    SAME_SHAPES,
    agreed,
    agreeing,
    computed,
    fitting,
    passed,
    pointwise,
    refused,
    unchanged,
)  # fmt: skip
from graphvm_runtime.shapes import Shape, broadcast, is_compatible, is_known, shape_text

ANY = types()
INEXACT = types(*FLOATS, *COMPLEX)
SIGNED_REALS = types(*FLOATS, *SIGNED)
SIGNED_NUMBERS = types(*FLOATS, *SIGNED, *COMPLEX)
UNARY = "x: T -> y: T"
BINARY = "x: T, y: T -> z: T"
COMPARISON = "x: T, y: T -> z: bool"

# ----------------------------------------------------------------------------- one number at a time

define("Conj", "input: T -> output: T", {"T": types(*COMPLEX, variant, default=complex64)},
       shape=unchanged)  # fmt: skip
define("Neg", UNARY, {"T": SIGNED_NUMBERS}, shape=unchanged, value=computed(lambda x: -x))
define("Abs", UNARY, {"T": SIGNED_REALS}, shape=unchanged, value=computed(abs))
define("Sign", UNARY, {"T": SIGNED_NUMBERS}, shape=unchanged)
define("Reciprocal", UNARY, {"T": SIGNED_NUMBERS}, shape=unchanged)
define("Square", UNARY, {"T": types(*NUMBERS)}, shape=unchanged, value=computed(lambda x: x * x))
for _name in ("Sqrt", "Rsqrt", "Exp", "Expm1", "Log", "Log1p", "Sin", "Cos", "Tanh", "Sigmoid"):
    define(_name, UNARY, {"T": INEXACT}, shape=unchanged)
for _name in ("SqrtGrad", "RsqrtGrad", "TanhGrad", "SigmoidGrad", "ReciprocalGrad"):
    define(_name, "y: T, dy: T -> z: T", {"T": INEXACT}, shape=agreeing,
           constraints=[SAME_SHAPES])  # fmt: skip
for _name in ("Floor", "Ceil", "Rint"):
    define(_name, UNARY, {"T": types(*FLOATS)}, shape=unchanged)
define("Round", UNARY, {"T": SIGNED_NUMBERS}, shape=unchanged, value=passed,
       doc="the nearest whole number, the even one of two")  # fmt: skip
define("LogicalNot", "x: bool -> y: bool", shape=unchanged)
for _name in ("IsNan", "IsInf", "IsFinite"):
    define(_name, "x: T -> y: bool", {"T": types(*FLOATS)}, shape=unchanged)


def _cast_value(ctx: ShapeContext) -> Value | None:
    value, to = ctx.resolver.value(0), ctx.attrs["DstT"]
    if not to.is_integer or not ctx.attrs["SrcT"].is_integer:
        return None
    if isinstance(value, tuple):
        return tuple(None if v is None else fitting(v, to) for v in value)
    return None if value is None else fitting(value, to)


define("Cast", "x: SrcT -> y: DstT", {"SrcT": ANY, "DstT": ANY, "Truncate": boolean(False)},
       shape=unchanged, value=_cast_value, traits=Trait.SAME_TYPE_IDENTITY)  # fmt: skip

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


def _clip(ctx: ShapeContext) -> Sequence[Shape]:
    shape = ctx.shapes[0]
    for i, name in ((1, "clip_value_min"), (2, "clip_value_max")):
        bound = ctx.shapes[i]
        if bound is None or bound == () or is_compatible(bound, shape):
            continue
        raise refused(
            f"{name} is a scalar or of the shape {shape_text(shape)}, got {shape_text(bound)}", 1
        )
    return (shape,)


define("ClipByValue", "t: T, clip_value_min: T, clip_value_max: T -> output: T",
       {"T": types(*NUMBERS, *QUANTIZED)}, shape=_clip,
       constraints=["C1: each bound is a scalar or has the shape of t"])  # fmt: skip
define("SelectV2", "condition: bool, t: T, e: T -> output: T", {"T": ANY}, shape=_select_v2,
       constraints=[BROADCASTS])  # fmt: skip
