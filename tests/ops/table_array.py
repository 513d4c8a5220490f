"""Rows of the array family."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.plain import positions
from tests.ops.rows import Row, Sample, Wrong, given, int_, ints, numbers

TYPES = (dtypes.float32, dtypes.int32, dtypes.bool_, dtypes.complex64, dtypes.string,
         dtypes.bfloat16)  # fmt: skip


def objects(x: Any) -> Any:
    """The elements as Python's own."""
    out = np.empty(x.shape, object)
    for at in positions(x.shape):
        value = x[at]
        out[at] = value.item() if hasattr(value, "item") else value
    return out


def laid_out(elements: list[Any], shape: Any) -> Any:
    """Elements in row-major order as an array."""
    out = np.empty(len(elements), object)
    for i, e in enumerate(elements):
        out[i] = e
    return out.reshape(tuple(shape))


def row_major(x: Any) -> list[Any]:
    """All elements in row-major order."""
    return [objects(x)[at] for at in positions(x.shape)]


def itself(x: Any, **attrs: Any) -> Any:
    """The input."""
    return objects(x)


def shapes(dtype: DType) -> Iterable[Sample]:
    """An input of several ranks."""
    for shape in ((2, 3), (), (0, 2), (4,)):
        yield given(numbers(dtype, *shape))


def _shape_requests(dtype: DType) -> Iterable[Sample]:
    yield from shapes(dtype)
    yield given(numbers(dtype, 2, 3), out_type=dtypes.int64)


def _reshapes(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 3, 2)
    for shape in (ints(12), ints(3, 4), ints(-1), ints(2, -1, 1), np.array([6, 2], np.int64)):
        yield given(x, shape)
    yield given(numbers(dtype, 1), ints())
    yield given(numbers(dtype), ints(1, 1))
    yield given(numbers(dtype, 0, 3), ints(-1, 3))
    yield given(numbers(dtype, 0, 3), ints(-1, 0))


def _reshape(x: Any, shape: Any) -> Any:
    dims = shape.tolist()
    if -1 in dims:
        rest = [d for d in dims if d != -1]
        sizes = x.shape if 0 not in rest else [d for d in x.shape if d]
        product = int(np.prod([d for d in rest if d or 0 not in rest] or [1]))
        dims[dims.index(-1)] = int(np.prod(sizes)) // product
    return laid_out(row_major(x), dims)


def _fills(dtype: DType) -> Iterable[Sample]:
    for dims in (ints(2, 3), ints(), ints(0), np.array([2], np.int64)):
        yield given(dims, numbers(dtype))


def empty_of(dtype: Any) -> Any:
    """What fills gaps in arrays of that type."""
    return b"" if dtype.hasobject else 0


def _expansions(dtype: DType) -> Iterable[Sample]:
    for axis in (0, 1, 2, -1, -3):
        yield given(numbers(dtype, 2, 3), int_(axis))
    yield given(numbers(dtype), np.array(0, np.int64))
    yield given(numbers(dtype, 2), ints(1))


def _expand(x: Any, dim: Any) -> Any:
    shape = list(x.shape)
    at = int(np.ravel(dim)[0])
    shape.insert(at if at >= 0 else at + len(shape) + 1, 1)
    return laid_out(row_major(x), shape)


def _squeezes(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 1, 3, 1, 2)
    yield given(x)
    yield given(x, squeeze_dims=(0,))
    yield given(x, squeeze_dims=(-2, 0))
    yield given(numbers(dtype, 1, 1))
    yield given(numbers(dtype))


def _squeeze(x: Any, squeeze_dims: Any = ()) -> Any:
    dropped = {a % x.ndim for a in squeeze_dims} or {i for i, d in enumerate(x.shape) if d == 1}
    return laid_out(row_major(x), [d for i, d in enumerate(x.shape) if i not in dropped])


def _permutations(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 2, 3, 4), ints(2, 0, 1))
    yield given(numbers(dtype, 2, 3), np.array([1, 0], np.int64))
    yield given(numbers(dtype, 0, 3), ints(1, 0))
    yield given(numbers(dtype), ints())


def _transpose(x: Any, perm: Any) -> Any:
    out = np.empty([x.shape[p] for p in perm.tolist()], object)
    for at in positions(x.shape):
        out[tuple(at[p] for p in perm.tolist())] = objects(x)[at]
    return out


def _parts(dtype: DType) -> Iterable[Sample]:
    yield given([numbers(dtype, 2, 3), numbers(dtype, 1, 3, seed=1)], int_(0))
    yield given([numbers(dtype, 2, n, 2, seed=n) for n in (1, 0, 3)], int_(-2))
    yield given([numbers(dtype, 2), numbers(dtype, 3)], np.array(0, np.int64))


def _concat(values: list[Any], axis: Any) -> Any:
    at = int(axis) % values[0].ndim
    shape = list(values[0].shape)
    shape[at] = sum(v.shape[at] for v in values)
    out = np.empty(shape, object)
    start = 0
    for v in values:
        for p in positions(v.shape):
            out[(*p[:at], p[at] + start, *p[at + 1 :])] = objects(v)[p]
        start += v.shape[at]
    return out


def _offset_requests(dtype: DType) -> Iterable[Sample]:
    kind = dtype.numpy
    yield given(int_(1), [np.array(s, kind) for s in ([2, 3, 4], [2, 1, 4], [2, 5, 4])])
    yield given(int_(-3), [np.array(s, kind) for s in ([2, 3, 4], [1, 3, 4])])


def _offsets(dim: Any, shape: list[Any]) -> Any:
    out, total = [], 0
    at = int(dim) % len(shape[0])
    for s in shape:
        out.append([total if i == at else 0 for i in range(len(s))])
        total += int(s[at])
    return [np.array(o) for o in out]


def _packs(dtype: DType) -> Iterable[Sample]:
    for axis in (0, 1, -1):
        yield given([numbers(dtype, 2, 3, seed=i) for i in range(2)], axis=axis)
    yield given([numbers(dtype, seed=i) for i in range(3)])
    yield given([numbers(dtype)], axis=-1)


def _pack(values: list[Any], axis: int = 0) -> Any:
    at = axis % (values[0].ndim + 1)
    shape = [*values[0].shape]
    shape.insert(at, len(values))
    out = np.empty(shape, object)
    for i, v in enumerate(values):
        for p in positions(v.shape):
            out[(*p[:at], i, *p[at:])] = objects(v)[p]
    return out


def _unpacks(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 3, 2), num=3)
    yield given(numbers(dtype, 3, 2), num=2, axis=-1)
    yield given(numbers(dtype, 1), num=1)
    yield given(numbers(dtype, 2), num=2)
    yield given(numbers(dtype, 0, 2), num=0)


def _unpack(value: Any, num: int, axis: int = 0) -> Any:
    at = axis % value.ndim
    out = [
        laid_out(
            [objects(value)[p] for p in positions(value.shape) if p[at] == i],
            value.shape[:at] + value.shape[at + 1 :],
        )
        for i in range(num)
    ]
    return out[0] if num == 1 else out


def _reversals(dtype: DType) -> Iterable[Sample]:
    for axes in (ints(0), ints(-1, 0), ints(), np.array([1], np.int64)):
        yield given(numbers(dtype, 2, 3), axes)
    yield given(numbers(dtype), ints())
    yield given(numbers(dtype, 0, 2), ints(0, 1))


def _reverse(x: Any, axis: Any) -> Any:
    turned = {a % x.ndim for a in axis.tolist()}
    out = np.empty(x.shape, object)
    for at in positions(x.shape):
        out[tuple(x.shape[i] - 1 - p if i in turned else p for i, p in enumerate(at))] = objects(x)[
            at
        ]
    return out


def _conditions(dtype: DType) -> Iterable[Sample]:
    for shape in ((3, 4), (5,), (), (0, 2), (2, 0), (2, 2, 2)):
        yield given(numbers(dtype, *shape, low=-1, high=1))
    yield given(np.array([0, 1, 0, 2]).astype(dtype.numpy))


def _where(x: Any) -> Any:
    found = [at for at in positions(x.shape) if x[at]]
    return np.array(found, object).reshape(len(found), x.ndim)


def _constants(dtype: DType) -> Iterable[Sample]:
    for shape in ((2, 3), (), (0,)):
        yield given(value=numbers(dtype, *shape), dtype=dtype)


def _fake_parameters(dtype: DType) -> Iterable[Sample]:
    yield given(dtype=dtype, shape=(2, 3))
    yield given(dtype=dtype, shape=(None, 3))
    yield given(dtype=dtype, shape=None)


def _fake(dtype: DType, shape: Any) -> Any:
    return np.full([d or 0 for d in shape or ()], empty_of(dtype.numpy), object)


X23, X3 = np.zeros((2, 3), np.float32), np.zeros(3, np.float32)
SOURCES = (
    Row("Const", _constants, lambda value, dtype: objects(value), vary="dtype", types=TYPES),
    Row("Placeholder", tested_in="tests/kernels/test_errors.py"),
    Row(
        "PlaceholderWithDefault", lambda dtype: [given(numbers(dtype, 2), shape=(None,))], itself,
        vary="dtype", types=TYPES,
        wrong=(Wrong(given(X3, shape=(2,)), r"\[3\], not \[2\]", ""),),
    ),
    Row("Identity", shapes, itself, types=TYPES),
    Row(
        "IdentityN", lambda dtype: [
            given([numbers(dtype, 2)]), given([numbers(dtype, 2), ints(1), numbers(dtype)])
        ],
        lambda input: objects(input[0]) if len(input) == 1 else [objects(x) for x in input],
        types=TYPES,
    ),
    Row("StopGradient", shapes, itself, types=TYPES),
    Row("FakeParam", _fake_parameters, _fake, vary="dtype", types=TYPES),
)  # fmt: skip
ASKING = (
    Row("Shape", _shape_requests, lambda x, out_type=None: np.array(x.shape), types=TYPES),
    Row(
        "ShapeN", lambda dtype: [
            given([numbers(dtype, 2, 3)]),
            given([numbers(dtype), numbers(dtype, 4)], out_type=dtypes.int64),
        ],
        lambda input, out_type=None: np.array(input[0].shape) if len(input) == 1
        else [np.array(x.shape) for x in input],
        types=TYPES,
    ),
    Row(
        "Size", _shape_requests, lambda x, out_type=None: np.array(len(row_major(x))), types=TYPES,
    ),
    Row("Rank", shapes, lambda x: np.array(len(x.shape)), types=TYPES),
)  # fmt: skip
RESHAPING = (
    Row(
        "Reshape", _reshapes, _reshape, types=TYPES,
        wrong=(
            Wrong(given(X23, ints(4)), r"has 6 elements, \[4\] has 4", "cannot reshape"),
            Wrong(given(X23, ints(-1, 4)), r"cannot be laid out", "cannot reshape"),
            Wrong(given(X23, ints(-1, -1)), r"only one .* -1", "one -1 at most"),
            Wrong(given(X23, ints(-2, 3)), r"negative", "one -1 at most"),
            Wrong(given(X23, int_(6)), r"vector", "vector"),
        ),
    ),
    Row(
        "Fill", _fills, lambda dims, value: laid_out(
            [objects(value)[()]] * int(np.prod(dims)), dims
        ),
        types=TYPES,
        wrong=(Wrong(given(ints(-1), int_(0)), r"negative in \[-1\]", "negative"),),
    ),
    Row("ZerosLike", shapes, lambda x: np.full(x.shape, empty_of(x.dtype), object), types=TYPES),
    Row("OnesLike", shapes, lambda x: np.full(x.shape, 1, object)),
    Row(
        "ExpandDims", _expansions, _expand, types=TYPES,
        wrong=(Wrong(given(X3, int_(2)), r"axis 2", "axis 2 is outside"),),
    ),
    Row(
        "Squeeze", _squeezes, _squeeze, types=TYPES,
        wrong=(
            Wrong(given(X23, squeeze_dims=(0,)), r"length 2, not 1", "squeeze"),
            Wrong(given(X23, squeeze_dims=(2,)), r"axis 2", "axis 2"),
        ),
    ),
    Row(
        "Transpose", _permutations, _transpose, types=TYPES,
        wrong=(
            Wrong(given(X23, ints(0)), r"1 entries", "axes don't match"),
            Wrong(given(X23, ints(0, 0)), r"no permutation", "repeated axis"),
            Wrong(given(X23, ints(0, 2)), r"axis 2", "axis 2"),
        ),
    ),
    Row(
        "ReverseV2", _reversals, _reverse, types=TYPES,
        wrong=(
            Wrong(given(X23, ints(2)), r"axis 2", "axis 2"),
            Wrong(given(X23, ints(1, -1)), r"twice", "named twice"),
        ),
    ),
)  # fmt: skip
SEARCHING = (
    Row("Where", _conditions, _where, types=(*dtypes.REALS, *dtypes.COMPLEX, dtypes.bool_)),
)
JOINING = (
    Row(
        "ConcatV2", _parts, _concat, types=TYPES,
        wrong=(
            Wrong(given([X23, X23], int_(2)), r"axis 2", "axis 2"),
            Wrong(given([X23, X3], int_(0)), r"ranks differ", "number of dimensions"),
            Wrong(given([X23, X23.T], int_(0)), r"differ", "dimensions .* must match"),
            Wrong(given([X3[0], X3[0]], int_(0)), r"scalars", "zero-dimensional"),
        ),
    ),
    Row(
        "ConcatOffset", _offset_requests, _offsets, vary="shape_type",
        wrong=(
            Wrong(given(int_(2), [ints(1, 2), ints(1, 2)]), "", "axis 2 is outside"),
            Wrong(given(int_(0), [ints(1, 2), ints(1, 3)]), "", "differ beside axis 0"),
            Wrong(given(int_(0), [ints(1, 2), ints(1)]), r"differ", "differ beside axis 0"),
        ),
    ),
    Row(
        "Pack", _packs, _pack, types=TYPES,
        wrong=(
            Wrong(given([X23, X3]), r"different ranks", "same shape"),
            Wrong(given([X3, X3], axis=2), r"axis 2", "axis 2"),
            Wrong(given([int_(1), ints(1)]), r"different ranks", "one shape"),
        ),
    ),
    Row(
        "Unpack", _unpacks, _unpack, types=TYPES,
        wrong=(
            Wrong(given(X23, num=3), r"num = 3", "does not have length 3"),
            Wrong(given(X23, num=3, axis=2), r"axis 2", "axis 2"),
        ),
    ),
)  # fmt: skip
ROWS = (*SOURCES, *ASKING, *RESHAPING, *SEARCHING, *JOINING)
