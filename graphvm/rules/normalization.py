"""Derivatives of batch normalization to second order.

With r = 1 / sqrt(variance + epsilon), u = (x - mean) r and M the mean over all but the channels,
the gradient by x is scale r (dy - M dy - u M(dy u)) in training, scale r dy otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import add, cast, constant, integers, mul, neg, node, sub, total
from graphvm.rules.registry import Reverse, Rule, Site
from graphvm_runtime.dtypes import float32


def _attrs(site: Site) -> dict[str, Any]:
    return {k: site.node.attrs[k] for k in ("epsilon", "data_format", "is_training")}


def _pull(site: Site, g: Tensor | None, *looked_at: Tensor | None) -> Cotangents:
    """Mean and variance are outputs to look at: nothing comes back through them."""
    if g is None:
        return [None] * 5
    x, scale, _, mean, variance = site.inputs
    if site.node.attrs["is_training"]:
        mean, variance = site.outputs[3:5]
    suffix = site.type.removeprefix("FusedBatchNorm")
    rest = site.outputs[5:]
    back = node.of(f"FusedBatchNormGrad{suffix}", (g, x, scale, mean, variance, *rest),
                   _attrs(site))  # fmt: skip
    return [*back.outputs[:3], None, None]


class _Parts:
    """What both derivatives of the gradient are made of, with channels last and in float32."""

    def __init__(self, site: Site) -> None:
        self.layout: bytes = site.node.attrs["data_format"]
        rank = len(self.layout)
        self.axes = integers(list(range(rank - 1)))
        dy, x, scale, mean, variance = site.inputs[:5]
        self.dy, self.x, self.scale = self.last(dy), self.last(x), scale
        size = cast(node("Size", (self.x,)), float32)
        channels = cast(node("Size", (scale,)), float32)
        self.count = node("RealDiv", (size, channels))
        if site.node.attrs["is_training"]:
            mean = self.mean(self.x)
            variance = self.mean(node("Square", (sub(self.x, mean),)))
        epsilon = constant(site.node.attrs["epsilon"], variance)
        self.r = node("Rsqrt", (add([variance, epsilon]),))
        self.u = mul(sub(self.x, mean), self.r)

    def last(self, x: Tensor) -> Tensor:
        """Images with channels last, in float32."""
        wide = cast(x, float32)
        return wide if self.layout[-1:] == b"C" else node("Transpose", (wide, self._order(True)))

    def back(self, x: Tensor, like: Tensor) -> Tensor:
        """Images in the layout and the type of others."""
        moved = x if self.layout[-1:] == b"C" else node("Transpose", (x, self._order(False)))
        return cast(moved, like.type.dtype)

    def _order(self, to_last: bool) -> Tensor:
        rank = len(self.layout)
        if to_last:
            return integers([0, *range(2, rank), 1])
        return integers([0, rank - 1, *range(1, rank - 1)])

    def sum(self, x: Tensor) -> Tensor:
        """Sums over all but the channels."""
        return total(x, self.axes)

    def mean(self, x: Tensor) -> Tensor:
        """Means over all but the channels."""
        return node("Mean", (x, self.axes))

    def centred(self, x: Tensor) -> Tensor:
        """`x - M x - u M(x u)`, which is its own transpose."""
        return sub(sub(x, self.mean(x)), mul(self.u, self.mean(mul(x, self.u))))


def _pull_gradient(site: Site, *gs: Tensor | None) -> Cotangents:
    p = _Parts(site)
    dy, scale, r, u = p.dy, p.scale, p.r, p.u
    gx, gs_, gb = gs[0], gs[1], gs[2]
    training = site.node.attrs["is_training"]
    by_dy: list[Tensor] = []
    by_x: list[Tensor] = []
    by_scale: Tensor | None = None
    if gx is not None:
        g = p.last(gx)
        inner = p.centred(dy) if training else dy
        by_dy.append(mul(mul(scale, r), p.centred(g) if training else g))
        by_scale = mul(r, p.sum(mul(g, inner)))
        if training:
            # through u, and through r beside it
            scaled = mul(scale, r)
            through_u = neg(mul(scaled, add([mul(g, p.mean(mul(dy, u))),
                                             mul(dy, p.mean(mul(g, u)))])))  # fmt: skip
            by_x.append(mul(r, p.centred(through_u)))
            by_r = mul(scale, p.sum(mul(g, inner)))
            by_x.append(neg(node("RealDiv", (mul(mul(by_r, node("Square", (r,))), u), p.count))))
    if gs_ is not None:
        by_dy.append(mul(gs_, u))
        through_u = mul(gs_, dy)
        by_x.append(mul(r, p.centred(through_u) if training else through_u))
    if gb is not None:
        by_dy.append(node("BroadcastTo", (gb, node("Shape", (dy,)))))
    y_backprop, x = site.inputs[:2]
    rest: list[Tensor | None] = [None] * (len(site.node.inputs) - 3)
    return [
        p.back(add(by_dy), y_backprop) if by_dy else None,
        p.back(add(by_x), x) if by_x else None,
        by_scale,
        *rest,
    ]


TABLE: Mapping[str, Rule] = {
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), Reverse(_pull)),
    **dict.fromkeys(
        ("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"),
        Reverse(_pull_gradient),
    ),
}
