"""Rows of the ragged family, and of barriers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, Wrong, given, int_, ints, numbers

L = np.int64


def longs(*values: int) -> Any:
    """A vector of int64."""
    return np.array(values, L)


def _ranges(dtype: DType) -> Iterable[Sample]:
    def of(*values: float) -> Any:
        return np.array(values, dtype.numpy)

    yield given(of(0, 5, 8), of(3, 5, 1), of(1, 1, -3))
    yield given(of(0)[0], of(3, 0, 7), of(2)[0], Tsplits=dtypes.int32)
    yield given(of(3)[0], of(0)[0], of(-1)[0])
    yield given(of(), of(), of(1)[0])


def _range(starts: Any, limits: Any, deltas: Any, Tsplits: DType = dtypes.int64) -> Any:
    count = max(np.size(x) for x in (starts, limits, deltas)) if np.size(limits) else 0
    first, limit, by = (np.broadcast_to(x, count).tolist() for x in (starts, limits, deltas))
    splits, values = [0], []
    for a, b, d in zip(first, limit, by, strict=True):
        while (a < b) if d > 0 else (a > b):
            values.append(a)
            a += d
        splits.append(len(values))
    return np.array(splits), np.array(values, object)


# rows [[1, 2], [], [3]] of rows: values 0 to 5
_OUTER, _INNER = longs(0, 2, 2, 3), longs(0, 1, 4, 6)


def _gathered(dtype: DType) -> Iterable[Sample]:
    values = numbers(dtype, 6, 2)
    deep = {"OUTPUT_RAGGED_RANK": 1}
    yield given([_INNER], values, ints(2, 0, 2), **deep)
    yield given([_INNER.astype(np.int32)], values, longs(), **deep)
    yield given([_OUTER, _INNER], values, ints(0, 2), OUTPUT_RAGGED_RANK=2)
    yield given([_INNER], values[:, 0], np.array([[1, 2], [0, 0]], np.int32), OUTPUT_RAGGED_RANK=2)
    yield given([_OUTER, _INNER], values, int_(0), OUTPUT_RAGGED_RANK=1)
    yield given([_INNER], values, int_(1), OUTPUT_RAGGED_RANK=0)


def nested(splits: list[Any], values: Any) -> Any:
    """Lists of lists from splits and values."""
    rows: list[Any] = list(values)
    for each in reversed(splits):
        rows = [rows[a:b] for a, b in itertools.pairwise(each.tolist())]
    return rows


def flat(rows: Any, depth: int) -> tuple[list[Any], Any]:
    """Splits and values from lists of lists."""
    splits = []
    for _ in range(depth):
        splits.append(np.cumsum([0, *map(len, rows)]))
        rows = [x for row in rows for x in row]
    return splits, rows


def _gather(splits: list[Any], values: Any, indices: Any, OUTPUT_RAGGED_RANK: int) -> Any:
    rows = nested(splits, values)

    def pick(index: Any) -> Any:
        return rows[index] if not isinstance(index, list) else [pick(i) for i in index]

    out, left = flat(pick(indices.tolist()), OUTPUT_RAGGED_RANK)
    found = np.empty((len(left), *values.shape[1:]), values.dtype)
    for i, each in enumerate(left):
        found[i] = each
    return (*out, found) if out else found


def _sparse(dtype: DType) -> Iterable[Sample]:
    yield given([_INNER], numbers(dtype, 6))
    yield given([_OUTER, _INNER], numbers(dtype, 6, 2))
    yield given([longs(0)], numbers(dtype, 0))
    yield given([ints(0, 0, 2)], numbers(dtype, 2, 0))


def _to_sparse(splits: list[Any], values: Any) -> Any:
    places: list[list[int]] = [[i] for i in range(len(splits[0]) - 1)]
    shape = [len(splits[0]) - 1]
    for each in splits:
        ends = each.tolist()
        sizes = [b - a for a, b in itertools.pairwise(ends)]
        places = [[*p, j] for p, n in zip(places, sizes, strict=True) for j in range(n)]
        shape.append(max(sizes, default=0))
    inner = values.shape[1:]
    table = [[*p, *at] for p in places for at in np.ndindex(inner)]
    width = len(shape) + len(inner)
    return (
        np.array(table, L).reshape(len(table), width), values.reshape(-1),
        np.array([*shape, *inner], L),
    )  # fmt: skip


_S, _IDS = (b"ROW_SPLITS",), (b"FIRST_DIM_SIZE", b"VALUE_ROWIDS")


def _dense(dtype: DType) -> Iterable[Sample]:
    values = numbers(dtype, 6)
    zero = numbers(dtype, seed=3)
    yield given(int_(-1), values, zero, [_INNER], row_partition_types=_S)
    yield given(longs(4, 2), values, zero, [_INNER], row_partition_types=_S)
    yield given(longs(-1, 5), values, zero, [longs(1, 0, 5)], row_partition_types=(b"ROW_LENGTHS",))
    yield given(int_(-1), values, zero, [np.array(4, L), longs(0, 0, 2, 2, 2, 3)],
                row_partition_types=_IDS)  # fmt: skip
    yield given(int_(-1), numbers(dtype, 6, 2), numbers(dtype, 2, seed=4), [_OUTER, _INNER],
                row_partition_types=_S * 2)  # fmt: skip
    yield given(longs(-1, 1, 2, 2), numbers(dtype, 6, 2), zero, [_OUTER, _INNER],
                row_partition_types=_S * 2)  # fmt: skip
    yield given(int_(-1), values[:0], zero, [ints(0)], row_partition_types=_S)


def _to_tensor(
    shape: Any, values: Any, default: Any, partitions: list[Any], row_partition_types: Any
) -> Any:
    kinds = list(row_partition_types)
    levels = list(partitions)
    if kinds[0] == b"FIRST_DIM_SIZE":
        count = int(levels.pop(0))
        kinds.pop(0)
    else:
        count = 0
    splits = []
    for kind, each in zip(kinds, levels, strict=True):
        if kind == b"VALUE_ROWIDS":
            each = np.cumsum([0, *np.bincount(each, minlength=count)])
        elif kind == b"ROW_LENGTHS":
            each = np.cumsum([0, *each])
        splits.append(each)
    rows = nested(splits, values)
    sizes = [len(rows), *(int(max(np.diff(each), default=0)) for each in splits)]
    if shape.ndim:
        sizes = [s if w < 0 else int(w) for s, w in zip(sizes, shape[: len(sizes)], strict=True)]
    out = np.empty((*sizes, *values.shape[1:]), values.dtype)
    for at in np.ndindex(*sizes):
        found: Any = rows
        for i in at:
            found = found[i] if found is not None and i < len(found) else None
        out[at] = default if found is None else found
    return out


_V = np.zeros(6, np.float32)
_BAD = {"row_partition_types": _S}
ROWS = (
    Row("RaggedRange", _ranges, _range,
        wrong=(Wrong(given(int_(0), int_(3), int_(0)), "", "a delta is zero"),
               Wrong(given(ints(0, 1), ints(1), int_(1)), r"2 rows and 1 rows", "of shapes"),
               Wrong(given(ints(0).reshape(1, 1), int_(1), int_(1)),
                   r"starts, limits and deltas are scalars or vectors", "of shapes"))),
    Row("RaggedGather", _gathered, _gather, vary="Tvalues",
        types=(dtypes.float32, dtypes.string, dtypes.bool_),
        wrong=(Wrong(given([_INNER], _V, ints(3), OUTPUT_RAGGED_RANK=1), "",
                     r"indices\[0\] = 3 is not in \[0, 3\)"),
               Wrong(given([longs(0, 7)], _V, ints(0), OUTPUT_RAGGED_RANK=1), "", "end at 7"),
               Wrong(given([longs(1, 6)], _V, ints(0), OUTPUT_RAGGED_RANK=1), "", "begin with 0"),
               Wrong(given([longs()], _V, ints(0), OUTPUT_RAGGED_RANK=1), r"splits have one",
                     "a vector of one or more"),
               Wrong(given([_INNER], _V[0], ints(0), OUTPUT_RAGGED_RANK=1),
                   r"params_dense_values has rank 1 or more", "rank 1"),
               Wrong(given([_INNER], _V, int_(0), OUTPUT_RAGGED_RANK=1), r"OUTPUT_RAGGED_RANK is 0",
                     "the ragged rank"))),
    Row("RaggedTensorToSparse", _sparse, _to_sparse,
        types=(dtypes.float32, dtypes.string, dtypes.bool_),
        wrong=(Wrong(given([longs(0, 5)], _V), "", "end at 5"),
               Wrong(given([longs()], _V), r"splits have one element or more", "a vector"),
               Wrong(given([longs(0, 1)], _V[0]), r"rt_dense_values has rank 1 or", "rank 1"))),
    Row("RaggedTensorToTensor", _dense, _to_tensor,
        types=(dtypes.float32, dtypes.int64, dtypes.string),
        wrong=(Wrong(given(int_(-1), _V, _V[0], [longs(0, 5)], **_BAD), "", "there are 6"),
               Wrong(given(int_(2), _V, _V[0], [_INNER], **_BAD), "", "is -1"),
               Wrong(given(longs(-1, -1, -1), _V, _V[0], [_INNER], **_BAD),
                   r"a shape of 3 axes for a result of 2", "2 sizes"),
               Wrong(given(int_(-1), _V, _V[:2], [_INNER], **_BAD), "", "a default of shape"),
               Wrong(given(int_(-1), _V[0], _V[0], [_INNER], **_BAD), r"values has rank", "rank 1"),
               Wrong(given(int_(-1), _V, _V[0], [longs(3, 2, 0)],
                           row_partition_types=(b"ROW_LENGTHS",) * 2), r"partitions of the types"),
               Wrong(given(int_(-1), _V, _V[0], [longs(3, -2)],
                           row_partition_types=(b"ROW_LENGTHS",)), "", "without negative"),
               Wrong(given(int_(-1), _V, _V[0], [longs(3), longs(0, 0, 0, 0, 0, 3)],
                           row_partition_types=_IDS), "", "row 3 of 3 rows"),
               Wrong(given(int_(-1), _V, _V[0], [longs(3), longs(1, 0, 0, 0, 0, 0)],
                           row_partition_types=_IDS), "", "never fall"),
               Wrong(given(int_(-1), _V, _V[0], [longs(3)],
                           row_partition_types=(b"VALUE_ROWIDS",)), r"FIRST_DIM_SIZE stands"),
               Wrong(given(int_(-1), _V, _V[0], [longs(3), _INNER],
                           row_partition_types=(b"FIRST_DIM_SIZE", b"ROW_SPLITS")),
                               r"FIRST_DIM_SIZE stands before VALUE_ROWIDS"),
               Wrong(given(longs(3, 3, 3), np.zeros((6, 2), np.float32), _V[0], [_INNER], **_BAD),
                     r"the shape \[3,3,3\] for values of \[6,2\]", "does not fit"))),
    *(Row(f"_{op}", tested_in="tests/kernels/test_barriers.py") for op in (
        "Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierClose", "BarrierReadySize",
        "BarrierIncompleteSize",
    )),
)  # fmt: skip
