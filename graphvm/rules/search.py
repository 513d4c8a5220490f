"""Derivatives of searches: none but that of the nth element."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import cast, integers, mul, node, total
from graphvm.rules.registry import NoRule, NotDifferentiable, Reverse, Rule, Site


def _nth(site: Site, g: Tensor) -> Cotangents:
    """Equal elements share the cotangent."""
    x, last = site.inputs[0], integers([-1])
    chosen = cast(
        node("Equal", (node("ExpandDims", (site.outputs[0], integers(-1))), x)), g.type.dtype
    )
    count = node("ExpandDims", (total(chosen, last), integers(-1)))
    return mul(node("RealDiv", (chosen, count)), node("ExpandDims", (g, integers(-1)))), None


_INTEGERS = NotDifferentiable("gives integers")
TABLE: Mapping[str, Rule] = {
    **dict.fromkeys(("Bucketize", "HistogramFixedWidth", "LowerBound", "UpperBound"), _INTEGERS),
    **dict.fromkeys(("InTopK", "InTopKV2"), NotDifferentiable("gives truth values")),
    **dict.fromkeys(("Bincount", "DenseBincount"), NoRule("TensorFlow has none")),
    "NthElement": Reverse(_nth),
}
