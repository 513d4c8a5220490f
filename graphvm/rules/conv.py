"""Derivatives of convolutions: each of the three ops is bilinear, and the others are its own."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.nodes import node, shape_of
from graphvm.rules.registry import Bilinear, NoRule, Rule, Site


def _family(forward: str, to_input: str, to_filter: str) -> dict[str, Rule]:
    def by_input(site: Site, image: Tensor, kernel: Tensor, g: Tensor) -> Tensor:
        return node(to_input, (shape_of(image), kernel, g), site.attrs("T"))

    def by_filter(site: Site, image: Tensor, kernel: Tensor, g: Tensor) -> Tensor:
        return node(to_filter, (image, shape_of(kernel), g), site.attrs("T"))

    def again(site: Site, image: Tensor, kernel: Tensor) -> Tensor:
        return node(forward, (image, kernel), site.attrs("T"))

    return {
        forward: Bilinear(
            lambda s, g: by_input(s, s.inputs[0], s.inputs[1], g),
            lambda s, g: by_filter(s, s.inputs[0], s.inputs[1], g),
        ),
        to_input: Bilinear(
            lambda s, g: by_filter(s, g, s.inputs[1], s.inputs[2]),
            lambda s, g: again(s, g, s.inputs[1]),
            places=(1, 2),
        ),
        to_filter: Bilinear(
            lambda s, g: by_input(s, s.inputs[0], g, s.inputs[2]),
            lambda s, g: again(s, s.inputs[0], g),
            places=(0, 2),
        ),
    }


TABLE: Mapping[str, Rule] = {
    **_family("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
    **_family("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
    **_family(
        "DepthwiseConv2dNative",
        "DepthwiseConv2dNativeBackpropInput",
        "DepthwiseConv2dNativeBackpropFilter",
    ),
    "FusedPadConv2D": NoRule("made of graphs that are no longer trained"),
}
