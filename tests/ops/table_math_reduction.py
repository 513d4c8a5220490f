"""Rows of the math family: products and reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.plain import folded, positions, precise
from tests.ops.rows import Row, Sample, Wrong, given, int_, ints, numbers
from tests.ops.table_math import INF, NAN, larger, smaller

_FLOAT2 = np.zeros(2, np.float32)
# ------------------------------------------------------------------------------------- products


def _matrices(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 2, 3), numbers(dtype, 3, 4, seed=1))
    yield given(numbers(dtype, 3, 2), numbers(dtype, 3, 4, seed=1), transpose_a=True)
    yield given(numbers(dtype, 2, 3), numbers(dtype, 4, 3, seed=1), transpose_b=True)
    yield given(
        numbers(dtype, 3, 2), numbers(dtype, 4, 3, seed=1), transpose_a=True, transpose_b=True
    )
    yield given(numbers(dtype, 2, 0), numbers(dtype, 0, 3))
    yield given(numbers(dtype, 0, 2), numbers(dtype, 2, 3))


def _rows_by_columns(a: Any, b: Any) -> Any:
    out = np.zeros((a.shape[0], b.shape[1]), object)
    for i, j in positions(out.shape):
        out[i, j] = sum((a[i, k].item() * b[k, j].item() for k in range(a.shape[1])), 0)
    return out


def _matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    a, b = precise(a), precise(b)
    return _rows_by_columns(a.T if transpose_a else a, b.T if transpose_b else b)


def _batches(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 2, 2, 3), numbers(dtype, 2, 3, 2, seed=1))
    yield given(numbers(dtype, 2, 1, 3, 2), numbers(dtype, 4, 3, 2, seed=1), adj_x=True)
    yield given(numbers(dtype, 2, 3), numbers(dtype, 2, 4, 3, seed=1), adj_y=True)
    yield given(numbers(dtype, 2, 3), numbers(dtype, 3, 1, seed=1))


def _batch_matmul(x: Any, y: Any, adj_x: bool = False, adj_y: bool = False) -> Any:
    x, y = precise(x), precise(y)
    x = np.conj(x.swapaxes(-1, -2)) if adj_x else x
    y = np.conj(y.swapaxes(-1, -2)) if adj_y else y
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = np.broadcast_to(x, batch + x.shape[-2:]), np.broadcast_to(y, batch + y.shape[-2:])
    out = np.empty((*batch, x.shape[-2], y.shape[-1]), object)
    for at in positions(batch):
        out[at] = _rows_by_columns(x[at], y[at])
    return out


_M23, _M24 = np.zeros((2, 3), np.float32), np.zeros((2, 4), np.float32)
PRODUCTS = (
    Row(
        "MatMul", _matrices, _matmul, tolerance={"float16": 4e-3, "bfloat16": 3e-2},
        wrong=(
            Wrong(given(_M23, _M24), r"inner dimensions differ: 3 .* 2", "matmul"),
            Wrong(given(np.zeros((1, 2, 3), np.float32), _M24), r"rank 2", "matrices"),
        ),
    ),
    Row(
        "BatchMatMulV2", _batches, _batch_matmul, tolerance={"float16": 4e-3, "bfloat16": 3e-2},
        wrong=(
            Wrong(given(_M23, _M24), r"inner dimensions differ", "matmul"),
            Wrong(given(_FLOAT2, _M24), r"rank 2 or more", "rank 2 or more"),
            Wrong(
                given(np.zeros((2, 1, 1), np.float32), np.zeros((3, 1, 1), np.float32)),
                r"do not broadcast", "broadcast|remapped",
            ),
        ),
    ),
)  # fmt: skip

# ------------------------------------------------------------------------------------ reductions


def reductions(low: float = -2.0, high: float = 2.0) -> Callable[[DType], Iterable[Sample]]:
    """Samples of a reduction."""

    def samples(dtype: DType) -> Iterable[Sample]:
        x = numbers(dtype, 2, 3, 4, low=low, high=high)
        for axes in (ints(0), ints(1, -1), ints(), ints(0, 1, 2), int_(1)):
            yield given(x, axes)
            yield given(x, axes, keep_dims=True)
        yield given(x, np.array([2], np.int64))
        yield given(numbers(dtype, low=low, high=high), ints())
        yield given(numbers(dtype, 0, 3), ints(0))
        yield given(numbers(dtype, 0, 3), ints(1), keep_dims=True)

    return samples


def _mean(values: list[Any]) -> Any:
    if values and isinstance(values[0], int):
        return int(math.copysign(abs(sum(values)) // len(values), sum(values)))
    return sum(values) / len(values) if values else NAN


def _mean_or_zero(values: list[Any]) -> Any:
    return _mean(values) if values else 0


def _extremes(is_max: bool) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        yield from reductions()(dtype)
        if dtype.is_floating:
            yield given(np.array([[1.0, NAN], [3.0, 2.0]]).astype(dtype.numpy), ints(1))

    return samples


def _extreme(choose: Callable[[Any, Any], Any], none: str) -> Callable[..., Any]:
    def reference(x: Any, axes: Any, keep_dims: bool = False) -> Any:
        if x.dtype.kind in "iu":
            empty: Any = getattr(np.iinfo(x.dtype), none)
        else:
            empty = -INF if none == "min" else INF
        return folded(lambda v: reduce(choose, v) if v else empty)(x, axes, keep_dims)

    return reference


def _cumulations(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4, low=-2.0, high=2.0)
    for exclusive in (False, True):
        for reverse in (False, True):
            yield given(x, int_(1), exclusive=exclusive, reverse=reverse)
    yield given(x, int_(-2))
    yield given(numbers(dtype, 0, 2), int_(0), exclusive=True)


def _cumprod(x: Any, axis: Any, exclusive: bool = False, reverse: bool = False) -> Any:
    wide = precise(x)
    at = int(axis) % x.ndim
    out = np.empty(x.shape, object)
    for p in positions(x.shape):
        product: Any = 1
        for k in range(x.shape[at]):
            before = k > p[at] if reverse else k < p[at]
            if before or (k == p[at] and not exclusive):
                product *= wide[(*p[:at], k, *p[at + 1 :])].item()
        out[p] = product
    return out


def _maxima(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 3, 4), int_(0))
    yield given(numbers(dtype, 3, 4), int_(-1), output_type=dtypes.int32)
    yield given(numbers(dtype, 5), np.array(0, np.int64))
    if dtype.is_floating:
        rows = [[1.0, NAN, 2.0], [NAN, NAN, NAN], [NAN, -INF, 0.0], [INF, 1.0, INF]]
        yield given(np.array(rows).astype(dtype.numpy), int_(1))


def _arg_max(x: Any, axis: Any, output_type: DType = dtypes.int64) -> Any:
    at = int(axis) % x.ndim
    shape = x.shape[:at] + x.shape[at + 1 :]
    out = np.empty(shape, object)
    for p in positions(shape):
        best, found = 0, None
        for k in range(x.shape[at]):
            value = precise(x)[(*p[:at], k, *p[at:])].item()
            if value == value and (found is None or value > found):
                best, found = k, value
        out[p] = 0 if found == -INF else best
    return out


def _sums(dtype: DType) -> Iterable[Sample]:
    for count in (1, 2, 4):
        yield given([numbers(dtype, 2, 3, seed=i) for i in range(count)])
        yield given([numbers(dtype, seed=i) for i in range(count)])


def _segments(dtype: DType) -> Iterable[Sample]:
    ids = np.array([2, 0, 2, -1, 1], np.int32)
    yield given(numbers(dtype, 5), ids, int_(4))
    yield given(numbers(dtype, 5, 2, 3), ids.astype(np.int64), np.array(3, np.int64))
    yield given(numbers(dtype, 2, 3, 2), np.array([[0, 1, 1], [1, 0, 0]], np.int32), int_(2))
    yield given(numbers(dtype, 0, 2), np.zeros(0, np.int32), int_(3))
    many = numbers(dtypes.int32, 30, low=-1, high=5)
    yield given(numbers(dtype, 30, 3), many, int_(7))


def _segment_sum(data: Any, ids: Any, count: Any) -> Any:
    out = np.zeros((int(count), *data.shape[ids.ndim :]), object)
    for at in positions(ids.shape):
        if ids[at] >= 0:
            out[ids[at]] = out[ids[at]] + precise(data)[at].astype(object)
    return out


def _ranges(dtype: DType) -> Iterable[Sample]:
    for bounds in ((0, 5, 1), (3, 18, 4), (2, 2, 1)):
        yield given(*[np.array(b).astype(dtype.numpy) for b in bounds])
    if not dtype.is_unsigned:
        yield given(*[np.array(b).astype(dtype.numpy) for b in (5, -3, -2)])
    if dtype.is_floating:
        yield given(*[np.array(b).astype(dtype.numpy) for b in (0.5, 2.0, 0.25)])


def _range(start: Any, limit: Any, delta: Any) -> Any:
    first, last, by = (precise(v).item() for v in (start, limit, delta))
    out: list[Any] = []
    while (first + len(out) * by < last) if by > 0 else (first + len(out) * by > last):
        out.append(first + len(out) * by)
    return np.array(out, object)


_AXIS = (
    Wrong(given(_M23, ints(2)), r"axis 2 is outside the rank 2", "axis 2 is out"),
    Wrong(given(_M23, ints(-3)), r"axis -3 is outside the rank 2", "axis -3 is out"),
)  # fmt: skip
_DOUBLE_AXIS = Wrong(given(_M23, ints(0, 0)), "", "duplicate value in 'axis'")
_DATA = np.zeros((3, 2), np.float32)
_LOOSE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "complex64": 1e-5}
REDUCTIONS = (
    Row("Sum", reductions(), folded(sum), wrong=(*_AXIS, _DOUBLE_AXIS), tolerance=_LOOSE),
    Row(
        "Mean", reductions(), lambda x, axes, keep_dims=False: folded(
            _mean if x.dtype.kind in "fV" else _mean_or_zero
        )(x, axes, keep_dims), wrong=_AXIS, tolerance=_LOOSE,
    ),
    Row("Prod", reductions(), folded(math.prod), wrong=_AXIS, tolerance=_LOOSE),
    Row("Max", _extremes(True), _extreme(larger, "min"), wrong=_AXIS),
    Row("Min", _extremes(False), _extreme(smaller, "max"), wrong=_AXIS),
    Row(
        "All", lambda dtype: reductions()(dtypes.bool_), folded(all), types=(dtypes.bool_,),
    ),
    Row(
        "Any", lambda dtype: reductions()(dtypes.bool_), folded(any), types=(dtypes.bool_,),
    ),
    Row(
        "Cumprod", _cumulations, _cumprod, tolerance=_LOOSE,
        wrong=(Wrong(given(_M23, int_(2)), r"axis 2", "axis 2 is outside the rank"),),
    ),
    Row(
        "ArgMax", _maxima, _arg_max,
        types=(*dtypes.REALS, dtypes.bool_),
        wrong=(
            Wrong(given(_M23, int_(2)), r"axis 2", "axis 2 is outside"),
            Wrong(given(np.zeros((0, 2), np.float32), int_(0)), "", "empty"),
            Wrong(given(np.zeros((), np.float32), int_(0)), r"rank 1", "no axis"),
        ),
    ),
    Row(
        "AddN", _sums, lambda inputs: sum((precise(x).astype(object) for x in inputs), 0),
        wrong=(Wrong(given([_FLOAT2, _M23]), r"different ranks", "one shape"),),
    ),
    Row(
        "UnsortedSegmentSum", _segments, _segment_sum, tolerance=_LOOSE,
        wrong=(
            Wrong(given(_DATA, ints(0, 1), int_(2)), r"first axes", "does not start"),
            Wrong(given(_DATA, ints(0, 1, 2), int_(2)), "", r"segment_ids\[2\] = 2"),
            Wrong(given(_DATA, ints(0, 1, 1), int_(-1)), r"negative", "negative"),
        ),
    ),
    Row(
        "Range", _ranges, _range, vary="Tidx",
        wrong=(
            Wrong(given(int_(0), int_(3), int_(0)), r"zero", "zero"),
            Wrong(given(int_(0), int_(3), int_(-1)), r"away from 3", "away from 3"),
            Wrong(given(ints(0), int_(3), int_(1)), r"start is a scalar", ""),
        ),
    ),
)  # fmt: skip

ROWS = (*PRODUCTS, *REDUCTIONS)
