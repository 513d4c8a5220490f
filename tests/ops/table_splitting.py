"""Rows of the ops that cut arrays into parts, and that reverse the parts of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.plain import positions
from tests.ops.rows import Row, Sample, Wrong, given, int_, ints, numbers
from tests.ops.table_array import TYPES, objects

X34 = np.zeros((3, 4), np.float32)


def _splits(dtype: DType) -> Iterable[Sample]:
    yield given(int_(0), numbers(dtype, 4, 3), num_split=2)
    yield given(int_(-1), numbers(dtype, 2, 3, 6), num_split=3)
    yield given(int_(1), numbers(dtype, 2, 3), num_split=1)
    yield given(int_(1), numbers(dtype, 2, 0), num_split=2)
    yield given(int_(0), numbers(dtype, 3), num_split=3)


def _cut(x: Any, axis: int, sizes: list[int]) -> list[Any]:
    parts, start = [], 0
    for size in sizes:
        shape = [size if i == axis else d for i, d in enumerate(x.shape)]
        part = np.empty(shape, object)
        for at in positions(shape):
            part[at] = objects(x)[tuple(i + start * (n == axis) for n, i in enumerate(at))]
        parts.append(part)
        start += size
    return parts


def _one_or_all(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else parts


def _split(axis: Any, x: Any, num_split: int) -> Any:
    at = int(axis) % x.ndim
    return _one_or_all(_cut(x, at, [x.shape[at] // num_split] * num_split))


def _uneven_splits(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 5, 3), np.array([2, 3], np.int64), int_(0), num_split=2)
    yield given(numbers(dtype, 2, 6), ints(1, -1, 0, 2), int_(-1), num_split=4)
    yield given(numbers(dtype, 2, 3), np.array([-1], np.int8), int_(1), num_split=1)
    yield given(numbers(dtype, 0), ints(0, -1), int_(0), num_split=2)


def _split_v(x: Any, sizes: Any, axis: Any, num_split: int) -> Any:
    at, lengths = int(axis) % x.ndim, [int(s) for s in sizes]
    rest = x.shape[at] - sum(s for s in lengths if s >= 0)
    return _one_or_all(_cut(x, at, [rest if s == -1 else s for s in lengths]))


def _sequences(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 3, 4), ints(0, 3, 4), seq_dim=1)
    yield given(numbers(dtype, 4, 2, 3), np.array([1, 2, 4], np.int64), seq_dim=0, batch_dim=2)
    yield given(numbers(dtype, 0, 4), ints(), seq_dim=1)
    yield given(numbers(dtype, 2, 0), ints(0, 0), seq_dim=1, batch_dim=0)


def _reversed(x: Any, lengths: Any, seq_dim: int, batch_dim: int = 0) -> Any:
    out = np.empty(x.shape, object)
    for at in positions(x.shape):
        length, step = int(lengths[at[batch_dim]]), at[seq_dim]
        source = list(at)
        source[seq_dim] = length - 1 - step if step < length else step
        out[at] = objects(x)[tuple(source)]
    return out


ROWS = (
    Row(
        "Split", _splits, _split, TYPES,
        wrong=(
            Wrong(given(int_(2), X34, num_split=2), r"axis 2", "axis 2 is outside"),
            Wrong(given(int_(1), X34, num_split=3), r"3 equal parts", "3 equal parts"),
            Wrong(given(ints(1, 0), X34, num_split=2), r"rank 0", "scalar"),
            Wrong(given(int_(0), X34[0, 0], num_split=1), r"outside the", "outside the rank 0"),
        ),
    ),
    Row(
        "SplitV", _uneven_splits, _split_v, TYPES,
        wrong=(
            Wrong(given(X34, ints(1, 2), int_(1), num_split=2), r"add up", "add up"),
            Wrong(given(X34, ints(5, -1), int_(1), num_split=2), r"to the length 4 of", "add up"),
            Wrong(given(X34, ints(-1, -1), int_(1), num_split=2), r"one -1", "one -1"),
            Wrong(given(X34, ints(6, -2), int_(1), num_split=2), r"one -1", "one -1"),
            Wrong(given(X34, ints(4), int_(1), num_split=2), r"2 entries", "2 entries"),
            Wrong(given(X34, ints(1, 2), int_(-3), num_split=2),
                r"axis -3 is outside the rank 2", "axis -3 is outside"),
        ),
    ),
    Row(
        "ReverseSequence", _sequences, _reversed, TYPES,
        wrong=(
            Wrong(given(X34, ints(1, 2, 5), seq_dim=1), "", r"not all in \[0, 4\]"),
            Wrong(given(X34, ints(1, -1, 2), seq_dim=1), "", r"not all in \[0, 4\]"),
            Wrong(given(X34, ints(1, 2), seq_dim=1), r"\[3,4\] has one entry for", "for 3 entries"),
            Wrong(given(X34, ints(1, 2, 3), seq_dim=2), r"seq_dim 2 and batch_dim 0", "two axes"),
            Wrong(given(X34, ints(1, 2, 3), seq_dim=0), r"seq_dim 0 and batch_dim 0", "two axes"),
        ),
    ),
)  # fmt: skip
