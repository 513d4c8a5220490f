"""Fast Fourier transforms over the last axes, of complex and of real numbers."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import dims_of, refused, with_rank_at_least
from graphvm_runtime.shapes import Shape, shape_text


def fft_axes(op: str) -> int:
    """How many of the last axes an op transforms."""
    return int(op[-2]) if op.endswith("D") else 1


def _complex(ctx: ShapeContext) -> Sequence[Shape]:
    return (with_rank_at_least(ctx, 0, fft_axes(ctx.op.name)),)


def _real(ctx: ShapeContext) -> Sequence[Shape]:
    """The shape with the last axes as `fft_length` says; half of the last of a spectrum is kept."""
    axes = fft_axes(ctx.op.name)
    shape = with_rank_at_least(ctx, 0, axes)
    lengths = dims_of(ctx, 1)
    if lengths is not None and len(lengths) != axes:
        raise refused(f"fft_length must have {axes} elements, got {shape_text(lengths)}")
    if shape is None:
        return (None,)
    found = list(lengths or (None,) * axes)
    if ctx.op.name.startswith("R") and found[-1] is not None:
        found[-1] = found[-1] // 2 + 1 if found[-1] else 0
    return ((*shape[: len(shape) - axes], *found),)


define("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D", shape=_complex)
define("RFFT", "RFFT2D", "RFFT3D", "IRFFT", "IRFFT2D", "IRFFT3D", shape=_real)
