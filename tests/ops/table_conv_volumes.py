"""Rows of convolutions over volumes, and of those that pad or resize first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, ints, numbers, real
from tests.ops.table_padding import pairs
from tests.ops.windows import LOOSE, ONE

ONES = (1, 1, 1, 1, 1)
# attributes, shapes of the image, the filter and the output
VOLUMES: tuple[tuple[dict[str, Any], tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...] = (
    ({"strides": ONES, "padding": b"SAME"}, (2, 3, 4, 5, 2), (2, 3, 2, 2, 2), (2, 3, 4, 5, 2)),
    ({"strides": (1, 2, 1, 3, 1), "padding": b"VALID"},
     (1, 5, 3, 7, 2), (2, 2, 3, 2, 3), (1, 2, 2, 2, 3)),
    ({"strides": (1, 2, 2, 2, 1), "padding": b"SAME"},
     (1, 3, 4, 5, 1), (3, 2, 1, 1, 2), (1, 2, 2, 3, 2)),
    ({"strides": ONES, "padding": b"VALID"}, (1, 2, 1, 2, 2), (1, 1, 1, 2, 3), (1, 2, 1, 2, 3)),
    ({"strides": ONES, "padding": b"SAME"}, (0, 2, 2, 2, 1), (1, 2, 1, 1, 1), (0, 2, 2, 2, 1)),
)  # fmt: skip
SAME = {"strides": ONES, "padding": b"SAME"}


def _samples(kind: str) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        for attrs, image, kernel, out in VOLUMES:
            x, k, g = (numbers(dtype, *s, seed=i) for i, s in enumerate((image, kernel, out)))
            if kind == "forward":
                yield given(x, k, **attrs)
            elif kind == "input":
                yield given(ints(*image), k, g, **attrs)
            else:
                yield given(x, ints(*kernel), g, **attrs)
        x, k = numbers(dtype, 1, 3, 3, 3, 2), numbers(dtype, 2, 2, 2, 2, 1)
        if kind == "forward":
            yield given(x[0], k, **SAME)
            yield given(x, k[0], **SAME)
            yield given(x[..., :1], k, **SAME)
            yield given(x, k, strides=(1, 0, 1, 1, 1), padding=b"SAME")
        elif kind == "input":
            yield given(ints(1, 3, 3, 3), k, x[..., :1], **SAME)
            yield given(ints(1, 3, 3, 3, 2), k, x[:, :2, ..., :1], **SAME)
        else:
            yield given(x, ints(2, 2, 2, 2), x[..., :1], **SAME)
            yield given(x, ints(2, 2, 2, 2, 1), x[:, :2, ..., :1], **SAME)

    return samples


def _padded(dtype: DType) -> Iterable[Sample]:
    # of several images TensorFlow convolves the rows of the first again
    x, k = numbers(dtype, 1, 3, 4, 2), numbers(dtype, 2, 3, 2, 3, seed=1)
    pads = pairs((0, 0), (1, 2), (2, 0), (0, 0))
    for mode in (b"REFLECT", b"SYMMETRIC"):
        yield given(x, pads, k, mode=mode, strides=ONE, padding=b"VALID")
        yield given(x, pads, k, mode=mode, strides=(1, 2, 2, 1), padding=b"SAME")
        yield given(x, pairs((0, 0), (3, 0), (0, 0), (0, 0)), k, mode=mode, strides=ONE,
                    padding=b"VALID")  # fmt: skip
    rest: dict[str, Any] = {"mode": b"REFLECT", "strides": ONE, "padding": b"VALID"}
    yield given(x, pads[:3], k, **rest)
    yield given(x, -pads, k, **rest)
    yield given(x[0], pads, k, **rest)
    yield given(x[..., :1], pads, k, **rest)


FLOATS = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
HALF = {**LOOSE, "float16": 6e-2}  # TensorFlow adds in float16
ROWS = (
    Row("Conv3D", _samples("forward"), types=FLOATS, tolerance=HALF),
    Row("Conv3DBackpropInputV2", _samples("input"), types=FLOATS, tolerance=HALF),
    Row("Conv3DBackpropFilterV2", _samples("filter"), types=FLOATS, tolerance=HALF),
    # TensorFlow refuses paddings that are not known
    Row("FusedPadConv2D", _padded, types=FLOATS, tolerance=LOOSE, sharper=True),
)  # fmt: skip
_DERIVED = (
    *((attrs, image, kernel, out) for attrs, image, kernel, out in VOLUMES[1:3]),
    ({"strides": (1, 1, 2, 1, 1), "padding": b"SAME", "data_format": b"NCDHW"},
     (1, 2, 3, 2, 2), (2, 1, 2, 2, 1), (1, 1, 2, 2, 2)),
)  # fmt: skip
DERIVATIVES = tuple(
    case
    for attrs, image, kernel, out in _DERIVED
    for case in (
        Case("Conv3D", (real(*image), real(*kernel)), attrs),
        Case("Conv3DBackpropInputV2", (ints(*image), real(*kernel), real(*out)), attrs),
        Case("Conv3DBackpropFilterV2", (real(*image), ints(*kernel), real(*out)), attrs),
    )
)
