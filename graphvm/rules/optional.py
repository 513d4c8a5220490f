"""Derivatives of optionals: the cotangent of one is one."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import node, zeros_like
from graphvm.rules.registry import Linear, NotDifferentiable, Rule, Site


def _from_value(site: Site, g: Tensor) -> Cotangents:
    count = len(site.node.inputs)
    types = [site.input_type(i) for i in range(count)]
    attrs = {
        "output_types": tuple(t.dtype.base for t in types),
        "output_shapes": tuple(t.shape for t in types),
    }
    found = node.of("OptionalGetValue", (g,), attrs).outputs
    return [t if want else None for t, want in zip(found, site.wanted, strict=True)]


def _get_value(site: Site, *gs: Tensor | None) -> Cotangents:
    whole = [zeros_like(site.outputs[i]) if g is None else g for i, g in enumerate(gs)]
    return (node("OptionalFromValue", (whole,)),)


TABLE: Mapping[str, Rule] = {
    "OptionalNone": NotDifferentiable("has no inputs"),
    "OptionalHasValue": NotDifferentiable("gives truth values"),
    "OptionalFromValue": Linear(_from_value),
    "OptionalGetValue": Linear(_get_value),
}
