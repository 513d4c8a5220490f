"""Derivatives of quantization: TensorFlow lets cotangents through as if nothing was rounded."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import node
from graphvm.rules.registry import NoRule, NotDifferentiable, Reverse, Rule, Site


def _attrs(site: Site, *names: str) -> dict[str, object]:
    return {name: site.node.attrs[name] for name in names}


def _args(site: Site, g: Tensor) -> Cotangents:
    attrs = _attrs(site, "min", "max", "num_bits", "narrow_range")
    return (node(f"{site.type}Gradient", (g, site.inputs[0]), attrs),)


def _vars(site: Site, g: Tensor) -> Cotangents:
    attrs = _attrs(site, "num_bits", "narrow_range")
    return node.of(f"{site.type}Gradient", (g, *site.inputs), attrs).outputs


def _straight(site: Site, g: Tensor) -> Cotangents:
    return (g, *(None for _ in site.inputs[1:]))


def _clipped(site: Site, g: Tensor) -> Cotangents:
    back = node.of("QuantizeAndDequantizeV4Grad", (g, *site.inputs), _attrs(site, "axis"))
    return back.outputs


_CONSTANT = NotDifferentiable("declared so by TensorFlow")
TABLE: Mapping[str, Rule] = {
    "FakeQuantWithMinMaxArgs": Reverse(_args, true=False),
    "FakeQuantWithMinMaxArgsGradient": _CONSTANT,
    "FakeQuantWithMinMaxVars": Reverse(_vars, true=False),
    "FakeQuantWithMinMaxVarsGradient": _CONSTANT,
    "FakeQuantWithMinMaxVarsPerChannel": Reverse(_vars, true=False),
    "FakeQuantWithMinMaxVarsPerChannelGradient": _CONSTANT,
    "QuantizeAndDequantizeV2": Reverse(_straight, true=False),
    "QuantizeAndDequantizeV3": Reverse(_straight, true=False),
    "QuantizeAndDequantizeV4": Reverse(_clipped, true=False),
    "QuantizeAndDequantizeV4Grad": NoRule("TensorFlow's own refuses"),
    "QuantizeV2": NoRule("TensorFlow has none"),
    "Dequantize": NoRule("TensorFlow has none"),
}
