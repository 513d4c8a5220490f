"""Persistent tensor lists."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import DTypeError, ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import refused, scalar
from graphvm_runtime.shapes import Shape, TensorType, merged, shape_text


def element_shape(ctx: ShapeContext, index: int) -> Shape:
    """The shape that an input gives: -1 alone for any rank, -1 inside for any length."""
    if ctx.shapes[index] == ():
        return None  # a scalar is -1, any rank
    dims = ctx.vector(index)
    return None if dims is None else tuple(None if d is None or d < 0 else d for d in dims)


def _element(ctx: ShapeContext, asked: Shape = None) -> Shape:
    held = ctx.handle(0)
    if held is None:
        return asked
    dtype: DType = ctx.attrs["element_dtype"]
    if held.dtype is not dtype:
        raise DTypeError(f"the list holds {held.dtype.name}, not {dtype.name}")
    return _fitted(held.shape, asked)


def _fitted(held: Shape, given: Shape) -> Shape:
    try:
        return merged(held, given)
    except ShapeError:
        raise refused(
            f"an element of shape {shape_text(given)} in a list of {shape_text(held)}"
        ) from None


def _made(ctx: ShapeContext, index: int) -> TensorType:
    return TensorType(ctx.attrs["element_dtype"], element_shape(ctx, 0))


def _made_from(ctx: ShapeContext, index: int) -> TensorType:
    return TensorType(ctx.attrs["element_dtype"], _rows(ctx))


def _rows(ctx: ShapeContext) -> Shape:
    given = ctx.shapes[0]
    if given == ():
        raise refused("the tensor has rank 1 or more, got a scalar")
    return _fitted(element_shape(ctx, 1), None if given is None else given[1:])


def _same_list(ctx: ShapeContext, index: int) -> TensorType | None:
    return ctx.handle(0) if index == 0 else None


def _pushed(ctx: ShapeContext) -> Sequence[Shape]:
    _element(ctx, ctx.shapes[1])
    return ((),)


def _popped(ctx: ShapeContext) -> Sequence[Shape]:
    return ((), _element(ctx, element_shape(ctx, 1)))


def _item(ctx: ShapeContext) -> Sequence[Shape]:
    return (_element(ctx, element_shape(ctx, 2)),)


def _set(ctx: ShapeContext) -> Sequence[Shape]:
    _element(ctx, ctx.shapes[2])
    return ((),)


def _stacked(ctx: ShapeContext) -> Sequence[Shape]:
    element = _element(ctx, element_shape(ctx, 1))
    count = ctx.attrs["num_elements"]
    return (None if element is None else (None if count < 0 else count, *element),)


def _from_tensor(ctx: ShapeContext) -> Sequence[Shape]:
    _rows(ctx)
    return ((),)


def _gathered(ctx: ShapeContext) -> Sequence[Shape]:
    element = _element(ctx, element_shape(ctx, 2))
    indices = ctx.shapes[1]
    if indices is not None and len(indices) != 1:
        raise refused("indices are a vector")
    return (None if element is None else ((None,) if indices is None else indices) + element,)


def _scattered(ctx: ShapeContext, tensor: int, indices: int) -> Shape:
    """Shape of a row of what is scattered."""
    rows, at = ctx.shapes[tensor], ctx.shapes[indices]
    if rows == ():
        raise refused("the tensor has rank 1 or more, got a scalar")
    if at is not None and len(at) != 1:
        raise refused("indices are a vector")
    if rows is not None and at is not None and None not in (rows[0], at[0]) and rows[0] != at[0]:
        raise refused(f"{rows[0]} rows for {at[0]} indices")
    return None if rows is None else rows[1:]


def _scatter(ctx: ShapeContext) -> Sequence[Shape]:
    _fitted(element_shape(ctx, 2), _scattered(ctx, 0, 1))
    return ((),)


def _scatter_into(ctx: ShapeContext) -> Sequence[Shape]:
    _element(ctx, _scattered(ctx, 1, 2))
    return ((),)


def _made_by_scatter(ctx: ShapeContext, index: int) -> TensorType:
    held = _fitted(element_shape(ctx, 2), _scattered(ctx, 0, 1))
    return TensorType(ctx.attrs["element_dtype"], held)


def _parts(ctx: ShapeContext) -> Shape:
    """Shape of what a split gives, whose parts may differ in length."""
    if ctx.shapes[0] == ():
        raise refused("the tensor has rank 1 or more, got a scalar")
    rest = _fitted(_behind_first(element_shape(ctx, 1)), _behind_first(ctx.shapes[0]))
    return None if rest is None else (None, *rest)


def _behind_first(shape: Shape) -> Shape:
    if shape == ():
        raise refused("elements have rank 1 or more, got scalars")
    return None if shape is None else shape[1:]


def _split(ctx: ShapeContext) -> Sequence[Shape]:
    _parts(ctx)
    return ((),)


def _made_by_split(ctx: ShapeContext, index: int) -> TensorType:
    return TensorType(ctx.attrs["element_dtype"], _parts(ctx))


def _concatenated(ctx: ShapeContext) -> Sequence[Shape]:
    rest = _behind_first(element_shape(ctx, 1))
    held = _element(ctx)
    rest = _fitted(rest, _behind_first(held))
    return (None if rest is None else (None, *rest), (None,))


def _held_shape(ctx: ShapeContext) -> Sequence[Shape]:
    held = ctx.handle(0)
    if held is None:
        return (None,)
    return (() if held.shape is None else (len(held.shape),),)


define("EmptyTensorList", shape=scalar, handle=_made)
define("TensorListReserve", shape=scalar, handle=_made)
define("TensorListPushBack", shape=_pushed, handle=_same_list, collects=1)
define("TensorListPopBack", shape=_popped, handle=_same_list)
define("TensorListGetItem", shape=_item)
define("TensorListSetItem", shape=_set, handle=_same_list, collects=2)
define("TensorListLength", shape=scalar)
define("TensorListStack", shape=_stacked)
define("TensorListFromTensor", shape=_from_tensor, handle=_made_from, collects=0)
define("TensorListGather", shape=_gathered)
define("TensorListScatterV2", shape=_scatter, handle=_made_by_scatter, collects=0)
define("TensorListScatterIntoExistingList", shape=_scatter_into, handle=_same_list, collects=1)
define("TensorListSplit", shape=_split, handle=_made_by_split, collects=0)
define("TensorListConcatV2", shape=_concatenated)
define("TensorListElementShape", shape=_held_shape)
define("TensorListResize", shape=scalar, handle=_same_list)
