"""Samples that many rows share: plain, empty, scalar, broadcast, the edges of a type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import Array, DType
from tests.ops.rows import Sample, given, numbers

# Types for ops that only move elements: one of each size and kind.
MOVED = (
    dtypes.bfloat16, dtypes.float32, dtypes.int8, dtypes.int64, dtypes.complex128, dtypes.bool_,
    dtypes.string,
)  # fmt: skip


def edges(dtype: DType, infinite: bool = True) -> Array:
    """The numbers at the edges of a type: zeros, limits, infinities, NaN."""
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        return np.array([info.min, info.min + 1, 0, 1, 2, info.max - 1, info.max], dtype.numpy)
    values: Any = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1e-3, -2.5, 7.0, np.nan]
    values += [np.inf, -np.inf] if infinite else []
    if dtype.is_complex:
        values = [0.0, 1.0, -1.0, 1j, -1j, 0.5 + 0.5j, -2.0 + 3.0j]
    return np.array(values).astype(dtype.numpy)


def unary(
    low: float = -3.0, high: float = 3.0, edge: bool = True, infinite: bool = True, **attrs: Any
) -> Callable[[DType], Iterable[Sample]]:
    """Samples of a function of one tensor, between `low` and `high` and at the edges."""

    def samples(dtype: DType) -> Iterable[Sample]:
        for shape in ((2, 3), (), (0, 2), (9,)):
            yield given(numbers(dtype, *shape, low=low, high=high), **attrs)
        if edge:
            yield given(edges(dtype, infinite), **attrs)

    return samples


def binary(
    low: float = -3.0, high: float = 3.0, edge: bool = True, infinite: bool = True, **attrs: Any
) -> Callable[[DType], Iterable[Sample]]:
    """Samples of a function of two tensors that broadcast, with shapes that do not."""

    def samples(dtype: DType) -> Iterable[Sample]:
        for a, b in (
            ((2, 3), (2, 3)), ((), (3,)), ((2, 1, 3), (4, 1)), ((0, 2), (2,)), ((), ()),
            ((9,), (9,)), ((2, 3), (2,)), ((3,), (4,)),
        ):  # fmt: skip
            left = numbers(dtype, *a, low=low, high=high)
            yield given(left, numbers(dtype, *b, low=low, high=high, seed=1), **attrs)
        if edge:
            every = edges(dtype, infinite)
            yield given(every[:, None], every, **attrs)

    return samples
