"""Rows of the nn family."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.plain import each, positions, precise
from tests.ops.rows import Row, Sample, Wrong, given, ints, numbers
from tests.ops.table_math import NAN, larger, pair, unary


def _biases(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 2, 3), numbers(dtype, 3, seed=1))
    yield given(numbers(dtype, 2, 2, 3), numbers(dtype, 3, seed=1))
    yield given(numbers(dtype, 2, 3, 2, 2), numbers(dtype, 3, seed=1), data_format=b"NCHW")
    yield given(numbers(dtype, 2, 3, 2), numbers(dtype, 3, seed=1), data_format=b"NCHW")
    yield given(numbers(dtype, 0, 3), numbers(dtype, 3))


def _bias_add(value: Any, bias: Any, data_format: bytes = b"NHWC") -> Any:
    out = precise(value).astype(object)
    for at in positions(out.shape):
        out[at] += precise(bias)[at[1 if data_format == b"NCHW" else -1]].item()
    return out


def _bias_gradients(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 2, 3))
    yield given(numbers(dtype, 2, 2, 3))
    yield given(numbers(dtype, 2, 3, 2, 2), data_format=b"NCHW")
    yield given(numbers(dtype, 0, 3))


def _bias_gradient(gradient: Any, data_format: bytes = b"NHWC") -> Any:
    axis = 1 if data_format == b"NCHW" else gradient.ndim - 1
    out = np.zeros(gradient.shape[axis], object)
    for at in positions(gradient.shape):
        out[at[axis]] += precise(gradient)[at].item()
    return out


def _logits(dtype: DType) -> Iterable[Sample]:
    for shape in ((2, 4), (3,), (2, 2, 3), (0, 3), (2, 0)):
        yield given(numbers(dtype, *shape))
    yield given(np.array([[60000.0, 1.0], [-60000.0, -60000.0]]).astype(dtype.numpy))


def by_rows(function: Callable[[list[float]], list[float]]) -> Callable[[Any], Any]:
    """An op on the last axis from a function of a list."""

    def reference(x: Any) -> Any:
        wide = precise(x)
        out = np.empty(x.shape, object)
        for at in positions(x.shape[:-1]):
            row = function([float(v) for v in wide[at]])
            for i, value in enumerate(row):
                out[(*at, i)] = value
        return out

    return reference


def log_of_sum(row: list[float]) -> float:
    """Log of the sum of exponentials."""
    top = max(row)
    return top + math.log(sum(math.exp(v - top) for v in row))


def softmax(row: list[float]) -> list[float]:
    """Exponentials that add up to one."""
    return [math.exp(v - log_of_sum(row)) for v in row]


def _dense_labels(dtype: DType) -> Iterable[Sample]:
    labels = np.array([[0.25, 0.5, 0.25], [1.0, 0.0, 0.0]]).astype(dtype.numpy)
    yield given(numbers(dtype, 2, 3), labels)
    yield given(numbers(dtype, 1, 3), labels)
    yield given(numbers(dtype, 0, 3), numbers(dtype, 0, 3))


def _cross_entropy(features: Any, labels: Any) -> Any:
    features, labels = np.broadcast_arrays(precise(features), precise(labels))
    losses, gradients = [], np.empty(features.shape, object)
    for i, (row, label) in enumerate(zip(features.tolist(), labels.tolist(), strict=True)):
        losses.append(sum(p * (log_of_sum(row) - v) for p, v in zip(label, row, strict=True)))
        gradients[i] = [s - p for s, p in zip(softmax(row), label, strict=True)]
    return np.array(losses, object), gradients


def _sparse_labels(dtype: DType) -> Iterable[Sample]:
    yield given(numbers(dtype, 3, 4), ints(0, 3, 1))
    yield given(numbers(dtype, 2, 4), np.array([2, 2], np.int64))
    yield given(numbers(dtype, 0, 4), ints())


def _sparse_cross_entropy(features: Any, labels: Any) -> Any:
    one_hot = np.zeros(features.shape)
    for i, label in enumerate(labels):
        one_hot[i, label] = 1.0
    return _cross_entropy(features, one_hot)


_LOOSE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5}
_M23 = np.zeros((2, 3), np.float32)
ROWS = (
    Row("Relu", unary(), each(lambda x: larger(x, 0) if x == x else NAN)),
    Row(
        "ReluGrad", pair(), each(lambda g, x: g * (x > 0)),
        wrong=(Wrong(given(_M23, _M23.T), r"differ", "a gradient of shape"),),
    ),
    Row(
        "BiasAdd", _biases, _bias_add,
        wrong=(
            Wrong(given(_M23, np.zeros(2, np.float32)), r"2 entries", "a bias of shape"),
            Wrong(given(_M23[0], np.zeros(3, np.float32)), r"rank 2", "a bias of shape"),
            Wrong(given(_M23, _M23), r"rank 1", "a bias of shape"),
        ),
    ),
    Row(
        "BiasAddGrad", _bias_gradients, _bias_gradient, tolerance=_LOOSE,
        wrong=(Wrong(given(_M23[0]), r"rank 2", "rank 2"),),
    ),
    Row(
        "Softmax", _logits, by_rows(softmax), tolerance=_LOOSE,
        wrong=(Wrong(given(_M23[0, 0]), r"rank 1", "rank 1"),),
    ),
    Row(
        "LogSoftmax", _logits, by_rows(lambda row: [v - log_of_sum(row) for v in row]),
        tolerance=_LOOSE, wrong=(Wrong(given(_M23[0, 0]), r"rank 1", "rank 1"),),
    ),
    Row(
        "SoftmaxCrossEntropyWithLogits", _dense_labels, _cross_entropy, tolerance=_LOOSE,
        wrong=(
            Wrong(given(_M23[0], _M23[0]), r"matrices", "matrix"),
            Wrong(given(_M23, np.zeros((2, 4), np.float32)), r"do not broadcast", "mismatch"),
        ),
    ),
    Row(
        "SparseSoftmaxCrossEntropyWithLogits", _sparse_labels, _sparse_cross_entropy,
        tolerance=_LOOSE,
        wrong=(
            Wrong(given(_M23, ints(0, 3)), "", r"the label 3 is outside the valid range \[0, 3\)"),
            Wrong(given(_M23, ints(-1, 0)), "", "the label -1"),
            Wrong(given(_M23, ints(0)), r"differ", "labels of shape"),
            Wrong(given(_M23, ints(0)[0]), r"rank 1", "labels of shape"),
        ),
    ),
    Row(
        "L2Loss", lambda dtype: [given(numbers(dtype, *s)) for s in ((2, 3), (), (0,))],
        lambda t: sum(v * v for v in precise(t).ravel().tolist()) / 2, tolerance=_LOOSE,
    ),
)  # fmt: skip
