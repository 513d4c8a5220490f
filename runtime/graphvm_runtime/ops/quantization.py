"""Numbers as small integers between two ends, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import (
    agreed,
    agreeing,
    refused,
    unchanged,
    with_rank,
    with_rank_at_least,
)
from graphvm_runtime.shapes import Shape

_Parts = tuple[Shape, Shape]


def _by_axis(ctx: ShapeContext, low: int) -> _Parts:
    """Shapes of the numbers and of their ends, which are inputs `low` and the one after it."""
    axis: int = ctx.attrs["axis"]
    if axis < -1:
        raise refused(f"axis must be at least -1, got {axis}")
    x = agreed(ctx.shapes[:low])
    if axis == -1:
        with_rank(ctx, low, 0)
        with_rank(ctx, low + 1, 0)
        return x, ()
    ends = agreed([with_rank(ctx, low, 1), with_rank(ctx, low + 1, 1)])
    if x is None:
        return x, ends
    if axis >= len(x):
        raise refused(f"axis must be below the rank {len(x)}, got {axis}")
    ends = agreed([ends, x[axis : axis + 1]])
    return (*x[:axis], *(ends or ()), *x[axis + 1 :]), ends


def _one(ctx: ShapeContext) -> Sequence[Shape]:
    if ctx.op.name == "QuantizeAndDequantizeV3":
        with_rank(ctx, 3, 0)
    return (_by_axis(ctx, 1)[0],)


def _with_ends(low: int) -> Callable[[ShapeContext], Sequence[Shape]]:
    def shape(ctx: ShapeContext) -> Sequence[Shape]:
        x, ends = _by_axis(ctx, low)
        return x, ends, ends

    return shape


def _fake(ctx: ShapeContext) -> Sequence[Shape]:
    back = ctx.op.name.endswith("Gradient")
    x = agreed(ctx.shapes[: 1 + back])
    low, high = 1 + back, 2 + back
    if "PerChannel" not in ctx.op.name:
        with_rank(ctx, low, 0)
        with_rank(ctx, high, 0)
        ends: Shape = ()
    else:
        with_rank_at_least(ctx, 0, 1)
        channels = (None,) if x is None else x[-1:]
        ends = agreed([with_rank(ctx, low, 1), with_rank(ctx, high, 1), channels])
        x = None if x is None else (*x[:-1], *(ends or ()))
    return (x, ends, ends) if back else (x,)


define("FakeQuantWithMinMaxArgs", shape=unchanged)
define("FakeQuantWithMinMaxArgsGradient", shape=agreeing)
define(
    "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsGradient",
    "FakeQuantWithMinMaxVarsPerChannel", "FakeQuantWithMinMaxVarsPerChannelGradient",
    shape=_fake,
)  # fmt: skip
define(
    "Dequantize", "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4",
    shape=_one,
)  # fmt: skip
define("QuantizeAndDequantizeV4Grad", shape=_with_ends(2))
define("QuantizeV2", shape=_with_ends(1))
