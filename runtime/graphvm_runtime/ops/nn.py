"""Ops of neural networks."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    agreeing,
    refused,
    scalar,
    unchanged,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Shape, broadcast, merged_dim, shape_text


def channel_axis(data_format: bytes) -> int:
    """The axis of the channels, -1 or 1."""
    return 1 if data_format == b"NCHW" else -1


def _rows(ctx: ShapeContext) -> Sequence[Shape]:
    return (with_rank_at_least(ctx, 0, 1),)


def _bias_add(ctx: ShapeContext) -> Sequence[Shape]:
    channels_first = ctx.attrs["data_format"] == b"NCHW"
    value = with_rank_at_least(ctx, 0, 3 if channels_first else 2)
    (bias,) = with_rank(ctx, 1, 1)
    if value is None:
        return (None,)
    at = 1 if channels_first else len(value) - 1
    try:
        channels = merged_dim(value[at], bias)
    except ShapeError:
        raise refused(f"a bias of {bias} entries for axis {at} of {shape_text(value)}") from None
    return ((*value[:at], channels, *value[at + 1 :]),)


def _bias_add_grad(ctx: ShapeContext) -> Sequence[Shape]:
    channels_first = ctx.attrs["data_format"] == b"NCHW"
    shape = with_rank_at_least(ctx, 0, 3 if channels_first else 2)
    return ((None if shape is None else shape[channel_axis(ctx.attrs["data_format"])],),)


def _cross_entropy(ctx: ShapeContext) -> Sequence[Shape]:
    for shape in ctx.shapes:
        if shape is not None and len(shape) > 2:
            raise refused(f"features and labels are matrices, got {shape_text(shape)}")
    features, labels = ((None, None) if s is None else s for s in ctx.shapes)
    try:
        rows = broadcast(features, labels) or ()
    except ShapeError as error:
        raise refused(error.what, error.do) from None
    if len(rows) != 2:
        raise refused(f"features and labels are matrices, got {shape_text(rows)}")
    return (rows[:1], rows)


def _sparse_cross_entropy(ctx: ShapeContext) -> Sequence[Shape]:
    batch, classes = with_rank(ctx, 0, 2)
    (labels,) = with_rank(ctx, 1, 1)
    (batch,) = agreed([(batch,), (labels,)]) or (None,)
    return ((batch,), (batch, classes))


define("Relu", shape=unchanged)
define("ReluGrad", shape=agreeing)
define("BiasAdd", shape=_bias_add)
define("BiasAddGrad", shape=_bias_add_grad)
define("Softmax", shape=_rows)
define("LogSoftmax", shape=_rows)
define("SoftmaxCrossEntropyWithLogits", shape=_cross_entropy)
define("SparseSoftmaxCrossEntropyWithLogits", shape=_sparse_cross_entropy)
define("L2Loss", shape=scalar)
