"""Images of other sizes: one axis after the other, each by a few places and their weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import SINGLE
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing

_ONE, _HALF = np.float32(1), np.float32(0.5)
_STEPS = 1024  # of the table of cubic weights between two pixels


class Centers(NamedTuple):
    """How pixels of two sizes lie beside each other."""

    align_corners: bool
    half_pixel: bool


def _scale(old: int, new: int, centers: Centers) -> np.float32:
    if centers.align_corners and new > 1:
        return np.float32(old - 1) / np.float32(new - 1)
    return np.float32(old) / np.float32(new)


def _places(old: int, new: int, centers: Centers, shift: float = 0.5) -> Array:
    """Where the new pixels lie among the old ones."""
    at = np.arange(new, dtype=np.float32)
    scale = _scale(old, new, centers)
    if centers.half_pixel:
        return (at + _HALF) * scale - np.float32(shift)
    return at * scale


@lru_cache(maxsize=256)
def _nearest(old: int, new: int, centers: Centers) -> Array:
    at = _places(old, new, centers, shift=0)
    whole = np.floor(at + _HALF) if centers.align_corners else np.floor(at)
    return np.clip(whole, 0, old - 1).astype(np.int64)


@lru_cache(maxsize=256)
def _linear(old: int, new: int, centers: Centers) -> tuple[Array, Array, Array]:
    """The two neighbours of each new pixel, and how far the second one counts."""
    at = _places(old, new, centers)
    below = np.floor(at)
    lower = np.maximum(below, 0).astype(np.int64)
    upper = np.minimum(np.ceil(at), old - 1).astype(np.int64)
    return np.minimum(lower, old - 1), upper, at - below


def _cubic_table(a: float) -> Array:
    near = np.arange(_STEPS + 1) / np.float64(_STEPS)
    far = near + 1
    first = ((a + 2) * near - (a + 3)) * near * near + 1
    second = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return np.stack([first, second], 1).astype(np.float32)


@lru_cache(maxsize=256)
def _cubic(old: int, new: int, centers: Centers) -> Array:
    """The matrix of weights: four old pixels for each new one.

    Source: Keys, Cubic convolution interpolation for digital image processing (1981).
    """
    at = _places(old, new, centers)
    below = np.floor(at)
    table = _cubic_table(-0.5 if centers.half_pixel else -0.75)
    step = np.rint((at - below) * _STEPS).astype(np.int64)
    rest = _STEPS - step
    weights = np.stack([table[step, 1], table[step, 0], table[rest, 0], table[rest, 1]], 1)
    places = below.astype(np.int64)[:, None] + np.arange(-1, 3)
    if centers.half_pixel:  # what lies outside does not count
        weights = np.where((places >= 0) & (places < old), weights, np.float32(0))
        total = weights.sum(1, keepdims=True)
        small = np.abs(total) < 1000 * np.finfo(np.float32).tiny
        weights = weights / np.where(small, _ONE, total)
    return _matrix(np.clip(places, 0, old - 1), weights, old)


@lru_cache(maxsize=256)
def _area(old: int, new: int, centers: Centers) -> Array:
    """The matrix of weights: how much of each old pixel a new one covers."""
    scale = _scale(old, new, centers)
    first = (np.arange(new, dtype=np.float32) * scale)[:, None]
    last = (np.arange(1, new + 1, dtype=np.float32) * scale)[:, None]
    widest = int(np.ceil(last - np.floor(first)).max(initial=1))
    pixels = np.floor(first).astype(np.int64) + np.arange(widest + 1)
    low, high = np.maximum(pixels, first), np.minimum(pixels + 1, last)
    weights = np.where(pixels < last, np.maximum(high - low, 0), 0).astype(np.float32)
    return _matrix(np.clip(pixels, 0, old - 1), weights / scale, old)


def _matrix(places: Array, weights: Array, old: int) -> Array:
    out = np.zeros((len(places), old), np.float32)
    np.add.at(out, (np.arange(len(places))[:, None], places), weights)
    return out


def _centers(node: Node) -> Centers:
    return Centers(node.attrs["align_corners"], bool(node.attrs.get("half_pixel_centers")))


def _checked(x: Array, size: Array) -> tuple[int, int]:
    rows, columns = size.tolist()
    if rows <= 0 or columns <= 0:
        raise InvalidArgumentError(f"size must be positive, got {[rows, columns]}")
    if not x.shape[1] or not x.shape[2]:
        raise InvalidArgumentError(f"images must have rows and columns, got {list(x.shape)}")
    return rows, columns


@kernel("ResizeBilinear")
@refusing
def _bilinear(node: Node) -> Callable[..., Any]:
    centers = _centers(node)

    def call(images: Array, size: Array) -> Any:
        rows, columns = _checked(images, size)
        x = images.astype(SINGLE, copy=False)
        if (rows, columns) == x.shape[1:3]:
            return x.copy()
        top, bottom, down = _linear(x.shape[1], rows, centers)
        left, right, across = _linear(x.shape[2], columns, centers)
        by_column = across[:, None]
        first, last = x[:, :, left], x[:, :, right]
        wide = first + (last - first) * by_column
        upper, lower = wide[:, top], wide[:, bottom]
        return upper + (lower - upper) * down[:, None, None]

    return call


@kernel("ResizeNearestNeighbor")
@refusing
def _nearest_neighbor(node: Node) -> Callable[..., Any]:
    centers = _centers(node)

    def call(images: Array, size: Array) -> Array:
        rows, columns = _checked(images, size)
        down = _nearest(images.shape[1], rows, centers)
        across = _nearest(images.shape[2], columns, centers)
        return images[:, down[:, None], across]

    return call


def _separable(weights: Callable[[int, int, Centers], Array]) -> Callable[..., Any]:
    def maker(node: Node) -> Callable[..., Any]:
        centers = _centers(node)

        def call(images: Array, size: Array) -> Any:
            rows, columns = _checked(images, size)
            down = weights(images.shape[1], rows, centers)
            across = weights(images.shape[2], columns, centers)
            return _applied(down, across, images.astype(SINGLE, copy=False))

        return call

    return maker


def _applied(down: Array, across: Array, x: Array) -> Any:
    """Weights of rows, then of columns."""
    batch, rows, columns, depth = x.shape
    if not x.size:
        return np.zeros((batch, len(down), len(across), depth), x.dtype)
    tall = (down @ x.reshape(batch, rows, columns * depth)).reshape(-1, columns, depth)
    return (across @ tall).reshape(batch, len(down), len(across), depth)


kernel("ResizeBicubic")(refusing(_separable(_cubic)))
kernel("ResizeArea")(refusing(_separable(_area)))


def _linear_matrix(old: int, new: int, centers: Centers) -> Array:
    lower, upper, far = _linear(old, new, centers)
    return _matrix(np.stack([lower, upper], 1), np.stack([1 - far, far], 1), old)


def _transposed(weights: Callable[[int, int, Centers], Array]) -> Callable[..., Any]:
    def maker(node: Node) -> Callable[..., Any]:
        centers, dtype = _centers(node), node.attrs["T"].numpy

        def call(grads: Array, original: Array) -> Any:
            if grads.shape[0] != original.shape[0] or grads.shape[3] != original.shape[3]:
                raise InvalidArgumentError(
                    f"grads must have the batch and depth of {list(original.shape)}, got "
                    f"{list(grads.shape)}"
                )
            if not original.size:
                return np.zeros(original.shape, dtype)
            down = weights(original.shape[1], grads.shape[1], centers)
            across = weights(original.shape[2], grads.shape[2], centers)
            return _applied(down.T, across.T, grads).astype(dtype, copy=False)

        return call

    return maker


kernel("ResizeBilinearGrad")(refusing(_transposed(_linear_matrix)))
kernel("ResizeBicubicGrad")(refusing(_transposed(_cubic)))


@kernel("ResizeNearestNeighborGrad")
@refusing
def _nearest_neighbor_grad(node: Node) -> Callable[..., Any]:
    centers = _centers(node)

    def call(grads: Array, size: Array) -> Array:
        rows, columns = _checked(grads, size)
        down = _nearest(rows, grads.shape[1], centers)
        across = _nearest(columns, grads.shape[2], centers)
        batch, _, _, depth = grads.shape
        out = np.zeros((rows, columns, batch, depth), grads.dtype)
        np.add.at(out, (down[:, None], across), grads.transpose(1, 2, 0, 3))
        return np.ascontiguousarray(out.transpose(2, 0, 1, 3))

    return call
