"""Rows of the array family: slices, gathers, tiles and what is done with shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.plain import positions
from tests.ops.rows import Row, Sample, Wrong, given, int_, ints, numbers
from tests.ops.table_array import TYPES, X3, X23, empty_of, objects


def sliced(begin: Any, end: Any, strides: Any, **masks: int) -> tuple[Any, Any, Any, Any]:
    """Vectors of a strided slice, and its masks."""
    return ints(*begin), ints(*end), ints(*strides), masks


SLICES = (
    sliced([0], [1], [1], shrink_axis_mask=1),
    sliced([-1], [0], [1], shrink_axis_mask=1),
    sliced([1], [3], [1]),
    sliced([3, 1], [0, 4], [-1, 2], begin_mask=1, end_mask=3),
    sliced([0, 1], [0, 2], [1, 1], ellipsis_mask=1, shrink_axis_mask=2),
    sliced([0, 0, 1], [0, 0, 3], [1, 1, 1], new_axis_mask=1, end_mask=2),
    sliced([1, 0, 0], [2, 0, 0], [1, 1, 1], ellipsis_mask=2, new_axis_mask=4),
    sliced([5], [9], [1]),
    sliced([-100], [100], [3]),
    sliced([2], [-100], [-1]),
    sliced([0, -2, 1], [3, -1, 2], [2, 1, 1], shrink_axis_mask=4),
    sliced([], [], []),
)


def _strided_slices(dtype: DType) -> Iterable[Sample]:
    for begin, end, strides, masks in SLICES:
        yield given(numbers(dtype, 3, 4, 2), begin, end, strides, **masks)
    yield given(numbers(dtype, 4), ints(2), ints(3), ints(1), shrink_axis_mask=1)


def chosen(shape: Any, begin: Any, end: Any, strides: Any, **masks: int) -> list[Any]:
    """For each axis of the result the indices of an input axis, None for a new one.

    A dropped axis is a bare index.
    """

    def is_set(name: str, i: int) -> bool:
        return bool(masks.get(f"{name}_mask", 0) >> i & 1)

    count = len(begin)
    ranges = [i for i in range(count) if not is_set("ellipsis", i) and not is_set("new_axis", i)]
    out: list[Any] = []
    axis = 0
    for i in range(count):
        if is_set("ellipsis", i):
            for _ in range(len(shape) - len(ranges)):
                out.append(list(range(shape[axis])))
                axis += 1
        elif is_set("new_axis", i):
            out.append(None)
        elif is_set("shrink_axis", i):
            out.append(int(begin[i]) % shape[axis])
            axis += 1
        else:
            size, step = shape[axis], int(strides[i])
            low, high = (0, size) if step > 0 else (-1, size - 1)
            first, last = (low, high) if step > 0 else (high, low)
            if not is_set("begin", i):
                first = int(begin[i]) + (size if begin[i] < 0 else 0)
                first = min(max(first, low), high)
            if not is_set("end", i):
                last = int(end[i]) + (size if end[i] < 0 else 0)
                last = min(max(last, low), high)
            out.append(list(range(first, last, step)))
            axis += 1
    return out + [list(range(d)) for d in shape[axis:]]


def _places(plan: list[Any]) -> tuple[list[int], Callable[[Any], tuple[int, ...]]]:
    """Shape of the slice, and the index in the whole of an index in the slice."""
    shape = [1 if c is None else len(c) for c in plan if not isinstance(c, int)]

    def whole(at: Any) -> tuple[int, ...]:
        rest = list(at)
        found = []
        for c in plan:
            if isinstance(c, int):
                found.append(c)
            elif c is None:
                rest.pop(0)
            else:
                found.append(c[rest.pop(0)])
        return tuple(found)

    return shape, whole


def _strided_slice(x: Any, begin: Any, end: Any, strides: Any, **masks: int) -> Any:
    shape, whole = _places(chosen(x.shape, begin, end, strides, **masks))
    out = np.empty(shape, object)
    for at in positions(shape):
        out[at] = objects(x)[whole(at)]
    return out


def _slice_gradients(dtype: DType) -> Iterable[Sample]:
    for begin, end, strides, masks in SLICES:
        shape, _ = _places(chosen((3, 4, 2), begin, end, strides, **masks))
        yield given(ints(3, 4, 2), begin, end, strides, numbers(dtype, *shape), **masks)


def _slice_gradient(shape: Any, begin: Any, end: Any, strides: Any, dy: Any, **masks: int) -> Any:
    part, whole = _places(chosen(shape.tolist(), begin, end, strides, **masks))
    out = np.full(tuple(shape), empty_of(dy.dtype), object)
    for at in positions(part):
        out[whole(at)] = objects(dy)[at]
    return out


def _slices(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 3, 4), ints(1, 0), ints(2, 3))
    yield given(numbers(dtype, 3, 4), ints(1, 2), ints(-1, -1))
    yield given(numbers(dtype, 3), np.array([3], np.int64), np.array([-1], np.int64))
    yield given(numbers(dtype), ints(), ints())


def _slice(x: Any, begin: Any, size: Any) -> Any:
    lengths = [d - b if n == -1 else n for d, b, n in zip(x.shape, begin, size, strict=True)]
    out = np.empty([int(n) for n in lengths], object)
    for at in positions(out.shape):
        out[at] = objects(x)[tuple(int(b) + i for b, i in zip(begin, at, strict=True))]
    return out


def _pads(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 2, 3), np.array([[1, 0], [0, 2]], np.int32))
    yield given(numbers(dtype, 2), np.array([[0, 0]], np.int64))
    yield given(numbers(dtype), np.zeros((0, 2), np.int32))


def _pad(x: Any, paddings: Any) -> Any:
    shape = [d + int(p.sum()) for d, p in zip(x.shape, paddings, strict=True)]
    out = np.full(shape, empty_of(x.dtype), object)
    for at in positions(x.shape):
        out[tuple(i + int(p[0]) for i, p in zip(at, paddings, strict=True))] = objects(x)[at]
    return out


def _gathers(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4, 2)
    pairs = np.array([[0, 2], [1, 1]], np.int32)
    yield given(x, pairs, int_(0))
    yield given(x, int_(2), int_(1))
    yield given(x, ints(1), np.array(-1, np.int64))
    yield given(numbers(dtype, 5), int_(4), int_(0))
    yield given(x, np.zeros((3, 0), np.int64), int_(1), batch_dims=1)
    yield given(x, np.array([[0, 3], [1, 1], [2, 0]], np.int32), int_(1), batch_dims=1)
    yield given(x, np.array([[0, 1], [1, 1], [1, 0]], np.int32), int_(2), batch_dims=1)
    yield given(x, np.array([[0, 1], [1, 1], [1, 0]], np.int32), int_(2), batch_dims=-1)
    yield given(numbers(dtype, 2, 3), ints(0, 2), int_(1), batch_dims=1)


def _gather(params: Any, indices: Any, axis: Any, batch_dims: int = 0) -> Any:
    at = int(axis) % params.ndim
    batch = batch_dims + (indices.ndim if batch_dims < 0 else 0)
    outer, inner = params.shape[batch:at], params.shape[at + 1 :]
    shape = (*params.shape[:batch], *outer, *indices.shape[batch:], *inner)
    out = np.empty(shape, object)
    for p in positions(shape):
        b, o = p[:batch], p[batch:at]
        i, rest = p[at : at + indices.ndim - batch], p[at + indices.ndim - batch :]
        out[p] = objects(params)[(*b, *o, int(indices[(*b, *i)]), *rest)]
    return out


def _tiles(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 2, 3), ints(2, 1))
    yield given(numbers(dtype, 2, 1), np.array([1, 3], np.int64))
    yield given(numbers(dtype, 2), ints(0))
    yield given(numbers(dtype, 2), ints(1))
    yield given(numbers(dtype), ints())


def _tile(x: Any, multiples: Any) -> Any:
    out = np.empty([d * int(m) for d, m in zip(x.shape, multiples, strict=True)], object)
    for at in positions(out.shape):
        out[at] = objects(x)[tuple(i % d for i, d in zip(at, x.shape, strict=True))]
    return out


def _broadcasts(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 3, 1), ints(2, 3, 4))
    yield given(numbers(dtype), np.array([2], np.int64))
    yield given(numbers(dtype, 2), ints(2))
    yield given(numbers(dtype), ints())
    yield given(numbers(dtype, 1), ints(0))


def _broadcast(x: Any, shape: Any) -> Any:
    out = np.empty(tuple(shape), object)
    lead = out.ndim - x.ndim
    for at in positions(out.shape):
        out[at] = objects(x)[
            tuple(i if d > 1 else 0 for i, d in zip(at[lead:], x.shape, strict=True))
        ]
    return out


def _shape_pairs(dtype: DType) -> Iterable[Sample]:
    for a, b in (([1, 2, 1], [1, 2, 1]), ([1, 2, 1], [3, 1, 2, 4]), ([], [1]), ([2, 0], [1, 0]),
                 ([1, 1], [1]), ([2, 3], [])):  # fmt: skip
        yield given(np.array(a, dtype.numpy), np.array(b, dtype.numpy))


def _gradient_args(s0: Any, s1: Any) -> Any:
    a, b = s0.tolist(), s1.tolist()
    if a == b:
        return np.zeros(0), np.zeros(0)
    rank = max(len(a), len(b))
    return tuple(
        np.array([i for i in range(rank) if i < rank - len(s) or s[i - rank + len(s)] == 1])
        for s in (a, b)
    )


def _inversions(dtype: DType) -> Iterable[Sample]:
    yield given(np.array([2, 0, 3, 1], dtype.numpy))
    yield given(np.array([], dtype.numpy))


_END = ints(1), ints(1)
ROWS = (
    Row(
        "StridedSlice", _strided_slices, _strided_slice, types=TYPES,
        wrong=(
            Wrong(given(X3, ints(0, 0), ints(1, 1), ints(1, 1)),
                r"the slice has 2 entries for axes, the input has", "too many indices"),
            Wrong(given(X23, ints(0), ints(1), ints(0)), r"zero", "zero"),
            Wrong(
                given(X23, ints(0, 0), ints(1, 1), ints(1, 1), ellipsis_mask=3),
                r"one ellipsis", "one ellipsis",
            ),
            Wrong(
                given(X3, ints(3), *_END, shrink_axis_mask=1),
                r"index 3 is outside axis 0 of size 3", "out of bounds",
            ),
            Wrong(given(X3, ints(-4), *_END, shrink_axis_mask=1), r"outside axis", "out of bounds"),
            Wrong(
                given(X3, ints(0), ints(1), ints(-1), shrink_axis_mask=1), r"strides\[0\] is", "",
            ),
            Wrong(given(X3, ints(0), ints(1, 2), ints(1)), r"differ in length", ""),
        ),
    ),
    Row(
        "StridedSliceGrad", _slice_gradients, _slice_gradient, types=TYPES,
        wrong=(
            Wrong(given(ints(3), ints(0), ints(2), ints(1), X3), "", r"shape \[3\] for a slice"),
            Wrong(given(ints(-3), ints(0), ints(2), ints(1), X3), r"negative", "negative"),
        ),
    ),
    Row(
        "Slice", _slices, _slice, types=TYPES,
        wrong=(
            Wrong(given(X3, ints(4), ints(-1)), r"begin\[0\] = 4", r"begin\[0\] = 4"),
            Wrong(given(X3, ints(1), ints(3)), r"size\[0\] = 3", r"size\[0\] = 3"),
            Wrong(given(X3, ints(-1), ints(1)), r"begin\[0\] = -1", r"begin\[0\] = -1"),
            Wrong(given(X23, ints(0), ints(1)), r"one entry for each axis", "need 2"),
        ),
    ),
    Row(
        "Pad", _pads, _pad, types=TYPES,
        wrong=(
            Wrong(given(X3, np.array([[-1, 0]], np.int32)), r"not negative", "paddings"),
            Wrong(given(X3, np.zeros((2, 2), np.int32)), r"\[rank, 2\]", "paddings"),
        ),
    ),
    Row(
        "GatherV2", _gathers, _gather, vary="Tparams", types=TYPES,
        wrong=(
            Wrong(given(X3, ints(1, 3), int_(0)), "", r"indices\[1\] = 3 is not in \[0, 3\)"),
            Wrong(given(X3, int_(-1), int_(0)), "", r"= -1 is not in \[0, 3\)"),
            Wrong(given(X3, ints(0), int_(1)), r"axis 1", "axis 1"),
            Wrong(given(X23, ints(0, 1), int_(0), batch_dims=1), r"greater", "batch_dims"),
            Wrong(
                given(X23, np.zeros((3, 1), np.int32), int_(1), batch_dims=1), r"differ",
                "batch_dims 1",
            ),
        ),
    ),
    Row(
        "Tile", _tiles, _tile, types=TYPES,
        wrong=(
            Wrong(given(X23, ints(2)), r"1 multiples for the rank 2", "multiples"),
            Wrong(given(X3, ints(-1)), r"negative", "multiples"),
        ),
    ),
    Row(
        "BroadcastTo", _broadcasts, _broadcast, types=TYPES,
        wrong=(
            Wrong(given(X3, ints(2)), r"does not broadcast to \[2\]", "broadcast"),
            Wrong(given(X23, ints(3)), r"more axes", "more dimensions"),
        ),
    ),
    Row(
        "BroadcastGradientArgs", _shape_pairs, _gradient_args,
        wrong=(Wrong(given(ints(2), ints(3)), "", "do not broadcast"),),
    ),
    Row(
        "InvertPermutation", _inversions, lambda x: np.array(
            [x.tolist().index(i) for i in range(len(x))], object
        ),
        wrong=(
            Wrong(given(ints(0, 0)), "", "no permutation"),
            Wrong(given(ints(0, 2)), "", "no permutation"),
            Wrong(given(int_(0)), r"rank 1", "vector"),
        ),
    ),
)  # fmt: skip
