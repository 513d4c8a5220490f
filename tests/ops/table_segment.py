"""Rows of reductions by segments, beside that of `UnsortedSegmentSum` in `table_math_reduction`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, apart, given, int_, ints, numbers, positive, real


def in_order(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 5, 3, low=-2.0, high=2.0)
    yield given(x, ints(0, 0, 1, 1, 1))
    yield given(x, ints(1, 1, 1, 4, 4))
    yield given(x, np.array([0, 1, 2, 3, 4]))
    yield given(x[:0], ints())
    yield given(x[0], ints(0, 0, 2))
    yield given(x[:, :0], ints(0, 0, 1, 1, 1))
    yield given(x, ints(0, 1, 0, 1, 1))
    yield given(x, ints(-1, 0, 1, 1, 1))
    yield given(x, ints(0, 1))
    yield given(x, np.zeros((5, 1), np.int32))


def any_order(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 5, 3, low=-2.0, high=2.0)
    yield given(x, ints(2, 0, 2, -1, 0), int_(4))
    yield given(x, np.zeros((5, 3), np.int64), np.array(2, np.int64))
    yield given(x[0], ints(0, 0, 1), int_(3))
    yield given(x[:0], ints(), int_(2))
    yield given(x, ints(0, 0, 0, 0, 0), int_(0))
    yield given(x, ints(0, 0, 0, 0, 3), int_(3))
    yield given(x, ints(0, 0), int_(3))
    yield given(x, ints(0, 0, 0, 0, 0), int_(-1))


def chosen(with_count: bool) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        x = numbers(dtype, 4, 3, low=-2.0, high=2.0)
        for indices, ids in (
            (ints(3, 0, 0, 1), ints(0, 0, 1, 1)), (ints(3, 0), ints(1, 3)), (ints(), ints()),
            (ints(4), ints(0)), (ints(-1), ints(0)), (ints(0, 1), ints(1, 0)),
            (ints(0, 1), ints(-1, 0)), (ints(0, 1), ints(0)),
        ):  # fmt: skip
            yield given(x, indices, ids, *([int_(5)] if with_count else []))
        if with_count:
            yield given(x, ints(0, 1), ints(0, 2), int_(2))
            yield given(x, ints(0, 1), ints(0, 1), int_(-1))
        more = [int_(2)] if with_count else []
        yield given(x[0], ints(0, 1), ints(0, 1), *more)
        yield given(x, np.array([0, 1]), np.array([0, 1]), *more)

    return samples


def back(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3)
    yield given(x, ints(3, 0, 0, 1), ints(0, 0, 1, 1), int_(5))
    yield given(x[:0], ints(), ints(), int_(0))
    yield given(x, ints(3), ints(0), int_(3))
    yield given(x, ints(0), ints(2), int_(3))


SOME = (*dtypes.FLOATS, dtypes.int8, dtypes.int32, dtypes.uint64)
KINDS = ("Mean", "SqrtN", "Sum")
LOOSE = {"bfloat16": 2e-2, "float16": 4e-3}
ROWS = (
    *(Row(f"Segment{k}", in_order, types=SOME) for k in ("Max", "Min")),
    *(
        Row(f"Segment{k}", in_order, types=(*SOME, dtypes.complex64), tolerance=LOOSE)
        for k in ("Mean", "Prod", "Sum")
    ),
    *(Row(f"UnsortedSegment{k}", any_order, types=SOME) for k in ("Max", "Min")),
    Row("UnsortedSegmentProd", any_order, types=(*SOME, dtypes.complex64), tolerance=LOOSE),
    *(Row(f"SparseSegment{k}", chosen(False), tolerance=LOOSE) for k in KINDS),
    *(Row(f"SparseSegment{k}WithNumSegments", chosen(True), tolerance=LOOSE) for k in KINDS),
    *(Row(f"SparseSegment{k}Grad", back, tolerance=LOOSE) for k in KINDS),
)
IDS, ANY = ints(0, 0, 2, 2, 2), ints(2, 0, 2, -1, 1)
DERIVATIVES = (
    *(Case(f"Segment{k}", (apart(5, 2), IDS)) for k in ("Max", "Min", "Mean", "Sum", "Prod")),
    *(
        Case(f"UnsortedSegment{k}", (apart(5, 2), ANY, int_(3)))
        for k in ("Max", "Min", "Prod", "Sum")
    ),
    Case(
        "UnsortedSegmentProd", (positive(2, 2, 3), np.array([[2, 0], [-1, 2]], np.int32), int_(3))
    ),
    Case("SegmentProd", (np.array([0.0, 1.5, 0.7, 0.0, 0.0]), IDS), order=1),
    *(
        Case(f"SparseSegment{k}{suffix}", (real(4, 2), ints(3, 0, 0, 1), ints(0, 0, 1, 1), *more))
        for k in KINDS
        for suffix, *more in (("",), ("WithNumSegments", int_(3)), ("Grad", int_(5)))
    ),
)
