"""Windows cut out of images and volumes."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import UnimplementedError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import product, with_rank
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.ops.windows import Windows, windows_of
from graphvm_runtime.shapes import Shape


def patch_windows(attrs: Attrs) -> tuple[Windows, tuple[int, ...]]:
    """The windows that are cut out, and their sizes.

    Raises:
        ShapeError: attributes are no windows.
        UnimplementedError: the windows span or slide over batch or channels.
    """
    windows = windows_of(attrs, "ksizes", "rates")
    for name in ("ksizes", "strides", "rates"):
        if attrs.get(name, (1,))[-1] != 1:
            raise UnimplementedError("windows over channels are not supported")
    return windows, tuple(attrs["ksizes"][1:-1])


def _patches(ctx: ShapeContext) -> Sequence[Shape]:
    windows, sizes = patch_windows(ctx.attrs)
    batch, *spatial, channels = with_rank(ctx, 0, len(windows.layout))
    counts = (windows.static(i, d, sizes[i]) for i, d in enumerate(spatial))
    return ((batch, *counts, product((*sizes, channels))),)


define("ExtractImagePatches", "ExtractVolumePatches", shape=_patches)
