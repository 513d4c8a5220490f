"""Derivatives of the array ops; slices, gathers and joins are in `slicing.py`."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.broadcasting import broadcast_like, reduced_like
from graphvm.rules.cotangents import Cotangent, Cotangents
from graphvm.rules.nodes import integers, node, reshape, select, shape_of, total, zeros_like
from graphvm.rules.registry import Linear, NotDifferentiable, Rule, Site, Tangents


def _pass(site: Site, *cotangents: Cotangent) -> Cotangents:
    return cotangents


def _pass_all(site: Site, *cotangents: Cotangent) -> Cotangents:
    # zeros rather than None, as in TensorFlow, for what goes in beside what matters
    return [
        zeros_like(site.inputs[i]) if g is None and want else g
        for i, (g, want) in enumerate(zip(cotangents, site.wanted, strict=True))
    ]


def _reshape(site: Site, g: Tensor) -> Cotangents:
    return reshape(g, shape_of(site.inputs[0])), None


def _resized(site: Site, g: Tensor) -> Cotangents:
    return (reshape(g, shape_of(site.inputs[0])),)


def _fill(site: Site, g: Tensor) -> Cotangents:
    axes = node("Range", (integers(0), node("Rank", (g,)), integers(1)))
    return None, total(g, axes)


def _transpose(site: Site, g: Tensor) -> Cotangents:
    return node("Transpose", (g, node("InvertPermutation", (site.inputs[1],)))), None


def _tile(site: Site, g: Tensor) -> Cotangents:
    shape = shape_of(site.inputs[0])
    multiples = node("Cast", (site.inputs[1],), {"DstT": shape.type.dtype})
    # [m0, s0, m1, s1, ...]: each axis as its copies and its own length
    parts = reshape(node("Pack", ([multiples, shape],), {"axis": 1}), integers([-1]))
    axes = node("Range", (integers(0), node("Size", (parts,)), integers(2)))
    return reshape(total(reshape(g, parts), axes), shape), None


def _broadcast_to(site: Site, g: Tensor) -> Cotangents:
    return reduced_like(g, site, 0), None


def _expand_dims(site: Site, g: Tensor) -> Cotangents:
    return reshape(g, shape_of(site.inputs[0])), None


def _reverse(site: Site, g: Tensor) -> Cotangents:
    return node("ReverseV2", (g, site.inputs[1])), None


def _select(site: Site, g: Tensor) -> Cotangents:
    condition, zeros = site.inputs[0], zeros_like(g)
    _, x, y = site.wanted
    return (
        None,
        node("Select", (condition, g, zeros)) if x else None,
        node("Select", (condition, zeros, g)) if y else None,
    )


def _select_v2(site: Site, g: Tensor) -> Cotangents:
    condition, zeros = site.inputs[0], zeros_like(g)
    _, x, y = site.wanted
    return (
        None,
        reduced_like(select(condition, g, zeros), site, 1) if x else None,
        reduced_like(select(condition, zeros, g), site, 2) if y else None,
    )


def _apply_select(site: Site, tangents: Tangents) -> Tangents:
    _, x, y = tangents
    some = x if x is not None else y
    assert some is not None
    x = zeros_like(some if site.type == "SelectV2" else site.inputs[1]) if x is None else x
    y = zeros_like(some if site.type == "SelectV2" else site.inputs[2]) if y is None else y
    return [broadcast_like(node(site.type, (site.inputs[0], x, y)), site)]


_CONSTANT = NotDifferentiable("has no inputs")
_SHAPES = NotDifferentiable("depends on shapes only")

TABLE: Mapping[str, Rule] = {
    "Const": _CONSTANT,
    "Placeholder": _CONSTANT,
    "PlaceholderWithDefault": Linear(_pass, apply=lambda site, ts: ts, sparse=True),
    "Identity": Linear(_pass, apply=lambda site, ts: ts, sparse=True),
    "IdentityN": Linear(_pass_all, apply=lambda site, ts: ts, sparse=True),
    "StopGradient": NotDifferentiable("declared to be constant"),
    "Shape": _SHAPES,
    "ShapeN": _SHAPES,
    "Size": _SHAPES,
    "Rank": _SHAPES,
    "ZerosLike": _SHAPES,
    "OnesLike": _SHAPES,
    "ConcatOffset": _SHAPES,
    "BroadcastGradientArgs": _SHAPES,
    "Where": NotDifferentiable("gives integers"),
    "InvertPermutation": NotDifferentiable("of integers"),
    "Reshape": Linear(_reshape, [0]),
    "ExpandDims": Linear(_expand_dims, [0]),
    "Squeeze": Linear(_resized),
    "Fill": Linear(_fill, [1]),
    "Transpose": Linear(_transpose, [0]),
    "Tile": Linear(_tile, [0]),
    "BroadcastTo": Linear(_broadcast_to, [0]),
    "ReverseV2": Linear(_reverse, [0]),
    "Select": Linear(_select, [1, 2], _apply_select),
    "SelectV2": Linear(_select_v2, [1, 2], _apply_select),
}
