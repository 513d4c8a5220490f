"""Derivatives of special functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

from graphvm.graph.graph import Tensor
from graphvm.rules.nodes import constant, mul, neg, node, select, sub
from graphvm.rules.registry import Elementwise, NoRule, Rule, Site

Derivative: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def _of(function: Derivative) -> Elementwise:
    """The rule of a function of one number, whose derivative is `function(x, y)`."""
    return Elementwise(lambda site: function(site.inputs[0], site.outputs[0]))


def _f(op: str, *inputs: Tensor) -> Tensor:
    return node(op, inputs)


def _exp(x: Tensor) -> Tensor:
    return _f("Exp", x)


def _square(x: Tensor) -> Tensor:
    return _f("Square", x)


def _scaled(factor: float, x: Tensor) -> Tensor:
    return mul(constant(factor, x), x)


def _over(y: Tensor, x: Tensor) -> Tensor:
    return _f("RealDiv", y, x)


def _plus(x: Tensor, number: float) -> Tensor:
    return _f("AddV2", x, constant(number, x))


def _at(x: Tensor, number: float, there: float, elsewhere: Callable[[Tensor], Tensor]) -> Tensor:
    """`elsewhere(x)`, and the limit where it has a gap; its own derivatives stay finite there."""
    gap = _f("Equal", x, constant(number, x))
    safe = select(gap, constant(number + 1, x), x)
    return select(gap, constant(there, x), elsewhere(safe))


def _gamma_density(a: Tensor, x: Tensor) -> Tensor:
    """The derivative of `Igamma` by x: the density of the gamma distribution."""
    power = _f("Xlogy", _plus(a, -1), x)
    return _exp(sub(sub(power, x), _f("Lgamma", a)))


def _beta_density(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    log_beta = sub(_f("AddV2", _f("Lgamma", a), _f("Lgamma", b)), _f("Lgamma", _f("AddV2", a, b)))
    powers = _f("AddV2", _f("Xlog1py", _plus(b, -1), neg(x)), _f("Xlogy", _plus(a, -1), x))
    return _exp(sub(powers, log_beta))


def _grad_a(site: Site) -> Tensor:
    return _f("IgammaGradA", *site.inputs)


TABLE: Mapping[str, Rule] = {
    "BesselI0": _of(lambda x, y: _f("BesselI1", x)),
    "BesselI0e": _of(lambda x, y: sub(_f("BesselI1e", x), mul(_f("Sign", x), y))),
    "BesselI1": _of(
        lambda x, y: _at(x, 0, 0.5, lambda x: sub(_f("BesselI0", x), _over(_f("BesselI1", x), x)))
    ),
    "BesselI1e": _of(
        lambda x, y: _at(
            x, 0, 0.5,
            lambda x: sub(
                _f("BesselI0e", x),
                mul(_f("BesselI1e", x), _f("AddV2", _f("Sign", x), _f("Reciprocal", x))),
            ),
        )
    ),
    "BesselJ0": _of(lambda x, y: neg(_f("BesselJ1", x))),
    "BesselJ1": _of(
        lambda x, y: _at(x, 0, 0.5, lambda x: sub(_f("BesselJ0", x), _over(_f("BesselJ1", x), x)))
    ),
    "BesselK0": _of(lambda x, y: neg(_f("BesselK1", x))),
    "BesselK0e": _of(lambda x, y: sub(y, _f("BesselK1e", x))),
    "BesselK1": _of(lambda x, y: sub(neg(_f("BesselK0", x)), _over(y, x))),
    "BesselK1e": _of(
        lambda x, y: sub(mul(y, sub(constant(1, x), _f("Reciprocal", x))), _f("BesselK0e", x))
    ),
    "BesselY0": _of(lambda x, y: neg(_f("BesselY1", x))),
    "BesselY1": _of(lambda x, y: sub(_f("BesselY0", x), _over(y, x))),
    "Betainc": Elementwise(None, None, lambda site: _beta_density(*site.inputs)),
    "Dawsn": _of(lambda x, y: sub(constant(1, x), mul(_scaled(2, x), y))),
    "Digamma": _of(lambda x, y: _f("Polygamma", constant(1, x), x)),
    "Erf": _of(lambda x, y: _scaled(2 / math.sqrt(math.pi), _exp(neg(_square(x))))),
    "Erfc": _of(lambda x, y: _scaled(-2 / math.sqrt(math.pi), _exp(neg(_square(x))))),
    "Erfinv": _of(lambda x, y: _scaled(math.sqrt(math.pi) / 2, _exp(_square(y)))),
    "Expint": _of(lambda x, y: _over(_exp(x), x)),
    "FresnelCos": _of(lambda x, y: _f("Cos", _scaled(math.pi / 2, _square(x)))),
    "FresnelSin": _of(lambda x, y: _f("Sin", _scaled(math.pi / 2, _square(x)))),
    "Igamma": Elementwise(_grad_a, lambda site: _gamma_density(*site.inputs)),
    "Igammac": Elementwise(
        lambda site: neg(_grad_a(site)), lambda site: neg(_gamma_density(*site.inputs))
    ),
    "IgammaGradA": NoRule("TensorFlow has none"),
    "Lgamma": _of(lambda x, y: _f("Digamma", x)),
    "Ndtri": _of(lambda x, y: _scaled(math.sqrt(2 * math.pi), _exp(_scaled(0.5, _square(y))))),
    "Polygamma": Elementwise(
        None, lambda site: _f("Polygamma", _plus(site.inputs[0], 1), site.inputs[1])
    ),
    "Spence": _of(
        lambda x, y: _at(x, 1, -1, lambda x: _over(_f("Log", x), sub(constant(1, x), x)))
    ),
    "Zeta": Elementwise(
        None,
        lambda site: neg(mul(site.inputs[0], _f("Zeta", _plus(site.inputs[0], 1), site.inputs[1]))),
    ),
}  # fmt: skip
