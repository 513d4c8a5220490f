"""The derivative of the CTC loss, which its kernel gives too."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import integers, mul, node
from graphvm.rules.registry import NotDifferentiable, Reverse, Rule, Site


def _loss(site: Site, g: Tensor | None, _: Tensor | None) -> Cotangents:
    if g is None:
        return (None,) * 4
    first = node("PreventGradient", (site.outputs[1],), {"message": _ONCE})
    return mul(node("ExpandDims", (g, integers(-1))), first), None, None, None


_ONCE = b"the CTC loss has a first derivative only"
TABLE: Mapping[str, Rule] = {
    "CTCLoss": Reverse(_loss),
    "CTCGreedyDecoder": NotDifferentiable("of labels"),
}
