"""Different elements, in the order in which they come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import is_low, wide
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing


def first_places(x: Array, axis: int | None = None) -> tuple[Array, Array, Array]:
    """Where each different element comes first, which one each is, and how often it comes.

    Each NaN is different from all others; so are the two zeros of 16-bit floats.
    """
    options: dict[str, Any] = {"axis": axis} if axis is not None else {"equal_nan": False}
    _, first, inverse, counts = np.unique(
        _keys(x), return_index=True, return_inverse=True, return_counts=True, **options
    )
    order = first.argsort()
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse.reshape(-1)], counts[order]


def _keys(x: Array) -> Array:
    """What is compared: the bits of 16-bit floats, a number for each NaN, ranks of strings."""
    if x.dtype.hasobject:
        return np.unique(x, return_inverse=True)[1].reshape(x.shape)
    if not is_low(x.dtype):
        return x
    keys = x.view(np.uint16).astype(np.int64)
    unlike = np.isnan(x)
    keys[unlike] = 2**16 + np.arange(np.count_nonzero(unlike))
    return keys


def _results(node: Node, x: Array, axis: int) -> list[Array]:
    to = node.attrs["out_idx"].numpy
    if x.ndim == 1:
        first, index, counts = first_places(x)
    else:
        first, index, counts = first_places(x, axis)
    return [x.take(first, axis), index.astype(to), counts.astype(to)][: len(node.outputs)]


@kernel("Unique", "UniqueWithCounts")
@refusing
def _unique(node: Node) -> Callable[..., Any]:
    return lambda x: _results(node, x, 0)


@kernel("UniqueV2", "UniqueWithCountsV2")
@refusing
def _unique_along(node: Node) -> Callable[..., Any]:
    return lambda x, axis: _results(node, x, int(axis[0]) if axis.size else 0)


@kernel("ListDiff")
@refusing
def _list_diff(node: Node) -> Callable[..., Any]:
    to = node.attrs["out_idx"].numpy

    def call(x: Array, y: Array) -> Any:
        kept = np.flatnonzero(~np.isin(wide(x), wide(y)))
        return x[kept], kept.astype(to)

    return call
