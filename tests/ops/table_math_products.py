"""Rows of the rarer products of matrices, as recorded from TensorFlow."""

from __future__ import annotations

from collections.abc import Iterable

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, complex_, given, numbers, real


def multiplied(dtype: DType) -> Iterable[Sample]:
    x, y = numbers(dtype, 2, 3, 4), numbers(dtype, 2, 4, 2, seed=1)
    yield given(x, y)
    yield given(x.swapaxes(1, 2).copy(), y, adj_x=True)
    yield given(x, y.swapaxes(1, 2).copy(), adj_y=True)
    yield given(x[:0], y[:0])
    yield given(x[:, :, :0], y[:, :0])
    yield given(x, y[:, :3])
    yield given(x[0, 0], y)
    yield given(x[:1], y)
    yield given(x[0], y[0])


def mixed(dtype: DType) -> Iterable[Sample]:
    for sample in multiplied(dtype):
        yield given(*sample.inputs, **sample.attrs, Tout=dtype)


def matrices(dtype: DType) -> Iterable[Sample]:
    a, b = numbers(dtype, 3, 4), numbers(dtype, 4, 2, seed=1)
    yield given(a, b)
    yield given(a.T.copy(), b, transpose_a=True, a_is_sparse=True)
    yield given(a, b.T.copy(), transpose_b=True, b_is_sparse=True)
    yield given(a[:0], b)
    yield given(a, b[:3])


LOOSE = {"bfloat16": 2e-2, "float16": 4e-3, "float32": 4e-6, "complex64": 8e-6}
ROWS = (
    Row("BatchMatMul", multiplied, tolerance=LOOSE),
    Row("BatchMatMulV3", mixed, vary="Ta", tolerance=LOOSE,
        types=(*dtypes.FLOATS, *dtypes.COMPLEX, *dtypes.INDICES)),
    Row("SparseMatMul", matrices, vary="Ta", tolerance=LOOSE),
)  # fmt: skip
DERIVATIVES = (
    Case("BatchMatMul", (real(2, 3, 4), real(2, 4, 2))),
    Case("BatchMatMul", (complex_(2, 3, 2), complex_(2, 3, 2)), {"adj_x": True}, order=1),
    Case("BatchMatMulV3", (real(1, 3, 4), real(2, 2, 4)), {"adj_y": True, "Tout": dtypes.float64}),
)
