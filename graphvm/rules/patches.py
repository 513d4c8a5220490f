"""Derivatives of windows cut out of images: each element goes back to where it comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from graphvm.graph.conversion import constant_node
from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import integers, item, node, reshape, shape_of
from graphvm.rules.registry import Linear, Rule, Site


def _patches(site: Site, g: Tensor) -> Cotangents:
    """Cutting out is a convolution of each channel with filters of one 1 each; its transpose."""
    attrs = site.node.attrs
    rank, sizes = len(attrs["strides"]), attrs["ksizes"][1:-1]
    many, dtype = math.prod(sizes), g.dtype.base
    image, windows = shape_of(site.inputs[0]), shape_of(g)
    last, batch = rank - 1, item(image, 0, 1)
    channels = item(image, last, rank)
    # [batch, windows ..., elements, channels] to [batch * channels, windows ..., elements]
    split = _joined(item(windows, 0, last), integers([many]), channels)
    order = [0, rank, *range(1, rank)]
    g = node("Transpose", (reshape(g, split), integers(order)))
    g = reshape(g, _joined(integers([-1]), item(windows, 1, last), integers([many])))
    alone = node("Mul", (batch, channels))
    filters = constant_node(np.eye(many).reshape(*sizes, 1, many).astype(dtype.numpy), dtype)
    back = node(
        "Conv2DBackpropInput" if rank == 4 else "Conv3DBackpropInputV2",
        (_joined(alone, item(image, 1, last), integers([1])), filters, g),
        {
            "strides": attrs["strides"],
            "padding": attrs["padding"],
            "dilations": attrs.get("rates", (1,) * rank),
        },
    )
    back = reshape(back, _joined(batch, channels, item(image, 1, last)))
    return (node("Transpose", (back, integers([0, *range(2, rank), 1]))),)


def _joined(*vectors: Tensor) -> Tensor:
    return node("ConcatV2", (list(vectors), integers(0)))


TABLE: Mapping[str, Rule] = {
    "ExtractImagePatches": Linear(_patches),
    "ExtractVolumePatches": Linear(_patches),
}
