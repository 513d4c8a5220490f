"""Rows of random numbers that follow from a seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, given, numbers

SHAPES = ((2, 3), (), (0, 2), (37,))
SEEDS = ((1, 2), (0, 0), (-5, 2**40))


def shape_of(dims: Sequence[int]) -> Any:
    return np.array(dims, np.int32)


def seed_of(*seeds: int) -> Any:
    return np.array(seeds, np.int64)


def seeded(dtype: DType) -> Iterable[Sample]:
    for dims in SHAPES:
        yield given(shape_of(dims), seed_of(1, 2), dtype=dtype)
    for seeds in (*SEEDS, (1, 2, 3)):
        yield given(shape_of((5,)), seed_of(*seeds), dtype=dtype)
    yield given(shape_of((2, -1)), seed_of(1, 2), dtype=dtype)


def keyed(dtype: DType) -> Iterable[Sample]:
    for key, counter, alg in (
        ((7,), (1, 2), 1), ((2**63,), (2**64 - 1, 3), 1), ((7,), (1, 2), 3),
        ((7, 8), (1, 2), 1), ((7,), (1, 2), 9),
    ):  # fmt: skip
        yield given(
            shape_of((3, 11)), np.array(key, np.uint64), np.array(counter, np.uint64),
            np.array(alg, np.int32), dtype=dtype,
        )  # fmt: skip


BOUNDS = ((-3, 8), (0, 1), (5, 5), (7, 2))


def integers(dtype: DType) -> Iterable[Sample]:
    for bounds in BOUNDS:
        low, high = (np.array(b, dtype.numpy) for b in bounds)
        yield given(shape_of((23,)), seed_of(3, 4), low, high)


def keyed_integers(dtype: DType) -> Iterable[Sample]:
    start = np.array([7], np.uint64), np.array([1, 2], np.uint64), np.array(1, np.int32)
    for low, high in ((2, 9), (0, 100), (5, 5)):
        bounds = (np.array(b, dtype.numpy) for b in (low, high))
        yield given(shape_of((23,)), *start, *bounds)


def classes(dtype: DType) -> Iterable[Sample]:
    logits = numbers(dtype, 1, 5)
    for rows in (logits, logits[:0], logits[:, :0], logits[0]):
        yield given(rows, np.array(9, np.int32), seed_of(1, 2))
    yield given(logits, np.array(-1, np.int32), seed_of(1, 2))


def seeds(dtype: DType) -> Iterable[Sample]:
    for each in (*SEEDS, (1, 2, 3)):
        yield given(seed_of(*each))


def nothing(dtype: DType) -> Iterable[Sample]:
    yield given()


# sines, cosines and logarithms of another library differ in their last bits
LOOSE = {"float32": 2e-6, "float64": 1e-14}
ROWS = (
    Row("StatelessRandomUniform", seeded, vary="dtype"),
    Row("StatelessRandomNormal", seeded, vary="dtype", tolerance=LOOSE),
    Row("StatelessRandomUniformInt", integers, vary="dtype"),
    Row("StatelessRandomUniformV2", keyed, vary="dtype"),
    Row("StatelessRandomNormalV2", keyed, vary="dtype", tolerance=LOOSE),
    Row("StatelessTruncatedNormalV2", keyed, vary="dtype", tolerance=LOOSE),
    Row("StatelessRandomUniformIntV2", keyed_integers, vary="dtype"),
    Row("StatelessMultinomial", classes),
    Row("StatelessRandomGetKeyCounter", seeds, types=(dtypes.int64,)),
    Row("StatelessRandomGetAlg", nothing, types=(dtypes.int32,)),
)
