"""Variables: references as in TensorFlow 1.x, and resources."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import INDICES, NUMBERS, QUANTIZED, int32, int64
from graphvm_runtime.errors import DTypeError, ShapeError
from graphvm_runtime.ops.registry import (
    STATEFUL,
    TRACE,
    ShapeContext,
    Trait,
    Value,
    boolean,
    define,
    integer,
    list_of,
    shape_attr,
    text,
    types,
)  # fmt: skip
from graphvm_runtime.ops.shape_functions import from_attr, nothing, refused, scalar
from graphvm_runtime.shapes import Shape, TensorType, merged, shape_text

T = types()
NUMBER = types(*NUMBERS, *QUANTIZED)
ONE = "C1: the counter is a scalar"
COUNTER = types(int32, int64)
FITS = "C1: the value's shape fits the variable's"


def _assign(ctx: ShapeContext) -> Sequence[Shape]:
    if not ctx.attrs["validate_shape"]:
        return (ctx.shapes[1],)
    return (_fitted(ctx.shapes[0], ctx.shapes[1]),)


def _updated(ctx: ShapeContext) -> Sequence[Shape]:
    return (_fitted(ctx.shapes[0], ctx.shapes[1]),)


def _fitted(variable: Shape, value: Shape) -> Shape:
    try:
        return merged(variable, value)
    except ShapeError:
        raise refused(
            f"a value of shape {shape_text(value)} for a variable of shape {shape_text(variable)}",
            1,
        ) from None


def held_behind(ctx: ShapeContext, index: int, attr: str = "dtype") -> TensorType:
    """Type of the variable behind a handle, which must have the type of the attribute."""
    held, dtype = ctx.handle(index), ctx.attrs[attr]
    if held is None:
        return TensorType(dtype, None)
    if held.dtype.base is not dtype.base:
        raise DTypeError(f"the variable holds {held.dtype.name}, not {dtype.name} (C2)")
    return held


def _counted(ctx: ShapeContext) -> Sequence[Shape]:
    return _scalar(ctx.shapes[0])


def _held_count(ctx: ShapeContext) -> Sequence[Shape]:
    return _scalar(held_behind(ctx, 0, "T").shape)


def _scalar(shape: Shape) -> Sequence[Shape]:
    if shape:
        raise refused(f"the counter is a scalar, got {shape_text(shape)}", 1)
    return ((),)


def _read(ctx: ShapeContext) -> Sequence[Shape]:
    return (held_behind(ctx, 0).shape,)


def _written(ctx: ShapeContext) -> Sequence[Shape]:
    _fitted(held_behind(ctx, 0).shape, ctx.shapes[1])
    return ()


def _shape_of_held(ctx: ShapeContext) -> Sequence[Shape]:
    held = ctx.handle(0)
    return ((None if held is None or held.shape is None else len(held.shape),),)


def _shape_value(ctx: ShapeContext) -> Value | None:
    held = ctx.handle(0)
    return None if held is None else held.shape


def named_type(ctx: ShapeContext, index: int) -> TensorType:
    """The type that the attributes `dtype` and `shape` name."""
    return TensorType(ctx.attrs["dtype"].base, ctx.attrs["shape"])


_VARIABLE = {"shape": shape_attr(), "dtype": T, "container": text(b""), "shared_name": text(b"")}
for _name in ("VariableV2", "Variable"):
    define(_name, "-> ref: ref dtype", _VARIABLE, shape=from_attr("shape"), effects=STATEFUL,
           traits=Trait.VARIABLE)  # fmt: skip
define("Assign", "ref: ref T, value: T -> output_ref: ref T",
       {"T": T, "validate_shape": boolean(True), "use_locking": boolean(True)},
       shape=_assign, effects=STATEFUL, constraints=[FITS],
       on_handles="AssignVariableOp")  # fmt: skip
for _name in ("AssignAdd", "AssignSub"):
    define(_name, "ref: ref T, value: T -> output_ref: ref T",
           {"T": NUMBER, "use_locking": boolean(False)},
           shape=_updated, effects=STATEFUL, constraints=[FITS],
           on_handles=f"{_name}VariableOp")  # fmt: skip
define("IsVariableInitialized", "ref: ref dtype -> is_initialized: bool", {"dtype": T},
       shape=scalar, effects=STATEFUL, on_handles="VarIsInitializedOp")  # fmt: skip

_HELD = "C2: the variable holds elements of that type"
define("VarHandleOp", "-> resource: resource",
       {"container": text(b""), "shared_name": text(b""), "debug_name": text(b""), "dtype": T,
        "shape": shape_attr(), "allowed_devices": list_of("string", ())},
       shape=scalar, handle=named_type, effects=STATEFUL, traits=Trait.VARIABLE)  # fmt: skip
define("ReadVariableOp", "resource: resource -> value: dtype", {"dtype": T}, shape=_read,
       effects=STATEFUL, constraints=[FITS, _HELD])  # fmt: skip
define("AssignVariableOp", "resource: resource, value: dtype ->",
       {"dtype": T, "validate_shape": boolean(False)}, shape=_written, effects=STATEFUL,
       constraints=[FITS, _HELD])  # fmt: skip
for _name in ("AssignAddVariableOp", "AssignSubVariableOp"):
    define(_name, "resource: resource, value: dtype ->", {"dtype": T}, shape=_written,
           effects=STATEFUL, constraints=[FITS, _HELD])  # fmt: skip
define("VarIsInitializedOp", "resource: resource -> is_initialized: bool", shape=scalar,
       effects=STATEFUL)  # fmt: skip
define("DisableCopyOnRead", "resource: resource ->", shape=nothing, effects=STATEFUL)
define("VariableShape", "input: resource -> output: out_type",
       {"out_type": types(*INDICES, default=int32)}, shape=_shape_of_held, value=_shape_value,
       effects=STATEFUL)  # fmt: skip
define("CountUpTo", "ref: ref T -> output: T", {"limit": integer(), "T": COUNTER},
       shape=_counted, effects=TRACE, constraints=[ONE])  # fmt: skip
define("ResourceCountUpTo", "resource: resource -> output: T",
       {"limit": integer(), "T": COUNTER}, shape=_held_count, effects=TRACE,
       constraints=[ONE, _HELD])  # fmt: skip

__all__ = ["held_behind", "named_type", "nothing"]
