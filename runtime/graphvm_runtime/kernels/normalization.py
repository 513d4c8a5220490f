"""Batch normalization in one op, and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import SINGLE
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.ops.normalization import channel_axis


def _rows(x: Array, axis: int) -> Array:
    """Images as rows of channels, in float32."""
    return np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]).astype(SINGLE, copy=False)


def _images(rows: Array, like: Array, axis: int) -> Array:
    """Rows of channels as images of the shape and type of others."""
    moved = np.moveaxis(like, axis, -1).shape
    back = np.moveaxis(rows.reshape(moved), -1, axis)
    return np.ascontiguousarray(back.astype(like.dtype, copy=False))


@kernel("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
@refusing
def _normalize(node: Node) -> Callable[..., Any]:
    axis, training = channel_axis(node.attrs), node.attrs["is_training"]
    epsilon = np.float32(node.attrs["epsilon"])
    factor = np.float32(node.attrs["exponential_avg_factor"])
    extra = [np.zeros((), SINGLE)] if len(node.outputs) > 5 else []

    def call(x: Array, scale: Array, offset: Array, mean: Array, variance: Array) -> list[Array]:
        if not x.size:
            unknown = np.full(x.shape[axis], np.nan, SINGLE)
            return [x.copy(), *(unknown.copy() for _ in range(4)), *extra]
        rows = _rows(x, axis)
        if not training:
            wide = (rows - mean) * (scale / np.sqrt(variance + epsilon)) + offset
            kept = (v.copy() for v in (mean, variance, mean, variance))
            return [_images(wide, x, axis), *kept, *extra]
        count = len(rows)
        middle = rows.mean(0, dtype=SINGLE)
        centred = rows - middle
        spread = np.square(centred).mean(0, dtype=SINGLE)
        centred *= scale / np.sqrt(spread + epsilon)
        centred += offset
        unbiased = spread * np.float32(count / max(count - 1, 1))
        if factor == 1:
            told = [middle, unbiased]
        else:  # a moving average of what was given and what is here
            rest = np.float32(1) - factor
            told = [rest * mean + factor * middle, rest * variance + factor * unbiased]
        return [_images(centred, x, axis), *told, middle.copy(), spread, *extra]

    return call


@kernel("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
@refusing
def _gradient(node: Node) -> Callable[..., Any]:
    axis, training = channel_axis(node.attrs), node.attrs["is_training"]
    epsilon = np.float32(node.attrs["epsilon"])

    def call(g: Array, x: Array, scale: Array, mean: Array, variance: Array, *_: Array) -> Any:
        nothing = np.zeros(0, SINGLE)
        if not x.size:
            zeros = np.zeros(x.shape[axis], SINGLE)
            return x.copy(), zeros, zeros.copy(), nothing, nothing.copy()
        by_y, rows = _rows(g, axis), _rows(x, axis)
        inverse = np.float32(1) / np.sqrt(variance + epsilon)
        unit = (rows - mean) * inverse
        by_offset = by_y.sum(0, dtype=SINGLE)
        by_scale = (by_y * unit).sum(0, dtype=SINGLE)
        if training:
            count = np.float32(len(rows))
            by_x = by_y - by_offset / count - unit * (by_scale / count)
            by_x *= scale * inverse
        else:
            by_x = by_y * (scale * inverse)
        return _images(by_x, x, axis), by_scale, by_offset, nothing, nothing.copy()

    return call
