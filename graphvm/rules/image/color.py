"""Derivatives of colours: TensorFlow has that of hue, saturation and value only."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import cast, constant, mul, neg, node, select, sub, zeros_like
from graphvm.rules.registry import NoRule, Reverse, Rule, Site


def _to_hsv(site: Site, g: Tensor) -> Cotangents:
    """By the channel that is the greatest, which value and hue follow, and the least."""
    rgb, hsv = site.inputs[0], site.outputs[0]
    r, g_, b = node.of("Unpack", (rgb,), {"num": 3, "axis": -1}).outputs
    _, s, v = node.of("Unpack", (hsv,), {"num": 3, "axis": -1}).outputs
    by_h, by_s, by_v = node.of("Unpack", (g,), {"num": 3, "axis": -1}).outputs
    spread = mul(s, v)

    def at(one: Tensor, other: Tensor, strict: bool) -> Tensor:
        return node("Greater" if strict else "GreaterEqual", (one, other))

    def both(x: Tensor, y: Tensor) -> Tensor:
        return node("LogicalAnd", (x, y))

    r_most = both(at(r, g_, False), at(r, b, False))
    g_most = both(at(g_, r, True), at(g_, b, False))
    b_most = both(at(b, r, True), at(b, g_, True))
    r_least = both(at(g_, r, True), at(b, r, True))
    g_least = both(at(r, g_, False), at(b, g_, True))
    b_least = both(at(r, b, False), at(g_, b, False))
    zero, one = zeros_like(r), constant(1, r)
    ratio = node("DivNoNan", (one, v))
    # saturation is 1 - least / most
    by_most = node("DivNoNan", (sub(v, spread), mul(v, v)))
    # hue is (x - y) / (6 spread) beside the greatest channel
    sixth = node("DivNoNan", (constant(1 / 6, r), spread))
    parts = {"r": (r, r_most, r_least), "g": (g_, g_most, g_least), "b": (b, b_most, b_least)}
    order = {"r": ("g", "b"), "g": ("b", "r"), "b": ("r", "g")}
    out = []
    for name, (_, most, least) in parts.items():
        total = mul(by_v, cast(most, r.type.dtype))
        by_saturation = sub(select(most, by_most, zero), select(least, ratio, zero))
        total = node("AddV2", (total, mul(by_s, by_saturation)))
        for top, (x, y) in order.items():
            is_top = parts[top][1]
            difference = sub(parts[x][0], parts[y][0])
            slope = node("DivNoNan", (mul(difference, sixth), spread))
            sign = (name == x) - (name == y)
            direct = sixth if sign == 1 else neg(sixth) if sign == -1 else zero
            spreads = sub(cast(most, r.type.dtype), cast(least, r.type.dtype))
            hue = sub(direct, mul(slope, spreads))
            total = node("AddV2", (total, select(is_top, mul(by_h, hue), zero)))
        out.append(total)
    return (node("Pack", (out,), {"axis": -1}),)


TABLE: Mapping[str, Rule] = {
    "RGBToHSV": Reverse(_to_hsv),
    **dict.fromkeys(
        ("HSVToRGB", "AdjustContrast", "AdjustContrastv2", "AdjustHue", "AdjustSaturation"),
        NoRule("TensorFlow has none"),
    ),
}
