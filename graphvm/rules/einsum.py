"""Derivatives of Einstein sums."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents, dense
from graphvm.rules.nodes import add, conj, integers, mul, node, reshape, shape_of, total
from graphvm.rules.registry import Both, Rule, Site, Tangents, Transform, again
from graphvm_runtime.ops.einsum import terms
from graphvm_runtime.shapes import is_known


def _sum(inputs: list[Tensor], given: list[str], to: str) -> Tensor:
    equation = f"{','.join(given)}->{to}".replace(".", "...")
    return node("Einsum", (inputs,), {"equation": equation.encode()})


def _pull(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    g = dense(cotangents[0])
    return [_by(site, g, i) if wanted else None for i, wanted in enumerate(site.wanted)]


def _by(site: Site, g: Tensor, index: int) -> Tensor:
    inputs, output = terms(site.node.attrs["equation"].decode("utf-8", "replace"))
    x, term = site.inputs[index], inputs[index]
    others = [conj(y) for i, y in enumerate(site.inputs) if i != index]
    named = [t for i, t in enumerate(inputs) if i != index]
    axes = "".join(dict.fromkeys(term.replace(".", "")))
    found = set(output).union(*named)
    # everything with the axes of '...' first, then those of the input, each once
    made = _sum([g, *others], [output, *named], "." + "".join(a for a in axes if a in found))
    in_order = term.removeprefix(".") == axes
    turned = x if in_order else _sum([x], [term], f".{axes}")
    if not set(axes) <= found:
        # an axis that was summed over right away: all along it have the same cotangent
        for i, axis in reversed(list(enumerate(axes))):
            if axis not in found:
                made = node("ExpandDims", (made, integers(i - len(axes))))
        made = mul(made, node("OnesLike", (turned,)))
    if any("." in t for t in inputs):
        made = _unspread(made, turned)
    return made if in_order else _sum([made], [f".{axes}"], term)


def _unspread(g: Tensor, like: Tensor) -> Tensor:
    """Summed over the axes along which a tensor was broadcast."""
    want = like.type.shape
    if is_known(want) and want == g.type.shape:
        return g
    shape = shape_of(like)
    return reshape(total(g, node("BroadcastGradientArgs", (shape, shape_of(g)))), shape)


def _push(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    parts = []
    for i, tangent in enumerate(tangents):
        if tangent is not None:
            inputs = list(site.inputs)
            inputs[i] = tangent
            parts.append(again(site, inputs)[0])
    return [add(parts)] if parts else [None]


TABLE: Mapping[str, Rule] = {"Einsum": Both(_pull, _push)}
