"""Parts of tensors: slices, Python's subscripts, gathers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphvm.graph.conversion import (
    TensorLike,
    constant_node,
    convert_to_tensor,
    op_scope,
    output,
    packed,
)
from graphvm.graph.graph import Tensor, get_default_graph
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import Dimension
from graphvm.ops.array.constants import ones_like
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import DTypeError, ShapeError, clipped

__all__ = ["gather", "newaxis", "slice", "strided_slice", "subscript"]

newaxis = None
_slice = slice  # Python's own


def slice(
    input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None
) -> Tensor:
    """A box out of a tensor.

    Args:
        input_: any type, rank n.
        begin: vector of n integers, where it starts.
        size: vector of n integers, how long it is; -1 means up to the end.
        name: name of the operation.

    Returns:
        Element type of `input_`; shape `size`.

    Raises:
        ShapeError: the box is not inside the tensor.

    Source: TF op `Slice`.
    """
    return output("Slice", (input_, begin, size), None, name)


def strided_slice(
    input_: TensorLike,
    begin: TensorLike,
    end: TensorLike,
    strides: TensorLike = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    name: str | None = None,
) -> Tensor:
    """What Python's subscript with slices gives.

    Args:
        input_: any type and shape.
        begin: vector of integers, one for each item of the subscript.
        end: vector of integers.
        strides: vector of integers, 1 by default.
        begin_mask: bit i: item i starts at the edge.
        end_mask: bit i: item i goes to the edge.
        ellipsis_mask: bit i: item i is `...`.
        new_axis_mask: bit i: item i is a new axis of length 1.
        shrink_axis_mask: bit i: item i is one index, whose axis is left out.
        name: name of the operation.

    Returns:
        Element type of `input_`.

    Raises:
        ShapeError: an index is outside, a stride is 0, or there are too many items.

    Source: TF op `StridedSlice`.
    """
    if strides is None:
        strides = ones_like(convert_to_tensor(begin, dtype_hint=dtypes.int32))
    attrs = {
        "begin_mask": begin_mask,
        "end_mask": end_mask,
        "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask,
        "shrink_axis_mask": shrink_axis_mask,
    }
    return output("StridedSlice", (input_, begin, end, strides), attrs, name)


def subscript(tensor: TensorLike, key: Any, name: str | None = None) -> Tensor:
    """`tensor[key]` with Python's meaning.

    Args:
        tensor: any type and shape.
        key: integers, scalar integer tensors, slices of both, `...` and None (a new axis).
        name: name of the operation.

    Returns:
        Element type of `tensor`.

    Raises:
        DTypeError: an item is nothing of the kind.
        ShapeError: an index is outside, a stride is 0, or there are too many items.

    Source: subscripts of `tf.Tensor`.
    """
    items = list(key) if isinstance(key, tuple | list) else [key]
    begin: list[Any] = []
    end: list[Any] = []
    strides: list[Any] = []
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    with op_scope(name or "strided_slice", [tensor, *_parts(items)]) as scope:
        tensor = convert_to_tensor(tensor, name="input")
        for place, item in enumerate(items):
            bit = 1 << place
            if isinstance(item, _slice):
                _check(item.start, item.stop, item.step)
                begin.append(0 if item.start is None else _plain(item.start))
                end.append(0 if item.stop is None else _plain(item.stop))
                strides.append(1 if item.step is None else _plain(item.step))
                masks["begin"] |= bit * (item.start is None)
                masks["end"] |= bit * (item.stop is None)
                continue
            if item is Ellipsis:
                masks["ellipsis"] |= bit
            elif item is None:
                masks["new_axis"] |= bit
            else:
                _check(item)
                index = _plain(item)
                begin.append(index)
                end.append(index + 1)
                strides.append(1)
                masks["shrink_axis"] |= bit
                continue
            begin.append(0)
            end.append(0)
            strides.append(1)
        if masks["ellipsis"] & (masks["ellipsis"] - 1):
            raise ShapeError("a subscript has at most one `...`", made=user_line())
        kind = _index_type([*begin, *end, *strides])
        vectors = [
            _vector(values, kind, stem)
            for values, stem in ((begin, "stack"), (end, "stack_1"), (strides, "stack_2"))
        ]
        attrs = {f"{k}_mask": v for k, v in masks.items()}
        return (
            get_default_graph()
            .add_node("StridedSlice", (tensor, *vectors), attrs, scope)
            .outputs[0]
        )


def _parts(items: Sequence[Any]) -> list[Any]:
    """Everything inside a subscript that may be a tensor."""
    out: list[Any] = []
    for item in items:
        out.extend((item.start, item.stop, item.step) if isinstance(item, _slice) else (item,))
    return out


def _check(*values: Any) -> None:
    for value in values:
        if value is None or isinstance(value, int | np.integer | Dimension):
            continue
        dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
        scalar = (
            shape is not None and len(shape if getattr(shape, "rank", 0) is not None else ()) == 0
        )
        if isinstance(dtype, DType) and dtype.base in dtypes.INDICES and scalar:
            continue
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu":
            continue
        raise DTypeError(
            f"{clipped(value)} is no subscript: use integers, slices, `...`, None and scalar "
            "tensors of int32 or int64",
            made=user_line(),
        )


def _plain(value: Any) -> Any:
    """Python's integer, or the tensor."""
    if isinstance(value, Dimension) and value.value is None:
        raise ShapeError("a dimension that is not known is no index", made=user_line())
    return value if hasattr(value, "graph") else int(value)


def _index_type(values: Sequence[Any]) -> DType:
    wide = any(
        v.dtype.base is dtypes.int64 if hasattr(v, "graph") else not -(2**31) <= v < 2**31
        for v in values
    )
    return dtypes.int64 if wide else dtypes.int32


def _vector(values: Sequence[Any], kind: DType, name: str) -> Tensor:
    if not any(hasattr(v, "graph") for v in values):
        return constant_node(np.array(values, kind.numpy), kind, name)
    return packed([_cast(v, kind) for v in values], kind, name)


def _cast(value: Any, kind: DType) -> Any:
    """An index tensor in the type of its neighbours."""
    if hasattr(value, "graph") and value.dtype.base is not kind:
        return output("Cast", (value,), {"DstT": kind})
    return value


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: TensorLike = None,
    batch_dims: int = 0,
) -> Tensor:
    """Parts of a tensor along an axis, by their numbers.

    Args:
        params: any type, rank at least 1.
        indices: integers, any shape; an index outside is an error when it runs.
        validate_indices: not looked at: indices are always checked.
        name: name of the operation.
        axis: the axis, the first one after the batch axes by default.
        batch_dims: how many leading axes `params` and `indices` share.

    Returns:
        Element type of `params`; its shape with that of `indices` in place of `axis`.

    Raises:
        ShapeError: `axis` is outside the rank, or batch axes differ.

    Source: TF op `GatherV2`.
    """
    del validate_indices
    where = batch_dims if axis is None else axis
    return output("GatherV2", (params, indices, where), {"batch_dims": batch_dims}, name)
