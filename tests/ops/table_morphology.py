"""Rows of dilation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, given, numbers
from tests.ops.windows import LOOSE, ONE

# attributes, shapes of the image, the filter and the output
GEOMETRIES: tuple[tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...] = (
    ({"strides": ONE, "rates": ONE, "padding": b"SAME"}, (2, 3, 4, 2), (2, 3, 2), (2, 3, 4, 2)),
    ({"strides": (1, 2, 1, 1), "rates": (1, 1, 2, 1), "padding": b"VALID"},
     (1, 5, 5, 2), (2, 2, 2), (1, 2, 3, 2)),
    ({"strides": (1, 2, 2, 1), "rates": (1, 2, 1, 1), "padding": b"SAME"},
     (1, 4, 5, 1), (2, 3, 1), (1, 2, 3, 1)),
    ({"strides": ONE, "rates": ONE, "padding": b"VALID"}, (0, 3, 3, 1), (2, 2, 1), (0, 2, 2, 1)),
)  # fmt: skip


def _samples(gradient: bool) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        for attrs, image, kernel, out in GEOMETRIES[: 3 if gradient else 4]:
            x, k = numbers(dtype, *image), numbers(dtype, *kernel, seed=1)
            more = (numbers(dtype, *out, seed=2),) if gradient else ()
            yield given(x, k, *more, **attrs)
            yield given(np.zeros_like(x), np.zeros_like(k), *more, **attrs)
            if dtype.is_floating:
                high = x.copy()
                high[numbers(dtype, *image, seed=3) > 0] = np.nan
                yield given(high, k, *more, **attrs)
        x, k = numbers(dtype, 1, 3, 3, 2), numbers(dtype, 2, 2, 2)
        more = (x,) if gradient else ()
        attrs = GEOMETRIES[0][0]
        yield given(x[0], k, *more, **attrs)
        yield given(x, k[0], *more, **attrs)
        yield given(x, k[..., :1], *more, **attrs)
        yield given(x, k, *more, **{**attrs, "strides": (1, 0, 1, 1)})
        if gradient:
            yield given(x, k, x[:, :2], **attrs)

    return samples


TYPES = (
    dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint8,
)  # fmt: skip
ROWS = (
    Row("Dilation2D", _samples(False), types=TYPES),
    Row("Dilation2DBackpropInput", _samples(True), types=TYPES, tolerance=LOOSE),
    Row("Dilation2DBackpropFilter", _samples(True), types=TYPES, tolerance=LOOSE),
)
