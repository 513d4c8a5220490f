"""Rows of colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, apart, given, numbers


def colours(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4, 3, low=0.0, high=1.0)
    yield given(x)
    yield given(x[0, 0])
    yield given(x[:0])
    yield given(np.array([[0, 0, 0], [1, 1, 1], [1, 0, 0], [0.5, 0.5, 0.2]], dtype.numpy))
    yield given(x[0, 0][0])


def changed(*amounts: float) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        x = numbers(dtype, 2, 3, 4, 3, low=0.0, high=1.0)
        for amount in amounts:
            yield given(x, np.array(amount, np.float32))
        yield given(x[0], np.array(amounts[0], np.float32))
        yield given(x[:0], np.array(amounts[0], np.float32))
        yield given(x[0, 0], np.array(amounts[0], np.float32))
        yield given(x, np.array([amounts[0]], np.float32))

    return samples


def within(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3, 4, 2, low=0.0, high=9.0)
    for factor in (0.5, 3.0):
        yield given(x, *(np.array(v, np.float32) for v in (factor, 1.0, 7.0)))


LOOSE = {"float32": 1e-5, "float64": 1e-6, "float16": 4e-3, "bfloat16": 2e-2}
ROWS = (
    Row("RGBToHSV", colours, tolerance=LOOSE),
    Row("HSVToRGB", colours, tolerance=LOOSE),
    Row("AdjustHue", changed(0.1, -0.3, 0.9), tolerance=LOOSE),
    Row("AdjustSaturation", changed(0.5, 0.0, 3.0), tolerance=LOOSE),
    Row("AdjustContrastv2", changed(0.5, 2.0), tolerance=LOOSE),
    Row("AdjustContrast", within, tolerance=LOOSE, sharper=True),
)
DERIVATIVES = (Case("RGBToHSV", (apart(4, 3),)),)
