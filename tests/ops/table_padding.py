"""Rows of padding."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, numbers, real
from tests.ops.samples import MOVED

TYPES = MOVED


def pairs(
    *values: tuple[int, int], dtype: type = np.int32
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.array(values, dtype).reshape(-1, 2)


def constants(dtype: DType) -> Iterable[Sample]:
    x, fill = numbers(dtype, 2, 3), numbers(dtype, 2, seed=3)[0]
    yield given(x, pairs((1, 0), (0, 2)), fill)
    yield given(x, pairs((0, 0), (0, 0), dtype=np.int64), fill)
    yield given(x[:0], pairs((1, 1), (0, 1)), fill)
    yield given(x[0, 0], pairs(), fill)
    yield given(x, pairs((1, 0)), fill)
    yield given(x, pairs((1, 0), (-1, 2)), fill)
    yield given(x, pairs((1, 0), (0, 2)), x[0])
    yield given(x, pairs((1, 0), (0, 2))[0], fill)


def mirrored(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4)
    for mode in (b"REFLECT", b"SYMMETRIC"):
        yield given(x, pairs((1, 2), (3, 0)), mode=mode)
        yield given(x, pairs((0, 0), (0, 1), dtype=np.int64), mode=mode)
        yield given(x, pairs((3, 2), (4, 4)), mode=mode)
        yield given(x, pairs((0, 4), (0, 0)), mode=mode)
        yield given(x, pairs((-1, 0), (0, 0)), mode=mode)
        yield given(x[0], pairs((1, 1)), mode=mode)
        yield given(x[:0], pairs((0, 0), (1, 1)), mode=mode)
        yield given(x, pairs((1, 1)), mode=mode)


def folded(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 5, 6)
    for mode in (b"REFLECT", b"SYMMETRIC"):
        yield given(x, pairs((1, 1), (2, 0)), mode=mode)
        yield given(x, pairs((0, 0), (0, 0), dtype=np.int64), mode=mode)
        yield given(x, pairs((3, 3), (0, 0)), mode=mode)
        yield given(x, pairs((1, 1)), mode=mode)
        yield given(x, pairs((2, 2), (1, 3)), mode=mode)


ROWS = (
    Row("PadV2", constants, types=TYPES),
    Row("MirrorPad", mirrored, types=TYPES),
    Row("MirrorPadGrad", folded, types=MOVED[:-2]),
)
MODES = (b"REFLECT", b"SYMMETRIC")
DERIVATIVES = (
    Case("PadV2", (real(2, 3), pairs((1, 0), (0, 2)), np.float64(0.7))),
    Case("PadV2", (real(2, 3), pairs((1, 0), (0, 2)), np.float64(0.7)), by=(0,)),
    *(Case("MirrorPad", (real(3, 4), pairs((1, 2), (2, 0))), {"mode": m}) for m in MODES),
    *(Case("MirrorPadGrad", (real(6, 6), pairs((1, 2), (2, 0))), {"mode": m}) for m in MODES),
)
