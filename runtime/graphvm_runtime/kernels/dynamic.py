"""Rows dealt out by numbers, and put together again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.values.tensor_list import zeros_of


@kernel("DynamicPartition")
def _partition(node: Node) -> Callable[..., Any]:
    count: int = node.attrs["num_partitions"]

    def call(data: Array, partitions: Array) -> Any:
        if partitions.size and not (partitions.min() >= 0 and partitions.max() < count):
            bad = np.argwhere((partitions < 0) | (partitions >= count))[0]
            raise InvalidArgumentError(
                f"partitions{bad.tolist()} must be in [0, {count}), got {partitions[tuple(bad)]}"
            )
        parts = [data[partitions == i] for i in range(count)]
        return parts[0] if count == 1 else parts

    return call


@kernel("DynamicStitch", "ParallelDynamicStitch")
def _stitch(node: Node) -> Callable[..., Any]:
    count, dtype = node.attrs["N"], node.attrs["T"]

    def call(*inputs: Array) -> Array:
        indices = [x.reshape(-1) for x in inputs[:count]]
        inner = inputs[count].shape[inputs[0].ndim :]
        rows = [d.reshape(-1, *inner) if d.size else d.reshape(len(i), *inner)
                for i, d in zip(indices, inputs[count:], strict=True)]  # fmt: skip
        places = np.concatenate(indices)
        if (places < 0).any():
            raise InvalidArgumentError(f"indices must not be negative, got {places.min()}")
        out = zeros_of(dtype, (int(places.max(initial=-1)) + 1, *inner))
        for index, part in zip(indices, rows, strict=True):  # the last of equal indices wins
            out[index] = part
        return out

    return call
