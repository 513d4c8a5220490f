"""Fast Fourier transforms, in double precision and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.ops.math.fft import fft_axes

_WIDE = {"f": np.dtype(np.float64), "c": np.dtype(np.complex128)}


def _last(node: Node) -> tuple[int, ...]:
    return tuple(range(-fft_axes(node.op.name), 0))


@kernel("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D")
@refusing
def _fft(node: Node) -> Callable[..., Any]:
    axes, dtype = _last(node), node.attrs["Tcomplex"].numpy
    transform = np.fft.fftn if node.op.name.startswith("F") else np.fft.ifftn

    def call(x: Array) -> Array:
        if not x.size:
            return x.copy()
        return transform(x.astype(np.complex128, copy=False), axes=axes).astype(dtype)

    return call


@kernel("RFFT", "RFFT2D", "RFFT3D", "IRFFT", "IRFFT2D", "IRFFT3D")
@refusing
def _real_fft(node: Node) -> Callable[..., Any]:
    axes = _last(node)
    forward = node.op.name.startswith("R")
    transform = np.fft.rfftn if forward else np.fft.irfftn
    dtype = node.attrs["Tcomplex" if forward else "Treal"].numpy

    def call(x: Array, fft_length: Array) -> Array:
        lengths = fft_length.tolist()
        for i, (axis, length) in enumerate(zip(axes, lengths, strict=True)):
            needed = length if forward or axis != -1 else length // 2 + 1
            if x.shape[axis] < needed and x.size:
                raise InvalidArgumentError(
                    f"the input must have {needed} elements or more along axis {axis} for "
                    f"fft_length[{i}] = {length}, got {x.shape[axis]}"
                )
        last = (lengths[-1] // 2 + 1 if lengths[-1] else 0) if forward else lengths[-1]
        shape = (*x.shape[: x.ndim - len(axes)], *lengths[:-1], last)
        if not x.size or 0 in shape:
            return np.zeros(shape, dtype)
        wide = x.astype(_WIDE[x.dtype.kind], copy=False)
        return transform(wide, lengths, axes).astype(dtype)

    return call
