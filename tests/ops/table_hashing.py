"""Rows of hashes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, given, numbers, strings
from tests.ops.samples import MOVED
from tests.ops.table_string import TEXTS, of, text

_BYTES = np.random.default_rng(3).integers(0, 256, 1000).astype(np.uint8).tobytes()
# every way in which hashes go by the length
LONG = strings(*(_BYTES[:n] for n in (*range(68), 127, 128, 129, 191, 192, 193, 1000)))
_MANY = 2**63 - 1


def hashed(**attrs: Any) -> Iterable[Sample]:
    yield given(LONG, num_buckets=_MANY, **attrs)
    yield given(LONG[:6].reshape(2, 3), num_buckets=7, **attrs)
    yield given(text(b"a"), num_buckets=1, **attrs)
    yield given(TEXTS[:0], num_buckets=3, **attrs)


def fingerprints(dtype: DType) -> Iterable[Sample]:
    name = text(b"farmhash64")
    yield given(numbers(dtype, 4), name)
    yield given(numbers(dtype, 3, 2, 5), name)
    yield given(numbers(dtype, 2, 1), name)
    yield given(numbers(dtype, 0, 2), name)
    yield given(numbers(dtype), name)
    yield given(numbers(dtype, 4), text(b"crc"))
    yield given(numbers(dtype, 4), strings(b"farmhash64"))


_WORDS = strings(b"a", b"b", b"c", b"d").reshape(2, 2)
_WORD = strings(b"x", b"y").reshape(2, 1)
_IDS = np.array([[1], [-2]], np.int64)
_PLACES = np.array([[0, 0], [1, 0], [1, 1]], np.int64)
_VALUES = strings(b"q", b"r", b"s")
_SHAPE = np.array([2, 2], np.int64)


def crossed() -> Iterable[Sample]:
    def of_(
        dense: list[Any], sparse: tuple[list[Any], ...] | None = None,
        salt: tuple[int, ...] = (1, 5),
        buckets: int = 0, strong: bool = False,
    ) -> Sample:  # fmt: skip
        places, values, shapes = sparse or ([], [], [])
        rest = (np.array(buckets), np.array(strong), np.array(salt))
        return given(places, values, shapes, dense, *rest)

    for strong in (False, True):
        for buckets in (0, 100):
            for dense in ([_WORD], [_WORDS, _WORD]):
                yield of_(dense, None, (1, 5), buckets, strong)
                yield of_(dense, ([_PLACES], [_VALUES], [_SHAPE]), (3, -1), buckets, strong)
    for dense in (
        [_IDS],
        [_IDS, _IDS],
        [_WORD, _IDS],
        [],
        [_WORDS[:, :0], _WORD],
        [_WORD, _WORDS[:1]],
    ):
        yield of_(dense)
    yield of_([], ([_PLACES, _PLACES[:2]], [_VALUES, _IDS[:, 0]], [_SHAPE, _SHAPE]))
    yield of_([_WORD], ([_PLACES], [_VALUES], [_SHAPE + 1]))
    yield of_([], ([_PLACES], [np.array([5, -1, 2**40 + 1])], [_SHAPE]), strong=True)
    yield of_([_WORD], salt=(1,))
    yield of_([_WORD], salt=(1, 2, 3))
    yield of_([_WORD[:, 0]])


ROWS = (
    Row("StringToHashBucket", **of(hashed())),
    Row("StringToHashBucketFast", **of(hashed())),
    Row("StringToHashBucketStrong", **of([
        *hashed(key=(0x0706050403020100, -7)), given(LONG, num_buckets=5, key=(1,)),
    ])),
    Row("Fingerprint", fingerprints, types=(*MOVED, dtypes.float64), sharper=True),
    Row("SparseCrossHashed", **of(crossed())),
)  # fmt: skip
