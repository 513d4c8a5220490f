"""Derivatives of rectifiers with a slope, a limit or an exponential below zero."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph import Tensor
from graphvm.rules.nodes import mul, node, select, zeros_like
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
}
