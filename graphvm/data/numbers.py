"""Inputs of dataset ops that are one number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphvm.data.structure import flatten
from graphvm.graph.conversion import TensorLike, convert_to_tensor, output
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import GraphError

__all__ = ["fillers", "first_axis", "number"]


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


def fillers(given: Any, types: Sequence[DType]) -> list[Tensor]:
    """What each component is filled up with: one value for all, or one for each, None for zero.

    Raises:
        GraphError: values are not as many as components.
    """
    values = [given] * len(types) if not isinstance(given, tuple | Mapping) else flatten(given)
    if len(values) != len(types):
        raise GraphError(
            f"{len(values)} values to fill up {len(types)} components", made=user_line()
        )
    out = []
    for place, (value, dtype) in enumerate(zip(values, types, strict=True)):
        if value is None:
            value = "" if dtype is dtypes.string else np.zeros((), dtype.numpy)
        out.append(convert_to_tensor(value, dtype, f"padding_values_{place}"))
    return out
