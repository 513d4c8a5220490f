"""Derivatives of pools: a maximum hands on what belongs to its first largest element."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphvm.graph.conversion import constant_node
from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents, dense
from graphvm.rules.nodes import integers, node, select, shape_of, zeros_like
from graphvm.rules.registry import Both, Linear, Rule, Site, Tangents, Transform


def _spread(site: Site, g: Tensor) -> Tensor:
    """What belongs to the maxima, at the places that they come from."""
    x, y = site.inputs[0], site.outputs[0] if len(site.inputs) == 1 else site.inputs[1]
    return node("MaxPoolGrad", (x, y, g), site.attrs("T"))


def _picked(site: Site, t: Tensor) -> Tensor:
    """What lies at the places that the maxima come from."""
    x, y = site.inputs[0], site.outputs[0] if len(site.inputs) == 1 else site.inputs[1]
    attrs = site.attrs("T", "explicit_paddings")
    if attrs["padding"] == b"EXPLICIT":  # which this op does not take: pad first
        pads = integers(np.reshape(site.node.attrs["explicit_paddings"], (4, 2)))
        inside = node("Pad", (node("OnesLike", (x,)), pads))
        inside = node("Greater", (inside, zeros_like(inside)))
        x = select(inside, node("Pad", (x, pads)), _least(x))
        t = node("Pad", (t, pads))
        attrs["padding"] = b"VALID"
    return node("MaxPoolGradGrad", (x, y, t), attrs)


def _least(x: Tensor) -> Tensor:
    dtype = x.dtype.base
    return constant_node(np.array(dtype.min, dtype.numpy), dtype)


def _pull_max(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    return (_spread(site, dense(cotangents[0])),)


def _push_max(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    (t,) = tangents
    return [None if t is None else _picked(site, t)]


def _pull_spread(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    g = dense(cotangents[0])
    return (
        *(zeros_like(site.inputs[i]) if site.wanted[i] else None for i in (0, 1)),
        _picked(site, g) if site.wanted[2] else None,
    )


def _push_spread(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    t = tangents[2]
    return [None if t is None else _spread(site, t)]


def _pull_picked(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    g = dense(cotangents[0])
    return (
        *(zeros_like(site.inputs[i]) if site.wanted[i] else None for i in (0, 1)),
        _spread(site, g) if site.wanted[2] else None,
    )


def _push_picked(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    t = tangents[2]
    return [None if t is None else _picked(site, t)]


def _pull_average(site: Site, g: Tensor) -> Cotangents:
    return (node("AvgPoolGrad", (shape_of(site.inputs[0]), g), site.attrs("T")),)


def _pull_average_grad(site: Site, g: Tensor) -> Cotangents:
    return None, node("AvgPool", (g,), site.attrs("T"))


TABLE: Mapping[str, Rule] = {
    "MaxPool": Both(_pull_max, _push_max),
    "MaxPoolGrad": Both(_pull_spread, _push_spread),
    "MaxPoolGradGrad": Both(_pull_picked, _push_picked),
    "AvgPool": Linear(_pull_average),
    "AvgPoolGrad": Linear(_pull_average_grad, [1]),
}
