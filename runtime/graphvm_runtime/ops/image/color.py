"""Colours of images."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, with_rank, with_rank_at_least
from graphvm_runtime.shapes import Shape


def _three_colours(ctx: ShapeContext) -> Sequence[Shape]:
    shape = with_rank_at_least(ctx, 0, 1)
    if shape is None:
        return (None,)
    last = agreed([shape[-1:], (3,)]) or (3,)
    return ((*shape[:-1], *last),)


def _adjusted(ctx: ShapeContext) -> Sequence[Shape]:
    for i in range(1, len(ctx.shapes)):
        with_rank(ctx, i, 0)
    return (with_rank_at_least(ctx, 0, 3),)


define("HSVToRGB", "RGBToHSV", shape=_three_colours)
define("AdjustContrast", "AdjustContrastv2", "AdjustHue", "AdjustSaturation", shape=_adjusted)
