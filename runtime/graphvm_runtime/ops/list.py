"""Persistent tensor lists."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import INDICES, DType, int32
from graphvm_runtime.errors import DTypeError, ShapeError
from graphvm_runtime.ops.registry import ShapeContext, boolean, define, integer, types
from graphvm_runtime.ops.shape_functions import refused, scalar
from graphvm_runtime.shapes import Shape, TensorType, merged, shape_text

T = types()
SHAPE = types(*INDICES)
_RULES = [
    "C1: elements have the list's type",
    "C2: elements fit the list's element shape",
    "C3: there is an index for each row",
    "C4: what is cut into elements, or put together of them, has rank 1 or more",
]


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
        raise DTypeError(f"the list holds {held.dtype.name}, not {dtype.name} (C1)")
    return _fitted(held.shape, asked)


def _fitted(held: Shape, given: Shape) -> Shape:
    try:
        return merged(held, given)
    except ShapeError:
        raise refused(
            f"an element of shape {shape_text(given)} in a list of {shape_text(held)}", 2
        ) from None


def _made(ctx: ShapeContext, index: int) -> TensorType:
    return TensorType(ctx.attrs["element_dtype"], element_shape(ctx, 0))


def _made_from(ctx: ShapeContext, index: int) -> TensorType:
    return TensorType(ctx.attrs["element_dtype"], _rows(ctx))


def _rows(ctx: ShapeContext) -> Shape:
    given = ctx.shapes[0]
    if given == ():
        raise refused("the tensor has rank 1 or more, got a scalar", 2)
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
        raise refused("indices are a vector", 3)
    return (None if element is None else ((None,) if indices is None else indices) + element,)


def _scattered(ctx: ShapeContext, tensor: int, indices: int) -> Shape:
    """Shape of a row of what is scattered."""
    rows, at = ctx.shapes[tensor], ctx.shapes[indices]
    if rows == ():
        raise refused("the tensor has rank 1 or more, got a scalar", 4)
    if at is not None and len(at) != 1:
        raise refused("indices are a vector", 3)
    if rows is not None and at is not None and None not in (rows[0], at[0]) and rows[0] != at[0]:
        raise refused(f"{rows[0]} rows for {at[0]} indices", 3)
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
        raise refused("the tensor has rank 1 or more, got a scalar", 4)
    rest = _fitted(_behind_first(element_shape(ctx, 1)), _behind_first(ctx.shapes[0]))
    return None if rest is None else (None, *rest)


def _behind_first(shape: Shape) -> Shape:
    if shape == ():
        raise refused("elements have rank 1 or more, got scalars", 4)
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


define("EmptyTensorList", "element_shape: shape_type, max_num_elements: int32 -> handle: variant",
       {"element_dtype": T, "shape_type": SHAPE}, shape=scalar, handle=_made)  # fmt: skip
define("TensorListReserve", "element_shape: shape_type, num_elements: int32 -> handle: variant",
       {"element_dtype": T, "shape_type": SHAPE}, shape=scalar, handle=_made)  # fmt: skip
define("TensorListPushBack",
       "input_handle: variant, tensor: element_dtype -> output_handle: variant",
       {"element_dtype": T}, shape=_pushed, handle=_same_list, constraints=_RULES,
       collects=1)  # fmt: skip
define("TensorListPopBack",
       "input_handle: variant, element_shape: int32 "
       "-> output_handle: variant, tensor: element_dtype",
       {"element_dtype": T}, shape=_popped, handle=_same_list, constraints=_RULES)  # fmt: skip
define("TensorListGetItem",
       "input_handle: variant, index: int32, element_shape: Tshape -> item: element_dtype",
       {"element_dtype": T, "Tshape": types(*INDICES, default=int32)}, shape=_item,
       constraints=_RULES)  # fmt: skip
define("TensorListSetItem",
       "input_handle: variant, index: int32, item: element_dtype -> output_handle: variant",
       {"element_dtype": T, "resize_if_index_out_of_bounds": boolean(False)}, shape=_set,
       handle=_same_list, constraints=_RULES, collects=2)  # fmt: skip
define("TensorListLength", "input_handle: variant -> length: int32", shape=scalar)
define("TensorListStack", "input_handle: variant, element_shape: int32 -> tensor: element_dtype",
       {"element_dtype": T, "num_elements": integer(-1)}, shape=_stacked,
       constraints=_RULES)  # fmt: skip
define("TensorListFromTensor",
       "tensor: element_dtype, element_shape: shape_type -> output_handle: variant",
       {"element_dtype": T, "shape_type": SHAPE}, shape=_from_tensor, handle=_made_from,
       constraints=_RULES, collects=0)  # fmt: skip
define("TensorListGather",
       "input_handle: variant, indices: int32, element_shape: int32 -> values: element_dtype",
       {"element_dtype": T}, shape=_gathered, constraints=_RULES)  # fmt: skip
define("TensorListScatterV2",
       "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32 "
       "-> output_handle: variant",
       {"element_dtype": T, "shape_type": SHAPE}, shape=_scatter, handle=_made_by_scatter,
       constraints=_RULES, collects=0)  # fmt: skip
define("TensorListScatterIntoExistingList",
       "input_handle: variant, tensor: element_dtype, indices: int32 -> output_handle: variant",
       {"element_dtype": T}, shape=_scatter_into, handle=_same_list,
       constraints=_RULES, collects=1)  # fmt: skip
define("TensorListSplit",
       "tensor: element_dtype, element_shape: shape_type, lengths: int64 "
       "-> output_handle: variant",
       {"element_dtype": T, "shape_type": SHAPE}, shape=_split, handle=_made_by_split,
       constraints=_RULES, collects=0)  # fmt: skip
define("TensorListConcatV2",
       "input_handle: variant, element_shape: shape_type, leading_dims: int64 "
       "-> tensor: element_dtype, lengths: int64",
       {"element_dtype": T, "shape_type": SHAPE}, shape=_concatenated,
       constraints=_RULES)  # fmt: skip
define("TensorListElementShape", "input_handle: variant -> element_shape: shape_type",
       {"shape_type": SHAPE}, shape=_held_shape)  # fmt: skip
define("TensorListResize", "input_handle: variant, size: int32 -> output_handle: variant",
       shape=scalar, handle=_same_list)  # fmt: skip
