"""Batch normalization in one op, and its gradient."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, with_rank
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import Shape


def channel_axis(attrs: Attrs) -> int:
    """The axis of channels."""
    layout: bytes = attrs["data_format"]
    return layout.index(b"C")


def _channels(ctx: ShapeContext, images: Sequence[int], vectors: Sequence[int]) -> Shape:
    """The vector of channels that images and vectors have; all images have one shape."""
    axis, rank = channel_axis(ctx.attrs), len(ctx.attrs["data_format"])
    whole = agreed([with_rank(ctx, i, rank) for i in images]) or (None,) * rank
    return agreed([(whole[axis],), *(with_rank(ctx, i, 1) for i in vectors)])


def _normalized(ctx: ShapeContext) -> Sequence[Shape]:
    # mean and variance may be empty where they are not looked at
    unused = ctx.attrs["is_training"] and ctx.attrs["exponential_avg_factor"] == 1
    channels = _channels(ctx, [0], range(1, 3 if unused else 5))
    for i in (3, 4):
        with_rank(ctx, i, 1)
    shape, axis = list(with_rank(ctx, 0, len(ctx.attrs["data_format"]))), channel_axis(ctx.attrs)
    shape[axis] = None if channels is None else channels[0]
    found: list[Shape] = [tuple(shape), channels, channels, channels, channels]
    return [*found, None][: len(ctx.op.outputs)]


def _gradient(ctx: ShapeContext) -> Sequence[Shape]:
    channels = _channels(ctx, [0, 1], [2, 3, 4])
    shape = agreed([ctx.shapes[0], ctx.shapes[1]])
    return (shape, channels, channels, (0,), (0,))


define("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", shape=_normalized)
define("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", shape=_gradient)
