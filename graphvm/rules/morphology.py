"""Derivatives of dilation, as far as TensorFlow has them."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import node
from graphvm.rules.registry import NoRule, Reverse, Rule, Site


def _dilation(site: Site, g: Tensor) -> Cotangents:
    given = (*site.inputs, g)
    return tuple(
        node(f"Dilation2DBackprop{name}", given, site.attrs("T")) if wanted else None
        for name, wanted in zip(("Input", "Filter"), site.wanted, strict=True)
    )


TABLE: Mapping[str, Rule] = {
    "Dilation2D": Reverse(_dilation),
    "Dilation2DBackpropInput": NoRule("TensorFlow has none either"),
    "Dilation2DBackpropFilter": NoRule("TensorFlow has none either"),
}
