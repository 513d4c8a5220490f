"""Shapes of a batch from the sizes of its entries, and states of zeros."""

from __future__ import annotations

from typing import Any

from graphvm import nest
from graphvm.graph.conversion import convert_to_tensor, output
from graphvm.graph.graph import Tensor
from graphvm.graph.tensor_shape import Dimension, TensorShape, as_shape
from graphvm.ops.array import concat, constant, fill, shape
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType, as_dtype


def static_size(size: Any) -> TensorShape:
    """What is known of the shape of one entry: sizes are integers, shapes or tensors."""
    if isinstance(size, Tensor):
        known = size.graph.constant_of(size)
        if known is not None:
            return TensorShape(known.tolist() if known.ndim else [int(known)])
        rank = size.type.shape
        if rank == ():
            return TensorShape([None])
        return TensorShape(None if rank is None or rank[0] is None else [None] * rank[0])
    if isinstance(size, int | Dimension):
        return TensorShape([size])
    return as_shape(size)


def static_batch(batch: Any) -> int | None:
    """Size of a batch, where it is known."""
    if isinstance(batch, Tensor):
        known = batch.graph.constant_of(batch)
        return None if known is None else int(known)
    return None if batch is None else int(batch)


def batched(size: Any, *lead: Any) -> Any:
    """The shape `[*lead, *size]`: as integers where all is known, as a tensor otherwise."""
    known = static_size(size)
    first = [static_batch(d) for d in lead]
    if known.is_fully_defined() and None not in first:
        return [*first, *known.as_list()]
    parts = [output("Reshape", (convert_to_tensor(d, dtypes.int32), [1])) for d in lead]
    if isinstance(size, Tensor):
        parts.append(output("Reshape", (output("Cast", (size,), {"DstT": dtypes.int32}), [-1])))
    else:
        parts.append(constant(known.as_list(), dtypes.int32))
    return concat(parts, 0)


def zeros_of(sizes: Any, batch: Any, dtype: object) -> Any:
    """Zeros of shape [batch, size] for each size of a structure."""
    kind = as_dtype(dtype)
    return nest.map_structure(lambda size: zero_batch(size, batch, kind), sizes)


def zero_batch(size: Any, batch: Any, dtype: DType) -> Tensor:
    """Zeros of shape [batch, size]."""
    made = fill(batched(size, batch), constant(dtype.numpy.type(0), dtype))
    made.set_shape(TensorShape([static_batch(batch)]) + static_size(size))
    return made


def batch_of(flat_inputs: Any, axis: int) -> Any:
    """Size of the batch that inputs are: an integer where it is known."""
    for each in flat_inputs:
        dims = each.type.shape
        if dims is not None and len(dims) > axis and dims[axis] is not None:
            return dims[axis]
    return shape(flat_inputs[0])[axis]


def common_type(dtype: object, state: Any) -> DType:
    """The element type asked for, or the one that all of a state has.

    Raises:
        ValueError: the state has several, or nothing.
    """
    if dtype is not None:
        return as_dtype(dtype)
    kinds: list[DType] = [t.dtype.base for t in nest.flatten(state)]
    if not kinds or any(k is not kinds[0] for k in kinds):
        raise ValueError(
            f"the element type of the outputs does not follow from a state of {kinds}: give dtype"
        )
    return kinds[0]


__all__ = [
    "batch_of", "batched", "common_type", "static_batch", "static_size", "zero_batch", "zeros_of",
]  # fmt: skip
