"""Rows of tensors handed on as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, ints, numbers, real
from tests.ops.samples import MOVED, edges


def same(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3)
    yield given(x)
    yield given(x[0, 0])
    yield given(x[:0])


def checked(dtype: DType) -> Iterable[Sample]:
    for sample in same(dtype):
        yield given(*sample.inputs, message=b"here")
    every = edges(dtype)
    yield given(every, message=b"here")
    yield given(every[-2:], message=b"here")


def ensured(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3)
    for shape in ((2, 3), (None, 3), (2, 4), (2,), ()):
        yield given(x, shape=shape)


def cast_to(to: DType) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        for shape in ((2, 8), (4,), (3, 2), (2, 1), (), (0, 4)):
            yield given(numbers(dtype, *shape), type=to)

    return samples


def everything(dtype: DType) -> Iterable[Sample]:
    for to in (dtypes.uint8, dtypes.float16, dtypes.int32, dtypes.float64, dtypes.complex128):
        yield from cast_to(to)(dtype)


BITS = (dtypes.int8, dtypes.bfloat16, dtypes.float32, dtypes.int64, dtypes.complex128)
ROWS = (
    *(
        Row(op, same, types=MOVED)
        for op in ("DebugGradientIdentity", "DeepCopy", "GuaranteeConst", "Snapshot")
    ),
    Row("CheckNumerics", checked),
    Row("EnsureShape", ensured, types=MOVED),
    Row("Bitcast", everything, types=BITS),
    Row(
        "Empty",
        lambda dtype: [
            given(ints(*shape), dtype=dtype, init=True) for shape in ((2, 3), (), (0, 2), (-1,))
        ],
        types=MOVED[:-1], vary="dtype",
    ),
)  # fmt: skip
DERIVATIVES = (
    *(
        Case(op, (real(2, 3),))
        for op in ("DebugGradientIdentity", "DeepCopy", "GuaranteeConst", "Snapshot")
    ),
    Case("CheckNumerics", (real(2, 3),), {"message": b"x"}),
    Case("EnsureShape", (real(2, 3),), {"shape": (2, None)}),
)
