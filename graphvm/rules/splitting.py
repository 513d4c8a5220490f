"""Derivatives of ops that cut an array into parts, and that reverse the parts of a batch."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import node, zeros_like
from graphvm.rules.registry import Linear, Rule, Site


def _joined(site: Site, axis: Tensor, gs: Cotangents) -> Tensor:
    """Cotangents of parts, one after the other; zeros where a part has none."""
    whole = [zeros_like(site.outputs[i]) if g is None else g for i, g in enumerate(gs)]
    if len(whole) == 1:
        return node("Identity", (whole[0],))
    return node("ConcatV2", (whole, axis))


def _split(site: Site, *gs: Tensor | None) -> Cotangents:
    return None, _joined(site, site.inputs[0], gs)


def _split_v(site: Site, *gs: Tensor | None) -> Cotangents:
    return _joined(site, site.inputs[2], gs), None, None


def _reverse_sequence(site: Site, g: Tensor) -> Cotangents:
    attrs = {n: site.node.attrs[n] for n in ("seq_dim", "batch_dim")}
    return node("ReverseSequence", (g, site.inputs[1]), attrs), None


TABLE: Mapping[str, Rule] = {
    "Split": Linear(_split, [1]),
    "SplitV": Linear(_split_v, [0]),
    "ReverseSequence": Linear(_reverse_sequence, [0]),
}
