"""Variables: references as in TensorFlow 1.x, and resources."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import DTypeError, ShapeError
from graphvm_runtime.ops.registry import (
    STATEFUL,
    TRACE,
    ShapeContext,
    Trait,
    Value,
    define,
)
from graphvm_runtime.ops.shape_functions import from_attr, nothing, refused, scalar
from graphvm_runtime.ops.signature import types
from graphvm_runtime.shapes import Shape, TensorType, merged, shape_text

T = types()


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
        ) from None


def held_behind(ctx: ShapeContext, index: int, attr: str = "dtype") -> TensorType:
    """Type of the variable behind a handle, which must have the type of the attribute."""
    held, dtype = ctx.handle(index), ctx.attrs[attr]
    if held is None:
        return TensorType(dtype, None)
    if held.dtype.base is not dtype.base:
        raise DTypeError(f"the variable holds {held.dtype.name}, not {dtype.name}")
    return held


def _counted(ctx: ShapeContext) -> Sequence[Shape]:
    return _scalar(ctx.shapes[0])


def _held_count(ctx: ShapeContext) -> Sequence[Shape]:
    return _scalar(held_behind(ctx, 0, "T").shape)


def _scalar(shape: Shape) -> Sequence[Shape]:
    if shape:
        raise refused(f"the counter is a scalar, got {shape_text(shape)}")
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


define("VariableV2", "Variable", shape=from_attr("shape"), effects=STATEFUL, traits=Trait.VARIABLE)
define("Assign", shape=_assign, effects=STATEFUL, on_handles="AssignVariableOp")
for _name in ("AssignAdd", "AssignSub"):
    define(_name, shape=_updated, effects=STATEFUL, on_handles=f"{_name}VariableOp")
define("IsVariableInitialized", shape=scalar, effects=STATEFUL, on_handles="VarIsInitializedOp")

define("VarHandleOp", shape=scalar, handle=named_type, effects=STATEFUL, traits=Trait.VARIABLE)
define("ReadVariableOp", shape=_read, effects=STATEFUL)
define("AssignVariableOp", shape=_written, effects=STATEFUL)
define("AssignAddVariableOp", "AssignSubVariableOp", shape=_written, effects=STATEFUL)
define("VarIsInitializedOp", shape=scalar, effects=STATEFUL)
define("DisableCopyOnRead", shape=nothing, effects=STATEFUL)
define("VariableShape", shape=_shape_of_held, value=_shape_value, effects=STATEFUL)
define("CountUpTo", shape=_counted, effects=TRACE)
define("ResourceCountUpTo", shape=_held_count, effects=TRACE)

__all__ = ["held_behind", "named_type", "nothing"]
