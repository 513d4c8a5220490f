"""Rows of blocks moved between space, batch and depth."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, ints, numbers, real
from tests.ops.samples import MOVED
from tests.ops.table_padding import pairs

TYPES = MOVED[:-1]
NONE = pairs((0, 0), (0, 0))


def to_batch(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 4, 6, 3)
    yield given(x, NONE, block_size=2)
    yield given(x, pairs((1, 1), (0, 2)), block_size=2)
    yield given(x, pairs((1, 1), (0, 0)).astype(np.int64), block_size=3)
    yield given(x[:0], NONE, block_size=2)
    yield given(x, NONE, block_size=4)
    yield given(x, pairs((-1, 1), (0, 0)), block_size=2)
    yield given(x[0], NONE, block_size=2)


def to_batch_nd(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 4, 6, 3)
    yield given(x, ints(2, 3), NONE)
    yield given(x, ints(2), pairs((1, 1)))
    yield given(x, ints(2, 3, 3), pairs((0, 0), (1, 2), (0, 0)))
    yield given(x, ints(), pairs())
    yield given(x[:0], ints(2, 3), NONE)
    yield given(x, ints(3, 3), NONE)
    yield given(x, ints(2, 0), NONE)
    yield given(x, ints(2, 2), pairs((0, 0)))
    yield given(x, ints(2, 2), pairs((-1, 1), (0, 0)))


def to_space(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 8, 3, 2, 3)
    yield given(x, NONE, block_size=2)
    yield given(x, pairs((1, 2), (0, 1)), block_size=2)
    yield given(x[:0], NONE, block_size=2)
    yield given(x, NONE, block_size=3)
    yield given(x, pairs((4, 4), (0, 0)), block_size=2)
    yield given(x, pairs((-1, 1), (0, 0)), block_size=2)


def to_space_nd(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 8, 3, 2, 3)
    yield given(x, ints(2, 2), NONE)
    yield given(x, ints(4), pairs((1, 3)))
    yield given(x, ints(2, 2, 2), pairs((0, 0), (1, 0), (0, 2)))
    yield given(x, ints(), pairs())
    yield given(x[:0], ints(2, 2), NONE)
    yield given(x, ints(3, 1), NONE)
    yield given(x, ints(2, 2), pairs((4, 4), (0, 0)))
    yield given(x, ints(2, 2), pairs((0, 0)))


def to_depth(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 4, 6, 3)
    yield given(x, block_size=2)
    yield given(x[:0], block_size=2)
    yield given(x, block_size=3)
    yield given(x[0], block_size=2)
    yield given(x.reshape(2, 3, 4, 6), block_size=2, data_format=b"NCHW")


def from_depth(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 2, 2, 3, 8)
    yield given(x, block_size=2)
    yield given(x[:0], block_size=2)
    yield given(x, block_size=3)
    yield given(x[0], block_size=2)


ROWS = (
    Row("SpaceToBatch", to_batch, types=TYPES),
    # TensorFlow refuses a block whose length is not known
    Row("SpaceToBatchND", to_batch_nd, types=TYPES, sharper=True),
    Row("BatchToSpace", to_space, types=TYPES),
    Row("BatchToSpaceND", to_space_nd, types=TYPES, sharper=True),
    Row("SpaceToDepth", to_depth, types=TYPES),
    Row("DepthToSpace", from_depth, types=TYPES),
)
CROPS = pairs((1, 1), (0, 2))
DERIVATIVES = (
    Case("SpaceToBatch", (real(1, 4, 4, 2), CROPS), {"block_size": 2}),
    Case("SpaceToBatchND", (real(1, 4, 4, 2), ints(3, 2), CROPS)),
    Case("BatchToSpace", (real(4, 3, 2, 2), CROPS), {"block_size": 2}),
    Case("BatchToSpaceND", (real(6, 3, 2, 2), ints(3, 2), CROPS)),
    Case("SpaceToDepth", (real(1, 4, 4, 2),), {"block_size": 2}),
    Case("DepthToSpace", (real(1, 2, 2, 8),), {"block_size": 2}),
)
