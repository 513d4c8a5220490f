"""Rows of batch normalization."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, given, numbers


def vectors(count: int) -> list[Any]:
    single = dtypes.float32
    return [
        numbers(single, count, seed=1), numbers(single, count, seed=2),
        numbers(single, count, seed=3), numbers(single, count, low=0.5, seed=4),
    ]  # fmt: skip


def normalized(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3, 4, 5)
    none = np.zeros(0, np.float32)
    for layout, axis in ((b"NHWC", 3), (b"NCHW", 1)):
        scale, offset, mean, variance = vectors(x.shape[axis])
        if layout == b"NHWC":
            yield given(x, scale, offset, none, none, data_format=layout)
            yield given(x, scale, offset, mean, variance, exponential_avg_factor=0.25)
            yield given(x, scale, offset, mean, variance, epsilon=0.1, is_training=False)
            yield given(x[:1, :1, :1], scale, offset, none, none)
            yield given(x, scale[:2], offset, none, none)
            yield given(x[0], scale, offset, none, none)
            yield given(x, scale, offset, mean[:2], variance, is_training=False)
        else:
            yield given(x, scale, offset, mean, variance, data_format=layout, is_training=False)


def backwards(reserved: bool) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        g, x = numbers(dtype, 2, 3, 4, 5), numbers(dtype, 2, 3, 4, 5, seed=5)
        scale, _, mean, variance = vectors(5)
        more = [np.zeros((), np.float32)] if reserved else []
        wide = x.astype(np.float32).reshape(-1, 5)
        yield given(g, x, scale, wide.mean(0), wide.var(0), *more)
        yield given(g, x, scale, mean, variance, *more, is_training=False, epsilon=0.01)
        yield given(g, x[:, :2], scale, mean, variance, *more)
        yield given(g, x, scale[:2], mean, variance, *more)

    return samples


def unset(attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """What is kept for the gradient is left as it is outside of training."""
    return () if attrs.get("is_training", True) else (3, 4)


LOOSE = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}
ROWS = (
    Row("FusedBatchNorm", normalized, types=(dtypes.float32,), tolerance=LOOSE, unset=unset),
    Row("FusedBatchNormV2", normalized, tolerance=LOOSE, unset=unset),
    Row("FusedBatchNormV3", normalized, tolerance=LOOSE, unset=unset),
    Row("FusedBatchNormGrad", backwards(False), types=(dtypes.float32,), tolerance=LOOSE),
    Row("FusedBatchNormGradV2", backwards(False), tolerance=LOOSE),
    Row("FusedBatchNormGradV3", backwards(True), tolerance=LOOSE),
)
