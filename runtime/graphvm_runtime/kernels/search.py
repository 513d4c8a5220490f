"""Places among sorted numbers, counts in bins, the nth number, the best few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import wide
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing


@kernel("Bucketize")
def _bucketize(node: Node) -> Callable[..., Any]:
    bounds = np.array(node.attrs["boundaries"], np.float32)
    if (bounds[1:] < bounds[:-1]).any():
        raise InvalidArgumentError(f"boundaries must be sorted, got {bounds.tolist()}")
    return lambda x: np.searchsorted(bounds, x, "right").astype(np.int32)


@kernel("LowerBound", "UpperBound")
@refusing
def _bound(node: Node) -> Callable[..., Any]:
    side: Any = "left" if node.op.name == "LowerBound" else "right"
    to = node.attrs["out_type"].numpy

    def call(rows: Array, values: Array) -> Array:
        out = np.empty(values.shape, to)
        for i, (row, wanted) in enumerate(zip(wide(rows), wide(values), strict=True)):
            out[i] = np.searchsorted(row, wanted, side)
        return out

    return call


def _counted(x: Array, size: int, weights: Array, dtype: Any, binary: bool) -> Array:
    out = np.zeros(size, dtype)
    kept = x < size
    if binary:
        out[x[kept]] = 1
    else:
        np.add.at(out, x[kept], weights[kept] if weights.size else dtype.type(1))
    return out


def _check_bins(x: Array, size: Array, weights: Array) -> None:
    if (x < 0).any():
        raise InvalidArgumentError(f"the numbers to count must not be negative, got {x.min()}")
    if weights.size and weights.shape != x.shape:
        raise InvalidArgumentError(
            f"weights must be empty or have shape {list(x.shape)}, got {list(weights.shape)}"
        )


@kernel("Bincount")
@refusing
def _bincount(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy

    def call(x: Array, size: Array, weights: Array) -> Array:
        _check_bins(x, size, weights)
        return _counted(x.reshape(-1), int(size), weights.reshape(-1), dtype, False)

    return call


@kernel("DenseBincount")
@refusing
def _dense_bincount(node: Node) -> Callable[..., Any]:
    dtype, binary = node.attrs["T"].numpy, node.attrs["binary_output"]

    def call(x: Array, size: Array, weights: Array) -> Array:
        _check_bins(x, size, weights)
        count = int(size)
        if x.ndim == 1:
            return _counted(x, count, weights, dtype, binary)
        # one row of bins after the other
        rows = np.arange(len(x))[:, None] * count
        kept = x < count
        flat = np.where(kept, x + rows, len(x) * count).reshape(-1)
        out = _counted(flat, len(x) * count, weights.reshape(-1), dtype, binary)
        return out.reshape(len(x), count)

    return call


@kernel("HistogramFixedWidth")
@refusing
def _histogram(node: Node) -> Callable[..., Any]:
    to = node.attrs["dtype"].numpy

    def call(values: Array, value_range: Array, nbins: Array) -> Array:
        low, high = value_range
        if not low < high:
            raise InvalidArgumentError(f"value_range must rise, got [{low}, {high}]")
        count = int(nbins)
        step = (high - low) / value_range.dtype.type(count) if value_range.dtype.kind == "f" else (
            float(high) - float(low)) / count  # fmt: skip
        places = np.floor((np.clip(values, low, high) - low) / step)
        places = np.clip(places, 0, count - 1).astype(np.int64)
        return np.bincount(places.reshape(-1), minlength=count).astype(to)

    return call


@kernel("InTopK", "InTopKV2")
@refusing
def _in_top_k(node: Node) -> Callable[..., Any]:
    fixed: int = node.attrs.get("k", 0)

    def call(predictions: Array, targets: Array, k: Array | None = None) -> Any:
        most = fixed if k is None else int(k)
        columns = predictions.shape[1]
        known = (targets >= 0) & (targets < columns)
        if not columns:
            return np.zeros(len(targets), np.bool_)
        at = np.where(known, targets, 0)[:, None]
        ours = np.take_along_axis(predictions, at, 1)
        known &= np.isfinite(ours[:, 0])
        better = (predictions > ours).sum(1)
        # beside a number that is not finite nothing can be said, unless enough are better
        vague = (~np.isfinite(predictions)).any(1)
        return known & (better < most) & ~vague

    return call


@kernel("NthElement")
@refusing
def _nth(node: Node) -> Callable[..., Any]:
    reverse = node.attrs["reverse"]

    def call(x: Array, n: Array) -> Any:
        at = x.shape[-1] - 1 - int(n) if reverse else int(n)
        return np.take(np.partition(wide(x), at, -1), at, -1).astype(x.dtype)

    return call
