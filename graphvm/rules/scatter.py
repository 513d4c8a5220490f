"""Derivatives of rows and slices that are replaced, added to or compared with updates."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import cast, mul, neg, node, zeros_like
from graphvm.rules.registry import Linear, Reverse, Rule, Site, Tangents


def _policy(site: Site) -> dict[str, object]:
    return {"bad_indices_policy": site.node.attrs["bad_indices_policy"]}


def _taken(site: Site, x: Tensor) -> Tensor:
    return node("GatherNd", (x, site.inputs[1]), _policy(site))


def _update(site: Site, g: Tensor) -> Cotangents:
    zeros = zeros_like(site.inputs[2])
    kept = node("TensorScatterUpdate", (g, site.inputs[1], zeros), _policy(site))
    return kept, None, _taken(site, g)


def _add(site: Site, g: Tensor) -> Cotangents:
    return g, None, _taken(site, g)


def _subtract(site: Site, g: Tensor) -> Cotangents:
    return g, None, neg(_taken(site, g))


def _extreme(site: Site, g: Tensor) -> Cotangents:
    """Equal candidates share the cotangent."""
    tensor, indices, updates = site.inputs
    out = site.outputs[0]
    ours = cast(node("Equal", (tensor, out)), g.type.dtype)
    theirs = cast(node("Equal", (updates, _taken(site, out))), g.type.dtype)
    count = node("TensorScatterAdd", (ours, indices, theirs), _policy(site))
    share = node("RealDiv", (g, count))
    return mul(share, ours), None, mul(_taken(site, share), theirs)


def _slice_update(site: Site, g: Tensor) -> Cotangents:
    bounds = site.inputs[1:4]
    masks = {k: v for k, v in site.node.attrs.items() if k.endswith("_mask")}
    kept = node("TensorStridedSliceUpdate", (g, *bounds, zeros_like(site.inputs[4])), masks)
    return kept, None, None, None, node("StridedSlice", (g, *bounds), masks)


def _filled(site: Site, tangents: Tangents) -> Tangents:
    inputs = [
        x if i not in (0, len(tangents) - 1) else zeros_like(x) if t is None else t
        for i, (x, t) in enumerate(zip(site.inputs, tangents, strict=True))
    ]
    attrs = {k: v for k, v in site.node.attrs.items() if k.endswith(("_mask", "_policy"))}
    return [node(site.type, inputs, attrs)]


TABLE: Mapping[str, Rule] = {
    "TensorScatterUpdate": Linear(_update, apply=_filled),
    "TensorScatterAdd": Linear(_add, apply=_filled),
    "TensorScatterSub": Linear(_subtract, apply=_filled),
    "TensorScatterMax": Reverse(_extreme),
    "TensorScatterMin": Reverse(_extreme),
    "ScatterNdNonAliasingAdd": Linear(_add, apply=_filled),
    "TensorStridedSliceUpdate": Linear(_slice_update, apply=_filled),
}
