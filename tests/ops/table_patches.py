"""Rows of windows cut out of images and volumes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, Wrong, given, numbers, real
from tests.ops.windows import ONE

IMAGES: tuple[tuple[dict[str, Any], tuple[int, ...]], ...] = (
    ({"ksizes": (1, 2, 3, 1), "strides": ONE, "rates": ONE, "padding": b"SAME"}, (2, 3, 4, 2)),
    ({"ksizes": (1, 2, 2, 1), "strides": (1, 2, 3, 1), "rates": (1, 2, 1, 1),
      "padding": b"VALID"}, (1, 6, 5, 2)),
    ({"ksizes": (1, 3, 2, 1), "strides": (1, 2, 1, 1), "rates": (1, 1, 2, 1),
      "padding": b"SAME"}, (1, 4, 5, 1)),
    ({"ksizes": ONE, "strides": ONE, "rates": ONE, "padding": b"VALID"}, (0, 2, 2, 3)),
)  # fmt: skip
ONES = (1, 1, 1, 1, 1)
VOLUMES: tuple[tuple[dict[str, Any], tuple[int, ...]], ...] = (
    ({"ksizes": (1, 2, 1, 2, 1), "strides": ONES, "padding": b"SAME"}, (1, 2, 2, 3, 2)),
    ({"ksizes": (1, 2, 2, 1, 1), "strides": (1, 2, 1, 1, 1), "padding": b"VALID"},
     (2, 3, 3, 2, 1)),
    ({"ksizes": ONES, "strides": ONES, "padding": b"VALID"}, (0, 2, 2, 1, 2)),
)  # fmt: skip


def _images(dtype: DType) -> Iterable[Sample]:
    for attrs, shape in IMAGES:
        yield given(numbers(dtype, *shape), **attrs)
    attrs, x = IMAGES[0][0], numbers(dtype, 1, 3, 3, 2)
    yield given(x[0], **attrs)
    yield given(x, **{**attrs, "ksizes": (1, 2, 2, 2)})


def _volumes(dtype: DType) -> Iterable[Sample]:
    for attrs, shape in VOLUMES:
        yield given(numbers(dtype, *shape), **attrs)


def _cut(x: Any, **attrs: Any) -> Any:
    """The patches of a volume, one by one."""
    sizes, strides = attrs["ksizes"][1:4], attrs["strides"][1:4]
    same = attrs["padding"] == b"SAME"
    pads, counts = [], []
    for d, size, stride in zip(x.shape[1:4], sizes, strides, strict=True):
        counts.append(-(-d // stride) if same else (d - size) // stride + 1)
        missing = max((counts[-1] - 1) * stride + size - d, 0)
        pads.append((missing // 2, missing - missing // 2))
    padded = np.pad(x, ((0, 0), *pads, (0, 0)))
    out = np.zeros((len(x), *counts, math.prod(sizes) * x.shape[-1]), x.dtype)
    for at in np.ndindex(*counts):
        first = [i * stride for i, stride in zip(at, strides, strict=True)]
        window = tuple(slice(f, f + size) for f, size in zip(first, sizes, strict=True))
        out[(slice(None), *at)] = padded[(slice(None), *window)].reshape(len(x), out.shape[-1])
    return out


X = np.zeros((1, 2, 2, 2, 1), np.float32)
TYPES = (dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int32, dtypes.uint8)
ROWS = (
    Row("ExtractImagePatches", _images, types=(*TYPES, dtypes.complex64, dtypes.bool_)),
    # TensorFlow's static shape has another rank than its kernel's result
    Row(
        "ExtractVolumePatches",
        _volumes,
        _cut,
        types=TYPES,
        wrong=(Wrong(given(X[0], **VOLUMES[0][0]), "has rank 5", "rank 5"),),
    ),
)
DERIVATIVES = (
    *(Case("ExtractImagePatches", (real(*shape),), attrs) for attrs, shape in IMAGES[:3]),
    *(Case("ExtractVolumePatches", (real(*shape),), attrs) for attrs, shape in VOLUMES[:2]),
)
