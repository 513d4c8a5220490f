"""Rows of pools."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.plain import positions, precise
from tests.ops.rows import Row, Sample, Wrong, given, ints, numbers
from tests.ops.windows import LOOSE, ONE, laid_out, last, output_size, places

POOLS: tuple[tuple[dict[str, Any], tuple[int, ...]], ...] = (
    ({"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": b"VALID"}, (2, 5, 4, 2)),
    ({"ksize": (1, 3, 2, 1), "strides": (1, 2, 1, 1), "padding": b"SAME"}, (1, 4, 5, 2)),
    ({"ksize": (1, 1, 2, 3), "strides": (1, 1, 1, 2), "padding": b"SAME", "data_format": b"NCHW"},
     (2, 3, 4, 1)),
    ({"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": b"VALID"}, (0, 4, 4, 1)),
)  # fmt: skip
PADDED: tuple[dict[str, Any], tuple[int, ...]] = (
    {"ksize": (1, 2, 2, 1), "strides": (1, 2, 2, 1), "padding": b"EXPLICIT",
     "explicit_paddings": (0, 0, 1, 0, 0, 1, 0, 0)}, (1, 3, 3, 2),
)  # fmt: skip
DEEP: tuple[dict[str, Any], tuple[int, ...]] = (
    {"ksize": (1, 1, 1, 2), "strides": (1, 1, 1, 2), "padding": b"VALID"}, (2, 2, 1, 4),
)  # fmt: skip


def _window(attrs: dict[str, Any]) -> tuple[int, int]:
    at = 2 if attrs.get("data_format") == b"NCHW" else 1
    rows, columns = attrs["ksize"][at : at + 2]
    return rows, columns


def _pool_output(attrs: dict[str, Any], image: tuple[int, ...]) -> tuple[int, ...]:
    depth = attrs["ksize"][3] if attrs.get("data_format") != b"NCHW" else attrs["ksize"][1]
    return (image[0], *output_size(attrs, image[1:3], _window(attrs)), image[3] // depth)


def _maxima(attrs: dict[str, Any], x: Any) -> Iterable[tuple[Any, Any]]:
    """The place of each output with that of the first greatest element of its window."""
    out = _pool_output(attrs, x.shape)
    depth = x.shape[3] // out[3] if out[3] else 1
    for (a, b), elements in places(attrs, x.shape[1:3], _window(attrs)):
        for n, c in positions((out[0], out[3])):
            inside = [
                (n, row, column, c * depth + k)
                for _, _, row, column in elements for k in range(depth)
            ]  # fmt: skip
            if inside:
                yield (n, a, b, c), max(inside, key=lambda p: float(x[p]))


def _max_pool(image: Any, **attrs: Any) -> Any:
    x = last(image, attrs)
    out = np.zeros(_pool_output(attrs, x.shape), x.dtype)
    for r, p in _maxima(attrs, x):
        out[r] = x[p]
    return laid_out(out, attrs)


def _max_pool_grad(image: Any, output: Any, gradient: Any, **attrs: Any) -> Any:
    x, g = last(image, attrs), last(precise(gradient), attrs)
    out = np.zeros(x.shape, object)
    for r, p in _maxima(attrs, x):
        out[p] += g[r].item()
    return laid_out(out, attrs)


def _max_pool_grad_grad(image: Any, output: Any, gradient: Any, **attrs: Any) -> Any:
    x, g = last(image, attrs), last(gradient, attrs)
    out = np.zeros(_pool_output(attrs, x.shape), x.dtype)
    for r, p in _maxima(attrs, x):
        out[r] = g[p]
    return laid_out(out, attrs)


def _average(image: Any, **attrs: Any) -> Any:
    x = last(precise(image), attrs)
    out = np.zeros(_pool_output(attrs, x.shape), object)
    for (a, b), elements in places(attrs, x.shape[1:3], _window(attrs)):
        for n, c in positions((len(x), x.shape[3])):
            values = [x[n, row, column, c].item() for _, _, row, column in elements]
            out[n, a, b, c] = sum(values) / len(values)
    return laid_out(out, attrs)


def _average_grad(sizes: Any, gradient: Any, **attrs: Any) -> Any:
    g = last(precise(gradient), attrs)
    out = np.zeros(last(np.zeros(sizes), attrs).shape, object)
    for (a, b), elements in places(attrs, out.shape[1:3], _window(attrs)):
        for _, _, row, column in elements:
            for n, c in positions((len(out), out.shape[3])):
                out[n, row, column, c] += g[n, a, b, c].item() / len(elements)
    return laid_out(out, attrs)


def _pools(kind: str) -> Callable[[DType], Iterable[Sample]]:
    def samples(dtype: DType) -> Iterable[Sample]:
        many = (*POOLS, DEEP) if kind.startswith("max") else POOLS
        for attrs, shape in (*many, *((PADDED,) if kind in ("max", "max grad") else ())):
            x = laid_out(numbers(dtype, *shape), attrs)
            size = _pool_output(attrs, shape)
            g = laid_out(numbers(dtype, *size, seed=2), attrs)
            if kind in ("max", "average"):
                yield given(x, **attrs)
            elif kind == "max grad":
                yield given(x, g, numbers(dtype, *g.shape, seed=3), **attrs)
            elif kind == "max grad grad":
                yield given(x, g, numbers(dtype, *x.shape, seed=3), **attrs)
            else:
                yield given(ints(*x.shape), g, **attrs)

    return samples


_X = np.zeros((1, 4, 4, 3), np.float32)
_P = {"ksize": (1, 2, 2, 1), "strides": ONE, "padding": b"SAME"}
_BIG = {"ksize": (1, 7, 1, 1), "strides": ONE, "padding": b"VALID"}
_FIVE = given(_X, ksize=(1, 1, 1, 2), strides=(1, 1, 1, 2), padding=b"VALID")
ROWS = (
    Row("MaxPool", _pools("max"), _max_pool,
        wrong=(Wrong(given(_X[0], **_P), r"input has rank 4", "rank 4"),
               Wrong(given(_X, **_BIG), r"window that reaches over 7 elements is", "negative size"),
               Wrong(_FIVE, r"windows of 2 do not divide 3 channels", "do not divide"))),
    Row("MaxPoolGrad", _pools("max grad"), _max_pool_grad, tolerance=LOOSE,
        wrong=(Wrong(given(_X, _X, _X[:, :2], **_P), r"differ", "both are the same"),
               Wrong(given(_X, _X[:, :2], _X[:, :2], **_P), "", "a gradient of shape"))),
    Row("MaxPoolGradGrad", _pools("max grad grad"), _max_pool_grad_grad,
        wrong=(Wrong(given(_X, _X, _X[:, :2], **_P), r"differ", "both are the same"),)),
    Row("AvgPool", _pools("average"), _average, tolerance=LOOSE,
        wrong=(Wrong(given(_X[0], **_P), r"value has rank 4", "rank 4"),)),
    Row("AvgPoolGrad", _pools("average grad"), _average_grad, tolerance=LOOSE,
        wrong=(Wrong(given(ints(1, 2), _X, **_P), r"input's shape is four numbers", "four sizes"),
               Wrong(given(ints(1, 2, 2, 3), _X, **_P), "", "a gradient of shape"))),
)  # fmt: skip
