"""Blocks of space moved into the batch or into the depth, and back: all are transpositions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.padding import pairs_of
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.ops.space import image_axes
from graphvm_runtime.values.tensor_list import zeros_of


def _space_to_batch(x: Array, block: list[int], pairs: list[tuple[int, int]], dtype: Any) -> Array:
    count, rest = len(block), x.shape[1 + len(block) :]
    sizes = [b + d + a for (b, a), d in zip(pairs, x.shape[1:], strict=False)]
    padded = zeros_of(dtype, (len(x), *sizes, *rest))
    inside = tuple(slice(b, b + d) for (b, _), d in zip(pairs, x.shape[1:], strict=False))
    padded[(slice(None), *inside)] = x
    small = [size // b for size, b in zip(sizes, block, strict=True)]
    split = padded.reshape(
        len(x), *[n for pair in zip(small, block, strict=True) for n in pair], *rest
    )
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count, 2)]
    order += range(2 * count + 1, split.ndim)
    return split.transpose(order).reshape(len(x) * math.prod(block), *small, *rest)


def _batch_to_space(x: Array, block: list[int], pairs: list[tuple[int, int]], dtype: Any) -> Array:
    count, rest = len(block), x.shape[1 + len(block) :]
    small = x.shape[1 : 1 + count]
    batch = len(x) // math.prod(block)
    split = x.reshape(*block, batch, *small, *rest)
    order = [count] + [axis for i in range(count) for axis in (count + 1 + i, i)]
    order += range(2 * count + 1, split.ndim)
    sizes = [size * b for size, b in zip(small, block, strict=True)]
    whole = split.transpose(order).reshape(batch, *sizes, *rest)
    inside = tuple(slice(b, n - a) for (b, a), n in zip(pairs, sizes, strict=True))
    return whole[(slice(None), *inside)].copy()


def _register(op: str, move: Callable[..., Array]) -> None:
    @kernel(op)
    @refusing
    def _images(node: Node) -> Callable[..., Any]:
        size, dtype = node.attrs["block_size"], node.attrs["T"]
        return lambda x, borders: move(x, [size, size], pairs_of(borders), dtype)

    @kernel(f"{op}ND")
    @refusing
    def _any_rank(node: Node) -> Callable[..., Any]:
        dtype = node.attrs["T"]
        return lambda x, block, borders: move(x, block.tolist(), pairs_of(borders), dtype)


_register("SpaceToBatch", _space_to_batch)
_register("BatchToSpace", _batch_to_space)


@kernel("SpaceToDepth", "DepthToSpace")
@refusing
def _depth(node: Node) -> Callable[..., Any]:
    size: int = node.attrs["block_size"]
    is_last = image_axes(node.attrs["data_format"])[2] == 3
    to_depth = node.op.name == "SpaceToDepth"

    def call(x: Array) -> Array:
        images = x if is_last else x.transpose(0, 2, 3, 1)
        batch, rows, columns, depth = images.shape
        if to_depth:
            rows, columns = rows // size, columns // size
            split = images.reshape(batch, rows, size, columns, size, depth)
            depth *= size * size
        else:
            depth //= size * size
            split = images.reshape(batch, rows, columns, size, size, depth).transpose(
                0, 1, 3, 2, 4, 5
            )
            rows, columns = rows * size, columns * size
        moved = split.transpose(0, 1, 3, 2, 4, 5) if to_depth else split
        out = moved.reshape(batch, rows, columns, depth)
        return np.ascontiguousarray(out if is_last else out.transpose(0, 3, 1, 2))

    return call
