"""Rows of Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from graphvm_runtime.dtypes import DType, complex64, complex128, float32, float64
from tests.ops.rows import Case, Row, Sample, complex_, given, ints, numbers, real

COMPLEX = {float32: complex64, float64: complex128}
TOLERANCE = {"complex64": 2e-6, "float32": 2e-6}  # beside sums of a few dozen terms


def whole(axes: int) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        for shape in ((2, 3, 4, 5), (4, 1, 6), (3, 3, 3), (0, 4, 4), (5, 0)):
            yield given(numbers(dtype, *shape))
        yield given(numbers(dtype, 4))
        yield given(numbers(dtype))

    return samples


LENGTHS: dict[int, list[tuple[int, ...]]] = {
    1: [(6,), (5,), (4,), (1,), (7,)],
    2: [(4, 6), (4, 5), (2, 3), (5, 6)],
    3: [(3, 4, 6), (2, 2, 5), (3, 5, 6)],
}


def rfft(axes: int) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        out: DType = COMPLEX[dtype]
        x: Any = numbers(dtype, 2, 3, 4, 6)
        for lengths in LENGTHS[axes]:
            yield given(x, ints(*lengths), Tcomplex=out)
        yield given(x[:0], ints(*LENGTHS[axes][0]), Tcomplex=out)
        yield given(x[0, 0, 0], ints(*LENGTHS[axes][0]), Tcomplex=out)
        yield given(x, ints(*[2] * (axes + 1)), Tcomplex=out)
        yield given(x, ints(*[2] * axes)[0], Tcomplex=out)

    return samples


def irfft(axes: int) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        half, out = COMPLEX[dtype], dtype
        x: Any = numbers(half, 2, 3, 4, 4)
        for lengths in LENGTHS[axes]:
            yield given(x, ints(*lengths), Treal=out)
        yield given(x[:0], ints(*LENGTHS[axes][0]), Treal=out)
        yield given(x[0, 0, 0], ints(*LENGTHS[axes][0]), Treal=out)
        yield given(x, ints(*[2] * (axes + 1)), Treal=out)

    return samples


FLOATS = (float32, float64)
SUFFIXES = ((1, ""), (2, "2D"), (3, "3D"))
ROWS = (
    *(
        Row(f"{kind}{suffix}", whole(axes), vary="Tcomplex", tolerance=TOLERANCE)
        for axes, suffix in SUFFIXES
        for kind in ("FFT", "IFFT")
    ),
    *(
        Row(f"RFFT{suffix}", rfft(axes), types=FLOATS, tolerance=TOLERANCE)
        for axes, suffix in SUFFIXES
    ),
    *(
        Row(f"IRFFT{suffix}", irfft(axes), types=FLOATS, tolerance=TOLERANCE)
        for axes, suffix in SUFFIXES
    ),
)
DERIVATIVES = (
    *(
        Case(f"{kind}{suffix}", (complex_(2, 3, 2, 4),))
        for axes, suffix in SUFFIXES
        for kind in ("FFT", "IFFT")
    ),
    *(
        Case(f"RFFT{suffix}", (real(3, 4, 6), ints(*lengths)), {"Tcomplex": complex128})
        for axes, suffix in SUFFIXES
        for lengths in ((3, 4, 6)[-axes:], (2, 3, 5)[-axes:])
    ),
    *(
        Case(f"IRFFT{suffix}", (complex_(3, 4, 4), ints(*lengths)), {"Treal": float64})
        for axes, suffix in SUFFIXES
        for lengths in ((3, 4, 6)[-axes:], (2, 3, 5)[-axes:])
    ),
)
