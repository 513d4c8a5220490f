"""Derivatives of elements rolled along axes and rows put in place."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import neg, node
from graphvm.rules.registry import Linear, NoRule, NotDifferentiable, Rule, Site


def _roll(site: Site, g: Tensor) -> Cotangents:
    _, shift, axis = site.inputs
    return node("Roll", (g, neg(shift), axis)), None, None


_INTEGERS = NotDifferentiable("of integers")
_MISSING = NoRule("TensorFlow has none; use a scatter")

TABLE: Mapping[str, Rule] = {
    "Roll": Linear(_roll, [0]),
    "ParallelConcat": NoRule("TensorFlow has none; use concat"),
    "InplaceAdd": _MISSING,
    "InplaceSub": _MISSING,
    "InplaceUpdate": _MISSING,
    "UnravelIndex": _INTEGERS,
    "DataFormatDimMap": _INTEGERS,
    "DataFormatVecPermute": _INTEGERS,
}
