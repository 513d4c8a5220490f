"""Dilation: the maximum over a window of the image plus the filter, and where that lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import least_of, wide
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.kernels.windows import Placed, check_gradient, check_image
from graphvm_runtime.ops.morphology import dilation_windows
from graphvm_runtime.ops.windows import Windows


def _placed(windows: Windows, x: Array, filters: Array) -> Placed:
    check_image("input", x)
    check_image("filter", filters, 3)
    if x.shape[3] != filters.shape[2]:
        raise InvalidArgumentError(
            f"input and filter must have the same channels, got {x.shape[3]} and {filters.shape[2]}"
        )
    return Placed(windows, x.shape[1:3], filters.shape[:2])


def _maxima(placed: Placed, x: Array, filters: Array, best: Array) -> Array:
    """Puts the maximum of each window into `best`; gives the number of its first element.

    It is -1 for a window of nothing above the least number.
    """
    padded = placed.padded(x)
    inside = placed.padded(np.ones((1, *placed.image, 1), np.bool_), False)
    best[...] = least_of(x.dtype)
    chosen = np.full(best.shape, -1, np.int32)
    for number, at in enumerate(placed.elements()):
        value = placed.at(padded, *at) + filters[at]
        better = placed.at(inside, *at) & (value > best)
        np.copyto(best, value, where=better)
        chosen[better] = number
    return chosen


@kernel("Dilation2D")
def _dilate(node: Node) -> Kernel:
    windows = dilation_windows(node.attrs)

    def call(x: Array, filters: Array, out: Array | None = None) -> Any:
        placed = _placed(windows, x, filters)
        best = np.empty((len(x), *placed.counts, x.shape[3]), x.dtype) if out is None else out
        _maxima(placed, x, filters, best)
        return best

    return Kernel(call, out=True)


def _chosen(windows: Windows, x: Array, filters: Array, gradient: Array) -> tuple[Placed, Array]:
    placed = _placed(windows, x, filters)
    check_gradient(gradient, (len(x), *placed.counts, x.shape[3]))
    return placed, _maxima(placed, x, filters, np.empty(gradient.shape, x.dtype))


@kernel("Dilation2DBackpropInput")
def _to_input(node: Node) -> Callable[..., Any]:
    windows = dilation_windows(node.attrs)

    def call(x: Array, filters: Array, gradient: Array) -> Any:
        placed, chosen = _chosen(windows, x, filters, gradient)
        g = wide(gradient)
        out = placed.empty(len(x), x.shape[3], g.dtype)
        for number, at in enumerate(placed.elements()):
            place = placed.at(out, *at)
            np.add(place, g, out=place, where=chosen == number)
        if (chosen < 0).any():
            _add_at_corners(placed, out, g, chosen < 0)
        return placed.inner(out).astype(x.dtype)

    return call


def _add_at_corners(placed: Placed, out: Array, g: Array, where: Array) -> None:
    """Adds gradients of windows without a maximum where the window's corner lies on the image."""
    batch, row, column, channel = np.nonzero(where)
    strides = placed.windows.strides
    top = np.maximum(row * strides[0], placed.pads[0][0])
    left = np.maximum(column * strides[1], placed.pads[1][0])
    np.add.at(out, (batch, top, left, channel), g[where])


@kernel("Dilation2DBackpropFilter")
def _to_filter(node: Node) -> Callable[..., Any]:
    windows = dilation_windows(node.attrs)

    def call(x: Array, filters: Array, gradient: Array) -> Any:
        placed, chosen = _chosen(windows, x, filters, gradient)
        np.maximum(chosen, 0, out=chosen)
        g = wide(gradient)
        out = np.empty(filters.shape, g.dtype)
        for number, at in enumerate(placed.elements()):
            np.sum(g, (0, 1, 2), where=chosen == number, out=out[at])
        return out.astype(x.dtype, copy=False)

    return call
