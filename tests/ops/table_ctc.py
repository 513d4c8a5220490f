"""Rows of connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, ints, numbers, real

PAIRS = np.array([[0, 0], [0, 1], [1, 0]], np.int64)


def _losses(dtype: DType) -> Iterable[Sample]:
    x, labels, lengths = numbers(dtype, 5, 2, 4), ints(0, 1, 1), ints(5, 4)
    for name in ("", "preprocess_collapse_repeated", "ignore_longer_outputs_than_inputs"):
        yield given(x, PAIRS, labels, lengths, **({name: True} if name else {}))
        yield given(x, PAIRS, ints(1, 1, 2), lengths, **({name: True} if name else {}))
    yield given(x, PAIRS, ints(1, 1, 2), lengths, ctc_merge_repeated=False)
    yield given(x, PAIRS, ints(1, 1, 2), ints(2, 5))  # no path
    yield given(x, PAIRS, labels, ints(1, 5))
    yield given(x, PAIRS, labels, ints(1, 5), ignore_longer_outputs_than_inputs=True)
    yield given(x, PAIRS, labels, ints(0, 5))
    yield given(x, PAIRS, labels, ints(6, 5))
    yield given(x, PAIRS[:2], labels[:2], lengths)
    yield given(x, PAIRS, ints(0, 3, 1), lengths)
    yield given(x, PAIRS, ints(3, 0, 1), lengths)
    yield given(x, PAIRS + 1, labels, lengths)
    yield given(x, PAIRS[:2], labels, lengths)
    yield given(x[0], PAIRS, labels, lengths)


def _decoded(dtype: DType) -> Iterable[Sample]:
    x = numbers(dtype, 6, 3, 3)
    for merge in (False, True):
        for blank in (-1, 0):
            yield given(x, ints(6, 4, 0), merge_repeated=merge, blank_index=blank)
    yield given(x, ints(7, 4, 0))
    yield given(x, ints(6, 4, 0), blank_index=3)
    yield given(x[0], ints(6, 4, 0))


ROWS = (
    # TensorFlow's logarithms are of float32
    Row("CTCLoss", _losses, tolerance={"float32": 1e-5, "float64": 1e-6}),
    Row("CTCGreedyDecoder", _decoded, tolerance={"float32": 1e-5}),
)
DERIVATIVES = (
    Case("CTCLoss", (real(5, 2, 4), PAIRS, ints(0, 1, 1), ints(5, 4)), outputs=(0, 1), order=1),
)
