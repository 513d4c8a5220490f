"""Rows of ops that take or put elements by their numbers, and of what came with them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.plain import each, folded, positions, precise
from tests.ops.rows import Row, Sample, Wrong, given, int_, ints, numbers
from tests.ops.table_math import INF, NAN, larger, smaller, unary

_M23 = np.zeros((2, 3), np.float32)
_ANY = (*dtypes.NUMBERS, dtypes.bool_, dtypes.string)
_ONE = np.float32(1)

# ------------------------------------------------------------------------------------ one-hot rows


def _hot(dtype: DType) -> Iterable[Sample]:
    on, off = numbers(dtype, seed=1), numbers(dtype, seed=2)
    for axis in (-1, 0, 1, 2):
        yield given(np.array([[0, 2], [-1, 7]]), int_(3), on, off, axis=axis)
    for kind in (np.uint8, np.int8, np.int32):
        yield given(np.array([1, 0, 100], kind), int_(2), on, off)
    yield given(np.array(1), int_(2), on, off)
    yield given(np.array([255], np.uint8), int_(300), on, off)
    yield given(np.zeros((0, 2), np.int32), int_(3), on, off)
    yield given(ints(1, 2), int_(0), on, off)


def _one_hot(indices: Any, depth: Any, on: Any, off: Any, axis: int = -1) -> Any:
    at = indices.ndim if axis == -1 else axis
    shape = (*indices.shape[:at], int(depth), *indices.shape[at:])
    out = np.empty(shape, object)
    for p in positions(shape):
        out[p] = (on if indices[(*p[:at], *p[at + 1 :])] == p[at] else off).item()
    return out


# ------------------------------------------------------------------------------------------ points


def _points(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3, 2)
    yield given(x, ints(1))
    yield given(x, np.array([[1, 2], [0, 0]], np.int64))
    yield given(x, np.array([[[1, 2, 0]], [[0, 0, 1]]], np.int16))
    yield given(x, np.zeros((2, 0), np.int32))
    yield given(x, np.zeros((0, 2), np.int32))
    yield given(numbers(dtype, 0, 3), np.zeros((0, 1), np.int32))
    yield given(x, np.array([[1], [5], [-1]]), bad_indices_policy=b"IGNORE")


def _empty_value(x: Any) -> Any:
    return b"" if x.dtype.kind == "O" else x.dtype.type(0).item()


def _gather_nd(params: Any, indices: Any, bad_indices_policy: bytes = b"") -> Any:
    depth, outer = indices.shape[-1], indices.shape[:-1]
    inner = params.shape[depth:]
    out = np.full((*outer, *inner), _empty_value(params), object)
    for p in positions(outer):
        place = tuple(int(i) for i in indices[p])
        if all(0 <= i < d for i, d in zip(place, params.shape, strict=False)):
            for q in positions(inner):
                value = params[(*place, *q)]
                out[(*p, *q)] = value.item() if hasattr(value, "item") else value
    return out


def _put(dtype: DType) -> Iterable[Sample]:
    yield given(np.array([[0], [2], [0]], np.int32), numbers(dtype, 3, 2), ints(4, 2))
    yield given(np.array([[[0, 1]], [[1, 0]]]), numbers(dtype, 2, 1), np.array([2, 2]))
    yield given(np.array([1], np.int16), numbers(dtype, 2), np.array([3, 2], np.int16))
    yield given(np.zeros((0, 1), np.int32), numbers(dtype, 0, 2), ints(3, 2))
    yield given(np.zeros((0, 1), np.int32), numbers(dtype, 0, 2), ints(0, 2))
    yield given(np.array([[1], [9], [-1]], np.int32), numbers(dtype, 3), ints(2),
                bad_indices_policy=b"IGNORE")  # fmt: skip


def _scatter_nd(indices: Any, updates: Any, shape: Any, bad_indices_policy: bytes = b"") -> Any:
    out = np.full(shape.tolist(), _empty_value(updates), object)
    depth = indices.shape[-1]
    for p in positions(indices.shape[:-1]):
        place = tuple(int(i) for i in indices[p])
        if all(0 <= i < d for i, d in zip(place, out.shape, strict=False)):
            for q in positions(out.shape[depth:]):
                at, value = (*place, *q), precise(updates)[(*p, *q)]
                value = value.item() if hasattr(value, "item") else value
                out[at] = (out[at] or value) if isinstance(value, bool) else out[at] + value
    return out


# ------------------------------------------------------------------------------------ greatest ones


def _rows(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 5)
    for k in (0, 1, 3, 5):
        yield given(x, int_(k))
    yield given(x, np.int64(2), index_type=dtypes.int64)
    yield given(x, np.int16(2), index_type=dtypes.int16, sorted=False)
    yield given(np.array([1, 3, 1, 3, 0]).astype(dtype.numpy), int_(4))
    yield given(numbers(dtype, 0, 3), int_(2))
    yield given(numbers(dtype, 2, 0), int_(0))


def _top_k(x: Any, k: Any, sorted: bool = True, index_type: Any = None) -> Any:
    shape = (*x.shape[:-1], int(k))
    values, indices = np.empty(shape, object), np.empty(shape, object)
    for p in positions(x.shape[:-1]):
        row = [v.item() for v in precise(x)[p]]
        best = list(range(len(row)))
        best.sort(key=lambda i: (-row[i], i))
        for i, where in enumerate(best[: int(k)]):
            values[(*p, i)], indices[(*p, i)] = row[where], where
    return values, indices


# ------------------------------------------------------------------------------------- the others


def _least(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4)
    for axis in (0, 1, -1):
        yield given(x, int_(axis))
    yield given(x, np.int64(0), output_type=dtypes.int32)
    yield given(numbers(dtype, 0, 2), int_(1))
    if dtype.is_floating:
        yield given(np.array([NAN, 2.0, 1.0, 1.0]).astype(dtype.numpy), int_(0))
        yield given(np.array([NAN, INF]).astype(dtype.numpy), int_(0))


def _arg_min(x: Any, axis: Any, output_type: Any = None) -> Any:
    def first(row: list[Any]) -> int:
        sound = [INF if v != v else v for v in row]
        return sound.index(min(sound))

    return folded(first)(x, [int(axis)])


def _sums(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4)
    for exclusive in (False, True):
        for reverse in (False, True):
            yield given(x, int_(1), exclusive=exclusive, reverse=reverse)
    yield given(x, np.int64(-2))
    yield given(numbers(dtype, 0, 2), int_(0), exclusive=True)


def _cumsum(x: Any, axis: Any, exclusive: bool = False, reverse: bool = False) -> Any:
    wide, at = precise(x), int(axis) % x.ndim
    out = np.empty(x.shape, object)
    for p in positions(x.shape):
        total: Any = 0
        for k in range(x.shape[at]):
            before = k > p[at] if reverse else k < p[at]
            if before or (k == p[at] and not exclusive):
                total += wide[(*p[:at], k, *p[at + 1 :])].item()
        out[p] = total
    return out


def _spaces(dtype: DType) -> Iterable[Sample]:
    kind = dtype.numpy.type
    for count in (1, 2, 5):
        yield given(kind(-1), kind(2.5), int_(count))
    yield given(kind(3), kind(1), np.int64(4))


def _lin_space(start: Any, stop: Any, num: Any) -> Any:
    count = int(num)
    first, last = float(start), float(stop)
    return [first + (last - first) * i / max(count - 1, 1) for i in range(count)]


def _clips(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 3, 4)
    kind = dtype.numpy.type
    yield given(x, kind(1), kind(2))
    yield given(x, kind(2), kind(1))
    yield given(x, numbers(dtype, 3, 4, seed=1), kind(2))
    yield given(x, kind(0), numbers(dtype, 3, 4, seed=1))
    yield given(numbers(dtype, 0), kind(0), kind(1))
    if dtype.is_floating:
        yield given(np.array([NAN, INF, -INF]).astype(dtype.numpy), kind(0), kind(1))


_SUMS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij->ji", [(2, 3)]), ("ii->i", [(3, 3)]), ("ii->", [(3, 3)]), ("i->ii", [(3,)]),
    ("...ij->...", [(2, 2, 3)]), ("a...b->b...a", [(2, 3, 2, 4)]), ("->", [()]),
    ("...->...", [(2,)]),
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]),
    ("i,j->ij", [(2,), (3,)]), ("i,i->", [(3,), (3,)]), ("i,i->i", [(3,), (3,)]),
    ("ij,kl->i", [(2, 3), (2, 2)]), ("aab,bc->ca", [(2, 2, 3), (3, 2)]), (",i->i", [(), (3,)]),
    ("...ij,...jk->...ik", [(2, 1, 2, 3), (3, 3, 2)]), ("...ij,j->i...", [(2, 2, 3), (3,)]),
    ("i...,...->i...", [(2, 1, 3), (2, 3)]), ("ij,jk->ik", [(2, 0), (0, 3)]),
    ("ij,j->iji", [(2, 3), (3,)]), ("ij , jk -> ik", [(0, 2), (2, 3)]),
]  # fmt: skip


def _named(dtype: DType) -> Iterable[Sample]:
    for equation, shapes in _SUMS:
        inputs = [numbers(dtype, *s, low=-2, high=2, seed=i) for i, s in enumerate(shapes)]
        yield given(inputs, equation=equation.encode())


def _einsum(inputs: Any, equation: bytes) -> Any:
    left, right = equation.decode().replace(" ", "").split("->")
    terms = left.split(",")
    sizes: dict[str, int] = {}
    spread = max(x.ndim - len(t.replace("...", "")) for x, t in zip(inputs, terms, strict=True))
    letters = "0123456789"[:spread]
    named = []
    for x, term in zip(inputs, terms, strict=True):
        count = x.ndim - len(term.replace("...", ""))
        named.append(term.replace("...", letters[spread - count :]))
        for name, size in zip(named[-1], x.shape, strict=True):
            sizes[name] = max(size, sizes.get(name, 1)) if name.isdigit() else size
    to = right.replace("...", letters)
    out = np.zeros([sizes[name] for name in to], object)
    for place in positions(list(sizes.values())):
        at = dict(zip(sizes, place, strict=True))
        product: Any = 1
        for x, term in zip(inputs, named, strict=True):
            index = tuple(at[n] % x.shape[i] for i, n in enumerate(term))
            product *= precise(x)[index].item()
        out[tuple(at[name] for name in to)] += product
    return out


_LOOSE = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 1e-5}
_DIFFER = (Wrong(given(_M23, _M23.T), r"differ", "a gradient of shape"),)
_TRUTH = (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64)
ROWS = (
    Row(
        "OneHot", _hot, _one_hot, types=_ANY,
        wrong=(
            Wrong(given(ints(0), int_(-1), _ONE, _ONE), r"-1", "negative"),
            Wrong(given(ints(0), ints(1), _ONE, _ONE), r"depth is a scalar", ""),
            Wrong(given(ints(0), int_(1), _ONE, _ONE, axis=2), r"axis 2", "axis 2"),
            Wrong(given(ints(0), int_(1), _ONE, _ONE, axis=-2), r"got -2", "axis -2"),
        ),
    ),
    Row(
        "GatherNd", _points, _gather_nd, types=_ANY, vary="Tparams",
        wrong=(
            Wrong(given(_M23, ints(0, 1, 2)), r"3 numbers", "3 numbers"),
            Wrong(given(_M23[0, 0], ints(0)), r"rank 1 or more", "rank 1"),
            Wrong(given(_M23, int_(0)), r"rank 1 or more", "rank 1"),
            Wrong(given(_M23, np.array([[0], [2]])), "", r"indices\[1\] = \[2\] is not inside"),
            Wrong(given(_M23, ints(0, -1)), "", r"indices\[\] = \[0, -1\]"),
            Wrong(given(_M23[:0], np.zeros((1, 0), np.int32)), "", "no elements"),
        ),
    ),
    Row(
        "ScatterNd", _put, _scatter_nd, types=_ANY, tolerance=_LOOSE,
        wrong=(
            Wrong(given(np.array([[0]]), _M23, np.array([2, 3])), r"differ", "updates of shape"),
            Wrong(given(ints(0, 0), _ONE, ints(2)), r"2 numbers", "updates of shape"),
            Wrong(given(int_(0), _ONE, ints(2)), r"rank 1", "rank 1"),
            Wrong(given(ints(0), _ONE, ints(-2)), r"negative", "vector of sizes"),
            Wrong(given(ints(3), _ONE, ints(3)), "", r"indices\[\] = \[3\] is not inside"),
            Wrong(given(ints(0), _ONE, ints(0)), "", "no elements"),
        ),
    ),
    Row(
        "TopKV2", _rows, _top_k,
        wrong=(
            Wrong(given(_M23, int_(4)), r"k = 4 of the 3 columns", "4 of 3 columns"),
            Wrong(given(_M23, int_(-1)), r"got -1", "-1 of 3"),
            Wrong(given(_M23, ints(1)), r"scalar", ""),
            Wrong(given(_M23[0, 0], int_(0)), r"rank 1", "rank 1"),
        ),
    ),
    Row(
        "ArgMin", _least, _arg_min, types=(*dtypes.REALS, dtypes.bool_),
        wrong=(
            Wrong(given(_M23, int_(2)), r"axis 2", "axis 2 is outside"),
            Wrong(given(np.zeros((0, 2), np.float32), int_(0)), "", "empty"),
        ),
    ),
    Row(
        "Cumsum", _sums, _cumsum, tolerance=_LOOSE,
        wrong=(Wrong(given(_M23, int_(2)), r"axis 2", "axis 2 is outside the rank"),),
    ),
    Row(
        "LinSpace", _spaces, _lin_space,
        wrong=(
            Wrong(given(_ONE, _ONE, int_(0)), r"got 0", "got 0"),
            Wrong(given(_M23, _ONE, int_(1)), r"start is a scalar", ""),
        ),
    ),
    Row(
        "ClipByValue", _clips, each(lambda x, low, high: larger(smaller(x, high), low)),
        types=dtypes.REALS,
        wrong=(Wrong(given(_M23, _M23[0], _ONE), r"clip_value_min", "a bound"),),
    ),
    Row(
        "Einsum", _named, _einsum, types=dtypes.NUMBERS,
        tolerance={"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-5, "complex64": 2e-5},
        wrong=(
            Wrong(given([_M23], equation=b"ij"), r"no single '->'"),
            Wrong(given([_M23], equation=b"i1->i"), r"names no axes"),
            Wrong(given([_M23], equation=b"ij,jk->ik"), r"for 1 inputs"),
            Wrong(given([_M23] * 3, equation=b"i,i,i->i"), r"for 3 inputs"),
            Wrong(given([_M23], equation=b"ij->ik"), r"axis 'k'"),
            Wrong(given([_M23], equation=b"ijk->i"), r"'ijk' for", "'ijk' for"),
            Wrong(given([_M23], equation=b"ii->i"), r"lengths 2 and 3", "lengths 2 and 3"),
            Wrong(given([_M23], equation=b"...j->j"), r"not in the output", "not in the"),
            Wrong(
                given([_M23, _M23.T], equation=b"...,...->..."), r"do not broadcast", "broadcast",
            ),
        ),
    ),
    Row("IsNan", unary(), each(lambda x: x != x), types=_TRUTH),
    Row("IsInf", unary(), each(lambda x: x in (INF, -INF)), types=_TRUTH),
    Row("IsFinite", unary(), each(math.isfinite), types=_TRUTH),
)  # fmt: skip
