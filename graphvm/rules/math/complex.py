"""Derivatives of complex numbers by their parts; they are linear over the real numbers only."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.broadcasting import broadcast_like, reduced_like
from graphvm.rules.cotangents import Cotangents, dense
from graphvm.rules.nodes import conj, mul, neg, node, select, zeros_like
from graphvm.rules.registry import Both, Linear, Rule, Site, Tangents
from graphvm_runtime.dtypes import complex64, complex128, float32, float64

_REAL = {complex64: float32, complex128: float64}
_COMPLEX = {float32: complex64, float64: complex128}


def _part(op: str, x: Tensor) -> Tensor:
    return node(op, (x,), {"Tout": _REAL[x.type.dtype.base]})


def _joined(real: Tensor, imag: Tensor) -> Tensor:
    return node("Complex", (real, imag), {"Tout": _COMPLEX[real.type.dtype.base]})


def _complex(site: Site, g: Tensor) -> Cotangents:
    real, imag = site.wanted
    return (
        reduced_like(_part("Real", g), site, 0) if real else None,
        reduced_like(_part("Imag", g), site, 1) if imag else None,
    )


def _apply_complex(site: Site, tangents: Tangents) -> Tangents:
    some = next(t for t in tangents if t is not None)
    real, imag = (zeros_like(some) if t is None else t for t in tangents)
    return [broadcast_like(_joined(real, imag), site)]


def _real(site: Site, g: Tensor) -> Cotangents:
    return (_joined(g, zeros_like(g)),)


def _imag(site: Site, g: Tensor) -> Cotangents:
    return (_joined(zeros_like(g), g),)


def _apply_part(site: Site, tangents: Tangents) -> Tangents:
    (t,) = tangents
    assert t is not None
    return [_part(site.type, t)]


def _direction(site: Site) -> Tensor:
    """The number over its absolute value, zero at zero."""
    size = site.outputs[0]
    return node("DivNoNan", (site.inputs[0], _joined(size, zeros_like(size))))


def _pull_absolute(site: Site, g: Tensor) -> Cotangents:
    return (mul(_joined(g, zeros_like(g)), _direction(site)),)


def _push_absolute(site: Site, t: Tensor) -> Tensor:
    return _part("Real", mul(conj(_direction(site)), t))


def _turned(x: Tensor) -> Tensor:
    """What the angle grows by for each unit along the imaginary axis: -i over the conjugate."""
    inverse = node("Reciprocal", (_joined(_part("Imag", x), _part("Real", x)),))
    return select(node("Equal", (x, zeros_like(x))), zeros_like(x), inverse)


def _pull_angle(site: Site, g: Tensor) -> Cotangents:
    return (mul(neg(_joined(g, zeros_like(g))), _turned(site.inputs[0])),)


def _push_angle(site: Site, t: Tensor) -> Tensor:
    return neg(_part("Real", mul(conj(_turned(site.inputs[0])), t)))


TABLE: Mapping[str, Rule] = {
    "Complex": Linear(_complex, apply=_apply_complex),
    "Real": Linear(_real, apply=_apply_part),
    "Imag": Linear(_imag, apply=_apply_part),
    "ComplexAbs": Both(
        lambda site, gs, transform: _pull_absolute(site, dense(gs[0])),
        lambda site, ts, transform: [_push_absolute(site, t) for t in ts if t is not None],
    ),
    "Angle": Both(
        lambda site, gs, transform: _pull_angle(site, dense(gs[0])),
        lambda site, ts, transform: [_push_angle(site, t) for t in ts if t is not None],
    ),
}
