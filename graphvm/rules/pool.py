"""Derivatives of pools: a maximum hands on what belongs to its first largest element."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from graphvm.graph.conversion import constant_node
from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents, dense
from graphvm.rules.nodes import integers, node, select, shape_of, zeros_like
from graphvm.rules.registry import Both, Linear, Rule, Site, Tangents, Transform


class _Maxima:
    """Derivatives of one kind of maximum, whose gradient and its gradient are each other's.

    Args:
        ops: the pool, its gradient, and the gradient of that.
    """

    def __init__(self, *ops: str) -> None:
        self.pool, self.to_input, self.to_output = ops

    def spread(self, site: Site, g: Tensor) -> Tensor:
        """What belongs to the maxima, at the places that they come from."""
        x, y, windows = self._parts(site)
        return node(self.to_input, (x, y, g, *windows), site.attrs("T", "TInput"))

    def picked(self, site: Site, t: Tensor) -> Tensor:
        """What lies at the places that the maxima come from."""
        x, y, windows = self._parts(site)
        attrs = site.attrs("T", "TInput", "explicit_paddings")
        if attrs["padding"] == b"EXPLICIT":  # which this op does not take: pad first
            pads = integers(np.reshape(site.node.attrs["explicit_paddings"], (4, 2)))
            inside = node("Pad", (node("OnesLike", (x,)), pads))
            inside = node("Greater", (inside, zeros_like(inside)))
            x = select(inside, node("Pad", (x, pads)), _least(x))
            t = node("Pad", (t, pads))
            attrs["padding"] = b"VALID"
        return node(self.to_output, (x, y, t, *windows), attrs)

    def _parts(self, site: Site) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Input and output of the pool, and its windows where they are inputs."""
        if site.type == self.pool:
            return site.inputs[0], site.outputs[0], list(site.inputs[1:])
        return site.inputs[0], site.inputs[1], list(site.inputs[3:])

    def table(self) -> dict[str, Rule]:
        """The rules of all three ops."""
        windows = 2 * [None] if self.pool.endswith("V2") else []

        def first(of: Callable[[Site, Tensor], Tensor]) -> Rule:
            def pull(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
                return (self.spread(site, dense(cotangents[0])), *windows)

            def push(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
                t = tangents[0]
                return [None if t is None else of(site, t)]

            return Both(pull, push)

        def third(
            back: Callable[[Site, Tensor], Tensor], on: Callable[[Site, Tensor], Tensor]
        ) -> Rule:
            def pull(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
                return (
                    *(zeros_like(site.inputs[i]) if site.wanted[i] else None for i in (0, 1)),
                    back(site, dense(cotangents[0])) if site.wanted[2] else None,
                    *windows,
                )

            def push(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
                t = tangents[2]
                return [None if t is None else on(site, t)]

            return Both(pull, push)

        return {
            self.pool: first(self.picked),
            self.to_input: third(self.picked, self.spread),
            self.to_output: third(self.spread, self.picked),
        }


def _least(x: Tensor) -> Tensor:
    dtype = x.dtype.base
    return constant_node(np.array(dtype.min, dtype.numpy), dtype)


def _places(site: Site) -> dict[str, object]:
    return site.attrs("T", "Targmax")


def _pull_places(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    x, places = site.inputs[0], site.outputs[1]
    g = cotangents[0]
    if g is None:
        return (None,)
    return (node("MaxPoolGradWithArgmax", (x, dense(g), places), _places(site)),)


def _push_places(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    x, places, t = site.inputs[0], site.outputs[1], tangents[0]
    if t is None:
        return [None, None]
    return [node("MaxPoolGradGradWithArgmax", (x, t, places), _places(site)), None]


def _transposed(op: str) -> Rule:
    """The rule of a gradient at places: the other one brings back what it moves."""

    def pull(site: Site, g: Tensor) -> Cotangents:
        x, _, places = site.inputs
        return None, node(op, (x, g, places), _places(site)), None

    return Linear(pull, [1])


def _pull_average(site: Site, g: Tensor) -> Cotangents:
    return (node(f"{site.type}Grad", (shape_of(site.inputs[0]), g), site.attrs("T")),)


def _pull_average_grad(site: Site, g: Tensor) -> Cotangents:
    return None, node(site.type.removesuffix("Grad"), (g,), site.attrs("T"))


TABLE: Mapping[str, Rule] = {
    **_Maxima("MaxPool", "MaxPoolGrad", "MaxPoolGradGrad").table(),
    **_Maxima("MaxPoolV2", "MaxPoolGradV2", "MaxPoolGradGradV2").table(),
    **_Maxima("MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad").table(),
    "MaxPoolWithArgmax": Both(_pull_places, _push_places),
    "MaxPoolGradWithArgmax": _transposed("MaxPoolGradGradWithArgmax"),
    "MaxPoolGradGradWithArgmax": _transposed("MaxPoolGradWithArgmax"),
    "AvgPool": Linear(_pull_average),
    "AvgPoolGrad": Linear(_pull_average_grad, [1]),
    "AvgPool3D": Linear(_pull_average),
    "AvgPool3DGrad": Linear(_pull_average_grad, [1]),
}
