"""Ops of neural networks."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import FLOATS, INDICES, NUMBERS, QUANTIZED, REALS, int64, qint8
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define, text, types
from graphvm_runtime.ops.shape_functions import (
    SAME_SHAPES,
    agreed,
    agreeing,
    refused,
    scalar,
    unchanged,
    with_rank,
    with_rank_at_least,
)  # fmt: skip
from graphvm_runtime.shapes import Shape, broadcast, merged_dim, shape_text

FLOAT = types(*FLOATS)
DATA_FORMAT = text(b"NHWC", allowed=(b"NHWC", b"NCHW"))


def channel_axis(data_format: bytes) -> int:
    """The axis of the channels, -1 or 1."""
    return 1 if data_format == b"NCHW" else -1


def _rows(ctx: ShapeContext) -> Sequence[Shape]:
    return (with_rank_at_least(ctx, 0, 1, 1),)


def _bias_add(ctx: ShapeContext) -> Sequence[Shape]:
    channels_first = ctx.attrs["data_format"] == b"NCHW"
    value = with_rank_at_least(ctx, 0, 3 if channels_first else 2, 1)
    (bias,) = with_rank(ctx, 1, 1, 2)
    if value is None:
        return (None,)
    at = 1 if channels_first else len(value) - 1
    try:
        channels = merged_dim(value[at], bias)
    except ShapeError:
        raise refused(f"a bias of {bias} entries for axis {at} of {shape_text(value)}", 2) from None
    return ((*value[:at], channels, *value[at + 1 :]),)


def _bias_add_grad(ctx: ShapeContext) -> Sequence[Shape]:
    channels_first = ctx.attrs["data_format"] == b"NCHW"
    shape = with_rank_at_least(ctx, 0, 3 if channels_first else 2, 1)
    return ((None if shape is None else shape[channel_axis(ctx.attrs["data_format"])],),)


def _cross_entropy(ctx: ShapeContext) -> Sequence[Shape]:
    for shape in ctx.shapes:
        if shape is not None and len(shape) > 2:
            raise refused(f"features and labels are matrices, got {shape_text(shape)}", 1)
    features, labels = ((None, None) if s is None else s for s in ctx.shapes)
    try:
        rows = broadcast(features, labels) or ()
    except ShapeError as error:
        raise refused(error.what, 2, error.do) from None
    if len(rows) != 2:
        raise refused(f"features and labels are matrices, got {shape_text(rows)}", 1)
    return (rows[:1], rows)


def _sparse_cross_entropy(ctx: ShapeContext) -> Sequence[Shape]:
    batch, classes = with_rank(ctx, 0, 2, 1)
    (labels,) = with_rank(ctx, 1, 1, 1)
    (batch,) = agreed([(batch,), (labels,)], 2) or (None,)
    return ((batch,), (batch, classes))


define("Relu", "features: T -> activations: T", {"T": types(*REALS, qint8)}, shape=unchanged)
define("ReluGrad", "gradients: T, features: T -> backprops: T", {"T": types(*REALS)},
       shape=agreeing, constraints=[SAME_SHAPES])  # fmt: skip
define("BiasAdd", "value: T, bias: T -> output: T",
       {"T": types(*NUMBERS, *QUANTIZED), "data_format": DATA_FORMAT}, shape=_bias_add,
       constraints=["C1: value has rank 2 or more, 3 or more for NCHW",
                    "C2: bias is a vector with an entry a channel"])  # fmt: skip
define("BiasAddGrad", "out_backprop: T -> output: T",
       {"T": types(*NUMBERS, *QUANTIZED), "data_format": DATA_FORMAT}, shape=_bias_add_grad,
       constraints=["C1: the input has rank 2 or more, 3 or more for NCHW"])  # fmt: skip
define("Softmax", "logits: T -> softmax: T", {"T": FLOAT}, shape=_rows,
       constraints=["C1: logits have rank 1 or more"])  # fmt: skip
define("LogSoftmax", "logits: T -> logsoftmax: T", {"T": FLOAT}, shape=_rows,
       constraints=["C1: logits have rank 1 or more"])  # fmt: skip
define("SoftmaxCrossEntropyWithLogits", "features: T, labels: T -> loss: T, backprop: T",
       {"T": FLOAT}, shape=_cross_entropy,
       constraints=["C1: features and labels are matrices", "C2: they broadcast"])  # fmt: skip
define("SparseSoftmaxCrossEntropyWithLogits",
       "features: T, labels: Tlabels -> loss: T, backprop: T",
       {"T": FLOAT, "Tlabels": types(*INDICES, default=int64)}, shape=_sparse_cross_entropy,
       constraints=["C1: features are a matrix, labels a vector",
                    "C2: a label a row of the features"])  # fmt: skip
define("L2Loss", "t: T -> output: T", {"T": FLOAT}, shape=scalar)
