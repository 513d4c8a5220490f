"""Elements rolled along axes, rows put in place, indices and layouts of one kind as another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing


@kernel("Roll")
@refusing
def _roll(node: Node) -> Callable[..., Any]:
    def call(x: Array, shift: Array, axis: Array) -> Array:
        axes = axis.reshape(-1).tolist()
        for at in axes:
            if not -x.ndim <= at < x.ndim:
                raise InvalidArgumentError(f"axis must be within the rank {x.ndim}, got {at}")
        return np.roll(x, shift.reshape(-1).tolist(), axes)

    return call


@kernel("UnravelIndex")
@refusing
def _unravel(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["Tidx"].numpy

    def call(indices: Array, dims: Array) -> Array:
        if (dims == 0).any():
            raise InvalidArgumentError(f"dims must not be zero, got {dims.tolist()}")
        count = int(np.prod(dims, dtype=np.int64))
        if ((indices < 0) | (indices >= count)).any():
            raise InvalidArgumentError(f"indices must be in [0, {count}), got {indices.tolist()}")
        if not dims.size:
            return np.zeros((0, *indices.shape), dtype)
        return np.array(np.unravel_index(indices, dims.tolist()), dtype)

    return call


@kernel("ParallelConcat")
@refusing
def _parallel_concat(node: Node) -> Callable[..., Any]:
    return lambda *values: np.concatenate(values)


_CHANGES: dict[str, Any] = {"InplaceAdd": np.add.at, "InplaceSub": np.subtract.at}


@kernel("InplaceAdd", "InplaceSub", "InplaceUpdate")
@refusing
def _inplace(node: Node) -> Callable[..., Any]:
    change = _CHANGES.get(node.op.name)

    def call(x: Array, i: Array, v: Array) -> Array:
        if not x.ndim or i.ndim > 1 or (i.ndim == 1 and v.shape[:1] != i.shape):
            raise InvalidArgumentError(
                f"v must have a row for each of i, got {list(v.shape)} for {list(i.shape)}"
            )
        out = x.copy()
        if not len(x):
            return out
        rows = i % len(x)
        if change is None:
            out[rows] = v
        else:
            change(out, rows, v)
        return out

    return call


def _order(node: Node) -> list[int]:
    """Where each axis of the target layout stands in that of the source."""
    source, target = node.attrs["src_format"], node.attrs["dst_format"]
    if sorted(source) != sorted(target) or len(source) not in (4, 5):
        raise InvalidArgumentError(
            f"src_format and dst_format must name the same four or five axes, got {source!r} and "
            f"{target!r}"
        )
    return [source.index(axis) for axis in target]


@kernel("DataFormatDimMap")
def _dim_map(node: Node) -> Callable[..., Any]:
    order, dtype = _order(node), node.attrs["T"].numpy
    places = np.argsort(order).astype(dtype)

    def call(x: Array) -> Any:
        if x.size and not (-len(places) <= x.min() and x.max() < len(places)):
            raise InvalidArgumentError(f"dimensions must be in the layout, got {x.tolist()}")
        return places[x % len(places)]

    return call


@kernel("DataFormatVecPermute")
@refusing
def _vec_permute(node: Node) -> Callable[..., Any]:
    order = _order(node)
    target, source = node.attrs["dst_format"], node.attrs["src_format"]

    def call(x: Array) -> Any:
        if len(x) == len(order):
            return x[order]
        if len(x) != len(order) - 2:
            raise InvalidArgumentError(
                f"x must have {len(order)} or {len(order) - 2} rows, got {list(x.shape)}"
            )
        space = [axis for axis in source if axis not in b"NC"]
        return x[[space.index(axis) for axis in target if axis not in b"NC"]]

    return call
