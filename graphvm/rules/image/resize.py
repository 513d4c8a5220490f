"""Derivatives of resized images: resizing is linear, and its transposes are ops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import cast, item, node, shape_of
from graphvm.rules.registry import Linear, NoRule, Rule, Site


def _centers(site: Site) -> dict[str, Any]:
    return {name: site.node.attrs[name] for name in ("align_corners", "half_pixel_centers")}


def _interpolated(site: Site, g: Tensor) -> Cotangents:
    images = site.inputs[0]
    back = node(f"{site.type}Grad", (g, images), _centers(site))
    return cast(back, images.type.dtype), None


def _interpolated_back(site: Site, g: Tensor) -> Cotangents:
    size = item(shape_of(site.inputs[0]), 1, 3)
    return node(site.type.removesuffix("Grad"), (g, size), _centers(site)), None


def _nearest(site: Site, g: Tensor) -> Cotangents:
    other = "ResizeNearestNeighbor" if site.type.endswith("Grad") else "ResizeNearestNeighborGrad"
    return node(other, (g, item(shape_of(site.inputs[0]), 1, 3)), _centers(site)), None


TABLE: Mapping[str, Rule] = {
    "ResizeBilinear": Linear(_interpolated, [0]),
    "ResizeBicubic": Linear(_interpolated, [0]),
    "ResizeBilinearGrad": Linear(_interpolated_back, [0]),
    "ResizeBicubicGrad": Linear(_interpolated_back, [0]),
    "ResizeNearestNeighbor": Linear(_nearest, [0]),
    "ResizeNearestNeighborGrad": Linear(_nearest, [0]),
    "ResizeArea": NoRule("TensorFlow has none"),
}
