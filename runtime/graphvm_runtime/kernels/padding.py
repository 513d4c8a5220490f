"""Padding with a constant, or with what lies at the edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing


def pairs_of(paddings: Array) -> list[tuple[int, int]]:
    """Paddings before and after each axis. Raises InvalidArgumentError for negative ones."""
    if (paddings < 0).any():
        raise InvalidArgumentError(f"paddings must not be negative, got {paddings.tolist()}")
    return [(before, after) for before, after in paddings.tolist()]


@kernel("PadV2")
@refusing
def _pad(node: Node) -> Callable[..., Any]:
    def call(x: Array, paddings: Array, constant: Array) -> Array:
        pairs = pairs_of(paddings)
        shape = [b + d + a for (b, a), d in zip(pairs, x.shape, strict=True)]
        out = np.full(shape, constant, x.dtype)
        out[tuple(slice(b, b + d) for (b, _), d in zip(pairs, x.shape, strict=True))] = x
        return out

    return call


@kernel("MirrorPad")
@refusing
def _mirror_pad(node: Node) -> Callable[..., Any]:
    mode = "reflect" if node.attrs["mode"] == b"REFLECT" else "symmetric"

    def call(x: Array, paddings: Array) -> Array:
        if not x.ndim:
            return x.copy()
        return np.pad(x, pairs_of(paddings), mode)  # type: ignore[call-overload,no-any-return]  # one of two

    return call


@kernel("MirrorPadGrad")
@refusing
def _mirror_pad_grad(node: Node) -> Callable[..., Any]:
    edge = 1 if node.attrs["mode"] == b"REFLECT" else 0

    def call(x: Array, paddings: Array) -> Array:
        out = x.copy()
        for axis, (before, after) in enumerate(pairs_of(paddings)):
            along = np.moveaxis(out, axis, 0)
            size = len(along) - before - after
            inner = along[before : before + size].copy()
            inner[edge : edge + before] += along[:before][::-1]
            if after:
                inner[size - edge - after : size - edge] += along[before + size :][::-1]
            out = np.moveaxis(inner, 0, axis)
        return np.ascontiguousarray(out)

    return call
