"""Colours of images: hue, saturation and value, and changes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import SINGLE, widened
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing


def _to_hsv(rgb: Array) -> Array:
    dtype = rgb.dtype.type
    r, g, b = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    value = rgb.max(-1)
    spread = value - rgb.min(-1)
    with np.errstate(all="ignore"):
        saturation = np.where(value > 0, spread / value, dtype(0))
        norm = dtype(1) / (dtype(6) * spread)
        hue = np.where(
            r == value,
            norm * (g - b),
            np.where(g == value, norm * (b - r) + dtype(2 / 6), norm * (r - g) + dtype(4 / 6)),
        )
    hue = np.where(spread > 0, hue, dtype(0))
    return np.stack([np.where(hue < 0, hue + dtype(1), hue), saturation, value], -1)


def _to_rgb(hsv: Array) -> Any:
    dtype = hsv.dtype.type
    h, s, v = hsv[..., 0], hsv[..., 1], hsv[..., 2]
    turns = h * dtype(6)
    shares = np.stack(
        [np.abs(turns - dtype(3)) - dtype(1), dtype(2) - np.abs(turns - dtype(2)),
         dtype(2) - np.abs(turns - dtype(4))], -1,
    )  # fmt: skip
    shares = np.clip(shares, dtype(0), dtype(1))
    return ((dtype(1) - s)[..., None] + s[..., None] * shares) * v[..., None]


@kernel("RGBToHSV", "HSVToRGB")
@refusing
def _converted(node: Node) -> Callable[..., Any]:
    convert = _to_hsv if node.op.name == "RGBToHSV" else _to_rgb
    return widened(convert, node.attrs["T"].numpy)


def _three(images: Array) -> None:
    if images.shape[-1] != 3:
        raise InvalidArgumentError(f"images must have 3 channels, got {list(images.shape)}")


@kernel("AdjustHue")
@refusing
def _adjust_hue(node: Node) -> Callable[..., Any]:
    def call(images: Array, delta: Array) -> Any:
        _three(images)
        hsv = _to_hsv(images)
        hsv[..., 0] = np.mod(hsv[..., 0] + np.float32(delta), np.float32(1))
        return _to_rgb(hsv)

    return widened(call, node.attrs["T"].numpy)


@kernel("AdjustSaturation")
@refusing
def _adjust_saturation(node: Node) -> Callable[..., Any]:
    def call(images: Array, scale: Array) -> Any:
        _three(images)
        hsv = _to_hsv(images)
        hsv[..., 1] = np.clip(hsv[..., 1] * np.float32(scale), 0, 1)
        return _to_rgb(hsv)

    return widened(call, node.attrs["T"].numpy)


def _contrasted(images: Array, factor: Array) -> Any:
    x = images.astype(SINGLE, copy=False)
    if not x.size:
        return x.copy()
    mean = x.mean((-3, -2), keepdims=True, dtype=SINGLE)
    return (x - mean) * np.float32(factor) + mean


@kernel("AdjustContrastv2")
@refusing
def _adjust_contrast(node: Node) -> Callable[..., Any]:
    return widened(_contrasted, node.attrs["T"].numpy)


@kernel("AdjustContrast")
@refusing
def _adjust_contrast_within(node: Node) -> Callable[..., Any]:
    return lambda images, factor, least, most: np.clip(_contrasted(images, factor), least, most)
