"""Derivatives of rectifiers with a slope, a limit or an exponential below zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.nodes import add, constant, mul, neg, node, select, zeros_like
from graphvm.rules.registry import Elementwise, Rule, Site


def _ones(x: Tensor) -> Tensor:
    return node("OnesLike", (x,))


def _activation(grad: str, of_output: bool) -> Rule:
    """The rule of an activation whose gradient is an op of its input or of its output."""

    def seen(site: Site) -> Tensor:
        return site.outputs[0] if of_output else site.inputs[0]

    return Elementwise(
        lambda s: node(grad, (_ones(seen(s)), seen(s)), s.attrs("T")),
        reverse=lambda s, g: (node(grad, (g, seen(s)), s.attrs("T")),),
    )


def _below_zero(site: Site) -> Tensor:
    """Derivative of an exponential's gradient by the exponential: the gradient, below zero."""
    gradients, outputs = site.inputs
    zero = zeros_like(outputs)
    return select(node("Less", (outputs, zero)), gradients, zeros_like(gradients))


def _exponential_grad(grad: str) -> Rule:
    return Elementwise(
        lambda s: node(grad, (_ones(s.inputs[1]), s.inputs[1])),
        _below_zero,
        reverse=lambda s, g: (node(grad, (g, s.inputs[1])), mul(g, _below_zero(s))),
    )


def _softplus_grad_by_features(site: Site, g: Tensor) -> Tensor:
    """`g` times the derivative of `gradients * sigmoid(x)` by `x`."""
    gradients, x = site.inputs
    both = add([node("Exp", (neg(x),)), constant(2, x), node("Exp", (x,))])
    return node("RealDiv", (mul(g, gradients), both))


def _softsign_grad_by_features(site: Site, g: Tensor) -> Tensor:
    """`g` times the derivative of `gradients / (1 + |x|) ** 2` by `x`."""
    gradients, x = site.inputs
    size = node("AddV2", (node("Abs", (x,)), constant(1, x)))
    slope = mul(constant(-2, x), node("Sign", (x,)))
    return node("RealDiv", (mul(mul(g, gradients), slope), mul(size, mul(size, size))))


def _softened_grad(op: str, by_features: Callable[[Site, Tensor], Tensor]) -> Rule:
    """The rule of the gradient of a softened activation."""
    return Elementwise(
        lambda s: node(op, (_ones(s.inputs[1]), s.inputs[1])),
        lambda s: by_features(s, _ones(s.inputs[1])),
        reverse=lambda s, g: (node(op, (g, s.inputs[1])), by_features(s, g)),
    )


TABLE: Mapping[str, Rule] = {
    "LeakyRelu": _activation("LeakyReluGrad", of_output=False),
    "LeakyReluGrad": Elementwise(
        lambda s: node("LeakyReluGrad", (_ones(s.inputs[1]), s.inputs[1]), s.attrs("T")),
        None,
        reverse=lambda s, g: (
            node("LeakyReluGrad", (g, s.inputs[1]), s.attrs("T")),
            zeros_like(s.inputs[1]),
        ),
    ),
    "Relu6": _activation("Relu6Grad", of_output=True),
    "Relu6Grad": Elementwise(
        lambda s: node("Relu6Grad", (_ones(s.inputs[1]), s.inputs[1])),
        None,
        reverse=lambda s, g: (node("Relu6Grad", (g, s.inputs[1])), zeros_like(s.inputs[1])),
    ),
    "Elu": _activation("EluGrad", of_output=True),
    "EluGrad": _exponential_grad("EluGrad"),
    "Selu": _activation("SeluGrad", of_output=True),
    "SeluGrad": _exponential_grad("SeluGrad"),
    "Softplus": _activation("SoftplusGrad", of_output=False),
    "SoftplusGrad": _softened_grad("SoftplusGrad", _softplus_grad_by_features),
    "Softsign": _activation("SoftsignGrad", of_output=False),
    "SoftsignGrad": _softened_grad("SoftsignGrad", _softsign_grad_by_features),
}
