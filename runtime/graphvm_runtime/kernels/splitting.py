"""Kernels of ops that cut an array into parts: views; and that reverse the parts of a batch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError, ShapeError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.ops.splitting import part_sizes


def _axis(split_dim: Array, x: Array) -> int:
    rank = getattr(x, "ndim", 0)
    if getattr(split_dim, "size", 1) != 1:
        raise InvalidArgumentError(f"the axis is a scalar, got shape {list(split_dim.shape)}")
    at: int = split_dim.item()
    if not -rank <= at < rank:
        raise InvalidArgumentError(f"axis {at} is outside the rank {rank}")
    return at % rank


@kernel("Split")
def _split(node: Node) -> Kernel:
    num: int = node.attrs["num_split"]

    def call(split_dim: Array, x: Array) -> Any:
        at = _axis(split_dim, x)
        length, rest = divmod(x.shape[at], num)
        if rest:
            raise InvalidArgumentError(
                f"axis {at} of the shape {list(x.shape)} does not fall into {num} equal parts"
            )
        if num == 1:
            return x
        return [x[part] for part in _parts(at, length, num)]

    return Kernel(call, aliases=(1,))


@lru_cache(maxsize=256)
def _parts(axis: int, length: int, count: int) -> tuple[tuple[slice, ...], ...]:
    """Indices of equal parts along an axis: making them takes longer than using them."""
    before = (slice(None),) * axis
    return tuple((*before, slice(i * length, (i + 1) * length)) for i in range(count))


@kernel("SplitV")
def _split_v(node: Node) -> Kernel:
    num: int = node.attrs["num_split"]

    def call(x: Array, size_splits: Array, split_dim: Array) -> Any:
        at = _axis(split_dim, x)
        if size_splits.shape != (num,):
            raise InvalidArgumentError(
                f"size_splits has {num} entries, got the shape {list(size_splits.shape)}"
            )
        try:
            sizes = part_sizes(size_splits.tolist(), x.shape[at])
        except ShapeError as error:
            raise InvalidArgumentError(error.what) from None
        if num == 1:
            return x
        before, start, parts = (slice(None),) * at, 0, []
        for size in sizes:
            assert size is not None
            parts.append(x[(*before, slice(start, start + size))])
            start += size
        return parts

    return Kernel(call, aliases=(0,))


@kernel("ReverseSequence")
def _reverse_sequence(node: Node) -> Kernel:
    along, batch = node.attrs["seq_dim"], node.attrs["batch_dim"]

    def call(x: Array, lengths: Array) -> Any:
        rank = getattr(x, "ndim", 0)
        if not (0 <= along < rank and 0 <= batch < rank and along != batch):
            raise InvalidArgumentError(
                f"seq_dim {along} and batch_dim {batch} must be two axes within the rank {rank}"
            )
        if lengths.shape != (x.shape[batch],):
            raise InvalidArgumentError(
                f"seq_lengths of shape {list(lengths.shape)} for {x.shape[batch]} entries"
            )
        size = x.shape[along]
        if lengths.size and (lengths.min() < 0 or lengths.max() > size):
            raise InvalidArgumentError(f"seq_lengths {lengths.tolist()} are not all in [0, {size}]")
        steps = np.arange(size)
        column = lengths.astype(np.int64)[:, None]
        source = np.where(steps < column, column - 1 - steps, steps)
        rows = np.moveaxis(x, (batch, along), (0, 1))
        turned = rows[np.arange(len(rows))[:, None], source]
        return np.ascontiguousarray(np.moveaxis(turned, (0, 1), (batch, along)))

    return Kernel(call)
