"""Derivatives of the neural network ops."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import integers, mul, neg, node, reshape, shape_of, sub, total, zeros_like
from graphvm.rules.registry import Elementwise, Linear, Reverse, Rule, Site, Tangents


def _relu_grad(site: Site, g: Tensor) -> tuple[Tensor, Tensor]:
    return node("ReluGrad", (g, site.inputs[1])), zeros_like(site.inputs[1])


def _bias_add(site: Site, g: Tensor) -> Cotangents:
    data_format = site.attrs("T")
    value, bias = site.wanted
    return (
        g if value else None,
        node("BiasAddGrad", (g,), data_format) if bias else None,
    )


def _apply_bias_add(site: Site, tangents: Tangents) -> Tangents:
    value, bias = tangents
    if bias is None:
        return [value]
    if value is None:
        value = zeros_like(site.inputs[0])
    return [node("BiasAdd", (value, bias), site.attrs("T"))]


def _bias_add_grad(site: Site, g: Tensor) -> Cotangents:
    shape = shape_of(site.inputs[0])
    if site.node.attrs["data_format"] == b"NCHW":
        known = site.input_type(0).shape
        if known is not None:
            ones: Tensor = integers([1] * (len(known) - 2))
        else:
            rest = node("Slice", (shape, integers([2]), integers([-1])))
            ones = node("OnesLike", (rest,))
        g = reshape(g, node("ConcatV2", ([integers([1, -1]), ones], integers(0))))
    return (node("BroadcastTo", (g, shape)),)


def _softmax(site: Site, g: Tensor) -> Cotangents:
    y = site.outputs[0]
    along = total(mul(g, y), integers([-1]), keep=True)
    return (mul(sub(g, along), y),)


def _log_softmax(site: Site, g: Tensor) -> Cotangents:
    along = total(g, integers([-1]), keep=True)
    return (sub(g, mul(along, node("Exp", (site.outputs[0],)))),)


def _cross_entropy(site: Site, g: Tensor | None, gg: Tensor | None) -> Cotangents:
    by_features = _entropy(site, g, gg)
    if not site.wanted[1]:
        return by_features, None
    if g is None:
        return by_features, zeros_like(site.inputs[1])
    column = node("ExpandDims", (g, integers(-1)))
    return by_features, mul(column, neg(node("LogSoftmax", (site.inputs[0],))))


def _sparse_cross_entropy(site: Site, g: Tensor | None, gg: Tensor | None) -> Cotangents:
    return _entropy(site, g, gg), None


def _entropy(site: Site, g: Tensor | None, gg: Tensor | None) -> Tensor | None:
    """Cotangent of the features; `gg` is that of the second output, the op's own gradient."""
    out: Tensor | None = None
    if g is not None:
        out = mul(node("ExpandDims", (g, integers(-1))), site.outputs[1])
    if gg is not None:
        soft = node("Softmax", (site.inputs[0],))
        along = total(mul(gg, soft), integers([-1]), keep=True)
        more = mul(sub(gg, along), soft)
        out = more if out is None else node("AddV2", (out, more))
    return out


TABLE: Mapping[str, Rule] = {
    "Relu": Elementwise(
        lambda s: node("ReluGrad", (node("OnesLike", (s.outputs[0],)), s.outputs[0])),
        reverse=lambda s, g: (node("ReluGrad", (g, s.outputs[0])),),
    ),
    "ReluGrad": Elementwise(
        lambda s: node("ReluGrad", (node("OnesLike", (s.inputs[1],)), s.inputs[1])),
        None,
        reverse=_relu_grad,
    ),
    "BiasAdd": Linear(_bias_add, apply=_apply_bias_add),
    "BiasAddV1": Linear(_bias_add, apply=_apply_bias_add),
    "BiasAddGrad": Linear(_bias_add_grad),
    "Softmax": Reverse(_softmax),
    "LogSoftmax": Reverse(_log_softmax),
    "SoftmaxCrossEntropyWithLogits": Reverse(_cross_entropy),
    "SparseSoftmaxCrossEntropyWithLogits": Reverse(_sparse_cross_entropy),
    "L2Loss": Reverse(lambda s, g: (mul(s.inputs[0], g),)),
}
