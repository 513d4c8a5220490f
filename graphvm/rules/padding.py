"""Derivatives of padding: the transpose takes the padding off."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import cast, integers, item, node, shape_of, sub, total, zeros_like
from graphvm.rules.registry import Linear, Rule, Site, Tangents
from graphvm_runtime.dtypes import int32


def _pad(site: Site, g: Tensor) -> Cotangents:
    x, paddings, _ = site.inputs
    before = item(node("Transpose", (paddings, integers([1, 0]))), 0)
    inside = node("Slice", (g, cast(before, int32), shape_of(x)))
    if not site.wanted[2]:
        return inside, None, None
    axes = node("Range", (integers(0), node("Rank", (g,)), integers(1)))
    inner = node("Range", (integers(0), node("Rank", (x,)), integers(1)))
    return inside, None, sub(total(g, axes), total(inside, inner))


def _mirror_pad(site: Site, g: Tensor) -> Cotangents:
    return node("MirrorPadGrad", (g, site.inputs[1]), {"mode": site.node.attrs["mode"]}), None


def _mirror_pad_grad(site: Site, g: Tensor) -> Cotangents:
    return node("MirrorPad", (g, site.inputs[1]), {"mode": site.node.attrs["mode"]}), None


def _apply_pad(site: Site, tangents: Tangents) -> Tangents:
    t, constant = tangents[0], tangents[2]
    x = zeros_like(site.inputs[0]) if t is None else t
    value = zeros_like(site.inputs[2]) if constant is None else constant
    return [node("PadV2", (x, site.inputs[1], value))]


TABLE: Mapping[str, Rule] = {
    "PadV2": Linear(_pad, [0, 2], _apply_pad),
    "MirrorPad": Linear(_mirror_pad, [0]),
    "MirrorPadGrad": Linear(_mirror_pad_grad, [0]),
}
