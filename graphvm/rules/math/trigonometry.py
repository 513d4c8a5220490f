"""Derivatives of trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.nodes import constant, mul, neg, node, sub
from graphvm.rules.registry import Elementwise, Rule, Site


def _square(x: Tensor) -> Tensor:
    return node("Square", (x,))


def _inverse(x: Tensor) -> Tensor:
    return node("Reciprocal", (x,))


def _plus_one(x: Tensor) -> Tensor:
    return node("AddV2", (constant(1, x), x))


def _minus_square(x: Tensor) -> Tensor:
    return sub(constant(1, x), _square(x))


def _atan2(site: Site) -> Tensor:
    """One over the square of the distance from the origin."""
    y, x = site.inputs
    return _inverse(node("AddV2", (_square(x), _square(y))))


TABLE: Mapping[str, Rule] = {
    "Acos": Elementwise(lambda s: neg(node("Rsqrt", (_minus_square(s.inputs[0]),)))),
    "Acosh": Elementwise(lambda s: _inverse(node("Sinh", (s.outputs[0],)))),
    "Asin": Elementwise(lambda s: node("Rsqrt", (_minus_square(s.inputs[0]),))),
    "Asinh": Elementwise(lambda s: _inverse(node("Cosh", (s.outputs[0],)))),
    "Atan": Elementwise(lambda s: _inverse(_plus_one(_square(s.inputs[0])))),
    "Atan2": Elementwise(
        lambda s: mul(s.inputs[1], _atan2(s)), lambda s: neg(mul(s.inputs[0], _atan2(s)))
    ),
    "Atanh": Elementwise(lambda s: _inverse(_minus_square(s.inputs[0]))),
    "Cosh": Elementwise(lambda s: node("Sinh", (s.inputs[0],))),
    "Sinh": Elementwise(lambda s: node("Cosh", (s.inputs[0],))),
    "Tan": Elementwise(lambda s: _square(_inverse(node("Cos", (s.inputs[0],))))),
}
