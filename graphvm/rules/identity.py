"""Derivatives of tensors handed on as they are."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import node
from graphvm.rules.registry import Linear, NotDifferentiable, Rule, Site


def _pass(site: Site, g: Tensor) -> Cotangents:
    return (g,)


def _checked(site: Site, g: Tensor) -> Cotangents:
    said = site.node.attrs["message"]
    message = b"Not a number (NaN) or infinity (Inf) values detected in gradient. " + said
    return (node("CheckNumerics", (g,), {"message": message}),)


_IDENTITY = Linear(_pass, apply=lambda site, tangents: tangents)

TABLE: Mapping[str, Rule] = {
    "Bitcast": NotDifferentiable("of bits"),
    "CheckNumerics": Linear(_checked, apply=lambda site, tangents: tangents),
    "DebugGradientIdentity": _IDENTITY,
    "DeepCopy": _IDENTITY,
    "Empty": NotDifferentiable("has no numbers"),
    "EnsureShape": _IDENTITY,
    "GuaranteeConst": _IDENTITY,
    "Snapshot": _IDENTITY,
}
