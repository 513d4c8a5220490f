"""Inputs of dataset ops that are one number."""

from __future__ import annotations

from graphvm.conversion import TensorLike, convert_to_tensor, output
from graphvm.graph import Tensor
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType

__all__ = ["first_axis", "number"]


def number(value: TensorLike, name: str, dtype: DType = dtypes.int64) -> Tensor:
    """An input of an op that is one number."""
    tensor = convert_to_tensor(value, None if isinstance(value, Tensor) else dtype, name)
    if tensor.dtype.base is not dtype:
        tensor = output("Cast", (tensor,), {"DstT": dtype})
    return tensor


def first_axis(size: Tensor, whole: Tensor) -> int | None:
    """Static size of a batch, where it is known and all batches are whole."""
    known, drops = size.graph.constant_of(size), whole.graph.constant_of(whole)
    if known is None or drops is None or not drops:
        return None
    return int(known) if known > 0 else None
