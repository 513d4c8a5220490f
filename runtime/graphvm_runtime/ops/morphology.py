"""Dilation of images, and its gradients."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import UnimplementedError
from graphvm_runtime.ops.registry import ShapeContext, ShapeFn, define
from graphvm_runtime.ops.shape_functions import refused, with_rank
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.ops.windows import Windows, windows_of
from graphvm_runtime.shapes import Shape


def dilation_windows(attrs: Attrs) -> Windows:
    """The windows that the attributes of a dilation describe.

    Raises:
        ShapeError: attributes are no windows.
        UnimplementedError: the windows slide over batch or channels.
    """
    windows = windows_of(attrs, dilations="rates")
    if attrs["strides"][3] != 1 or attrs["rates"][3] != 1:
        raise UnimplementedError("strides and rates over channels are not supported")
    return windows


def _dilated(ctx: ShapeContext) -> Sequence[Shape]:
    windows = dilation_windows(ctx.attrs)
    batch, rows, columns, channels = with_rank(ctx, 0, 4)
    down, across, deep = with_rank(ctx, 1, 3)
    if None not in (channels, deep) and channels != deep:
        raise refused(f"input and filter must have the same channels, got {channels} and {deep}")
    channels = deep if channels is None else channels
    return ((batch, windows.static(0, rows, down), windows.static(1, columns, across), channels),)


def _like(index: int) -> ShapeFn:
    return lambda ctx: (ctx.shapes[index],)


define("Dilation2D", shape=_dilated)
define("Dilation2DBackpropInput", shape=_like(0))
define("Dilation2DBackpropFilter", shape=_like(1))
