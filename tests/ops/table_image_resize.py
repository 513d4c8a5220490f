"""Rows of resized images."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, int_, ints, numbers, real

SIZES = ((4, 6), (7, 3), (2, 2), (1, 1), (5, 9))


def resized(half: bool = True) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        x = numbers(dtype, 2, 4, 6, 2, low=-5.0, high=5.0)
        for size in SIZES:
            yield given(x, ints(*size))
            yield given(x, ints(*size), align_corners=True)
            if half:
                yield given(x, ints(*size), half_pixel_centers=True)
        yield given(x[:, :1, :1], ints(3, 2))
        yield given(x[:0], ints(3, 2))
        yield given(x[:, :0], ints(3, 2))
        yield given(x, ints(0, 2))
        yield given(x, ints(-1, 2))
        yield given(x, ints(3))
        yield given(x, int_(3))
        yield given(x[0], ints(3, 2))

    return samples


def back(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 4, 6, 2)
    for size in SIZES:
        g = numbers(dtypes.float32, 2, *size, 2, seed=1)
        yield given(g, x)
        yield given(g, x, align_corners=True)
        yield given(g, x, half_pixel_centers=True)
    yield given(numbers(dtypes.float32, 2, 3, 3), x)


def nearest_back(dtype: DType) -> Iterable[Sample]:
    for size in SIZES:
        g = numbers(dtype, 2, *size, 2)
        yield given(g, ints(4, 6))
        yield given(g, ints(4, 6), align_corners=True)
        yield given(g, ints(4, 6), half_pixel_centers=True)
    yield given(numbers(dtype, 2, 3, 3, 1), ints(0, 2))
    yield given(numbers(dtype, 3, 3, 1), ints(3, 2))


TYPES = (dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int8, dtypes.uint16)
LOOSE = {"float32": 1e-5, "float64": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}
ROWS = (
    Row("ResizeBilinear", resized(), types=TYPES, tolerance=LOOSE),
    Row("ResizeBicubic", resized(), types=TYPES, tolerance=LOOSE),
    Row("ResizeArea", resized(half=False), types=TYPES, tolerance=LOOSE),
    Row("ResizeNearestNeighbor", resized(), types=TYPES),
    Row("ResizeBilinearGrad", back, tolerance=LOOSE),
    Row("ResizeBicubicGrad", back, tolerance=LOOSE),
    Row("ResizeNearestNeighborGrad", nearest_back, tolerance=LOOSE),
)
CENTERS: tuple[dict[str, bool], ...] = ({}, {"align_corners": True}, {"half_pixel_centers": True})
DERIVATIVES = (
    *(Case("ResizeNearestNeighbor", (real(1, 3, 4, 1), ints(5, 2)), attrs) for attrs in CENTERS),
    Case("ResizeNearestNeighborGrad", (real(1, 3, 4, 1), ints(2, 5))),
)
