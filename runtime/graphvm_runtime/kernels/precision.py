"""Where NumPy's own precision is not enough: 16-bit floats computed in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from graphvm_runtime.dtypes import Array

HALF = np.dtype(np.float16)
BRAIN = np.dtype(ml_dtypes.bfloat16)
SINGLE = np.dtype(np.float32)


def is_low(dtype: np.dtype[Any]) -> bool:
    """Whether the type is a 16-bit float."""
    return dtype in (HALF, BRAIN)


def wide(x: Array) -> Array:
    """The array, in float32 where it is of a 16-bit float."""
    return x.astype(SINGLE) if is_low(x.dtype) else x


def least_of(dtype: np.dtype[Any]) -> Any:
    """The least finite number of a type: a maximum starts there, so that -inf alone gives it."""
    if dtype == BRAIN:
        return ml_dtypes.finfo(dtype).min  # type: ignore[no-untyped-call]  # it has no hints
    return np.finfo(dtype).min if dtype.kind == "f" else np.iinfo(dtype).min


def widened(function: Callable[..., Any], dtype: np.dtype[Any]) -> Callable[..., Any]:
    """The function with its 16-bit arguments in float32 and its results in `dtype`, if that is low.

    Intermediate results of 16 bits would lose what the op's definition, one rounding, keeps.
    """
    if not is_low(dtype):
        return function

    def call(*inputs: Array) -> Any:
        result = function(*[wide(x) for x in inputs])
        if isinstance(result, tuple | list):
            return [r.astype(dtype) for r in result]
        return result.astype(dtype)

    return call


def unsigned_like(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The unsigned integers of the same size."""
    return np.dtype(f"u{dtype.itemsize}")


def as_strings(value: Any) -> Array:
    """An object array: NumPy turns those of rank 0 into bare bytes."""
    if isinstance(value, np.ndarray):
        return value
    out = np.empty((), object)
    out[()] = value
    return out
