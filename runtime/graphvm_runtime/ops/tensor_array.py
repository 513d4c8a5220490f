"""Arrays of tensors behind handles. What is done to one is ordered by the flow handed along."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import QUIET, STATEFUL, ShapeContext, ShapeFn, define
from graphvm_runtime.ops.shape_functions import nothing, refused
from graphvm_runtime.shapes import Shape, TensorType, is_known, merged


def _scalars(ctx: ShapeContext, *indices: int) -> None:
    for index in indices:
        if ctx.shapes[index]:
            raise refused(f"input {index} is a scalar, got shape {list(ctx.shapes[index] or ())}")


def _vector(ctx: ShapeContext, index: int) -> Shape:
    shape = ctx.shapes[index]
    if shape is not None and len(shape) != 1:
        raise refused(f"input {index} is a vector, got rank {len(shape)}")
    return shape


def _made(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 0)
    return ((2,), ())


def _held(ctx: ShapeContext, index: int) -> TensorType | None:
    if index:
        return None
    attrs = ctx.attrs
    shape = attrs["element_shape"]
    same = attrs["identical_element_shapes"] or is_known(shape)
    return TensorType(attrs["dtype"], shape if same else None)


def _derived(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 1)
    return ((2,), ())


def _same(ctx: ShapeContext, index: int) -> TensorType | None:
    return None if index else ctx.handle(0)


def _element(ctx: ShapeContext) -> Shape:
    held = ctx.handle(0)
    return None if held is None else held.shape


def _flow(*scalars: int, vector: int | None = None) -> ShapeFn:
    def shapes(ctx: ShapeContext) -> Sequence[Shape]:
        _scalars(ctx, *scalars)
        if vector is not None:
            _vector(ctx, vector)
        return ((),)

    return shapes


def _read(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 1, 2)
    return (_element(ctx),)


def _gathered(ctx: ShapeContext) -> Sequence[Shape]:
    indices = _vector(ctx, 1)
    _scalars(ctx, 2)
    element = merged(_element(ctx), ctx.attrs["element_shape"])
    return (None if element is None else ((None,) if indices is None else indices) + element,)


def _concatenated(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 1)
    rest = ctx.attrs["element_shape_except0"]
    element = _element(ctx)
    if element:
        rest = merged(rest, element[1:])
    return (None if rest is None else (None, *rest), (None,))


def _size(ctx: ShapeContext) -> Sequence[Shape]:
    _scalars(ctx, 1)
    return ((),)


define("TensorArrayV3", shape=_made, handle=_held, effects=STATEFUL)
define("TensorArrayGradV3", shape=_derived, handle=_same, effects=STATEFUL)
define("TensorArrayWriteV3", shape=_flow(1, 3), effects=STATEFUL)
define("TensorArrayReadV3", shape=_read, effects=STATEFUL)
define("TensorArrayGatherV3", shape=_gathered, effects=STATEFUL)
define("TensorArrayScatterV3", shape=_flow(3, vector=1), effects=STATEFUL)
define("TensorArrayConcatV3", shape=_concatenated, effects=STATEFUL)
define("TensorArraySplitV3", shape=_flow(3, vector=2), effects=STATEFUL)
define("TensorArraySizeV3", shape=_size, effects=STATEFUL)
define("TensorArrayCloseV3", shape=nothing, effects=QUIET)
