"""Derivatives of element-wise mathematics.

Where TensorFlow has a gradient op of its own, or an order of operations that shows at the edges
(zeros, infinities, ties), that is what is built here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from graphvm.graph.graph import Tensor
from graphvm.rules.broadcasting import broadcast_like, reduced_like
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import cast, conj, constant, mul, neg, node, select, sub, zeros_like
from graphvm.rules.registry import (
    Bilinear,
    Elementwise,
    Linear,
    NotDifferentiable,
    Rule,
    Site,
    Tangents,
)
from graphvm_runtime import dtypes

_DIFFERENTIABLE = frozenset((*dtypes.FLOATS, *dtypes.COMPLEX))


def _x(site: Site) -> Tensor:
    return site.inputs[0]


def _y(site: Site) -> Tensor:
    return site.inputs[1]


def _out(site: Site) -> Tensor:
    return site.outputs[0]


def _by_gradient_op(
    op: str, conjugates: bool = False
) -> Callable[[Site, Tensor], Sequence[Tensor]]:
    """Reverse by an op that takes the output and the cotangent; some conjugate it themselves."""
    if conjugates:
        return lambda site, g: (node(op, (_out(site), g)),)
    return lambda site, g: (node(op, (conj(_out(site)), g)),)


def _squared_difference(site: Site, g: Tensor) -> Sequence[Tensor | None]:
    """TensorFlow conjugates nothing here: of complex numbers it takes the squared distance."""
    x, y = site.wanted
    change = mul(mul(constant(2, g), g), sub(_x(site), _y(site)))
    return change if x else None, neg(change) if y else None


def _clipped(site: Site, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The cotangent goes to a bound where that is what comes out, to `t` elsewhere."""
    x, least, most = site.inputs
    below, above = node("Less", (x, least)), node("Greater", (x, most))
    zero = zeros_like(x)
    inside = select(node("LogicalOr", (below, above)), zero, g)
    return inside, select(below, g, zero), select(above, g, zero)


def _add(site: Site, g: Tensor) -> Cotangents:
    return [reduced_like(g, site, i) if want else None for i, want in enumerate(site.wanted)]


def _sub(site: Site, g: Tensor) -> Cotangents:
    x, y = site.wanted
    return (
        reduced_like(g, site, 0) if x else None,
        reduced_like(neg(g), site, 1) if y else None,
    )


def _apply_sum(site: Site, tangents: Tangents) -> Tangents:
    x, y = tangents
    if x is not None and y is not None:
        return [node(site.type, (x, y))]
    if x is None:
        assert y is not None
        x = neg(y) if site.type == "Sub" else y
    return [broadcast_like(x, site)]


def _mul_x(site: Site, g: Tensor) -> Tensor:
    return reduced_like(mul(g, conj(_y(site))), site, 0)


def _mul_y(site: Site, g: Tensor) -> Tensor:
    return reduced_like(mul(conj(_x(site)), g), site, 1)


def _div(op: str) -> Elementwise:
    def divided(x: Tensor, y: Tensor) -> Tensor:
        return node(op, (x, y))

    def reverse(site: Site, g: Tensor) -> Sequence[Tensor | None]:
        x, y = site.wanted
        bottom = conj(_y(site))
        return (
            divided(g, bottom) if x else None,
            mul(g, divided(divided(neg(conj(_x(site))), bottom), bottom)) if y else None,
        )

    return Elementwise(
        lambda site: divided(constant(1, _y(site)), _y(site)),
        lambda site: divided(divided(neg(_x(site)), _y(site)), _y(site)),
        reverse=reverse,
    )


def _pow_x(site: Site) -> Tensor:
    x, y = _x(site), _y(site)
    return mul(y, node("Pow", (x, sub(y, constant(1, y)))))


def _pow_y(site: Site) -> Tensor:
    x = _x(site)
    zero = zeros_like(x)
    # log(x) only where it is real: elsewhere the power is constant in y, or not a number at all
    there = node("NotEqual" if x.type.dtype.is_complex else "Greater", (x, zero))
    one = node("OnesLike", (x,))
    log = select(there, node("Log", (select(there, x, one),)), zero)
    return mul(_out(site), log)


def _sqrt_grad(site: Site, g: Tensor) -> Sequence[Tensor]:
    ratio = node("RealDiv", (g, _x(site)))
    return (
        mul(neg(conj(ratio)), _out(site)),
        mul(constant(0.5, ratio), ratio),
    )


def _rsqrt_grad(site: Site, g: Tensor) -> Sequence[Tensor]:
    y, dy = conj(_x(site)), _y(site)
    gy = mul(mul(mul(constant(-1.5, g), conj(g)), dy), node("Square", (y,)))
    return gy, node("RsqrtGrad", (y, g))


def _reciprocal_grad(site: Site, g: Tensor) -> Sequence[Tensor]:
    y, dy = conj(_x(site)), _y(site)
    return mul(mul(mul(conj(g), constant(-2, g)), dy), y), node("ReciprocalGrad", (y, g))


def _tanh_grad(site: Site, g: Tensor) -> Sequence[Tensor]:
    y, dy = conj(_x(site)), conj(_y(site))
    return mul(mul(mul(g, constant(-2, g)), dy), y), node("TanhGrad", (y, g))


def _sigmoid_grad(site: Site, g: Tensor) -> Sequence[Tensor]:
    y, dy = conj(_x(site)), conj(_y(site))
    gdy = mul(g, dy)
    return sub(gdy, mul(mul(constant(2, g), gdy), y)), node("SigmoidGrad", (y, g))


def _choice(op: str) -> Elementwise:
    """Maximum and Minimum: where both are equal, all goes to the first."""

    def first(site: Site) -> Tensor:
        return node(op, (_x(site), _y(site)))

    def reverse(site: Site, g: Tensor) -> Sequence[Tensor | None]:
        chosen, zeros = first(site), zeros_like(g)
        x, y = site.wanted
        return (
            select(chosen, g, zeros) if x else None,
            select(chosen, zeros, g) if y else None,
        )

    return Elementwise(
        lambda site: cast(first(site), _x(site).type.dtype),
        lambda site: cast(node("LogicalNot", (first(site),)), _x(site).type.dtype),
        reverse=reverse,
    )


def _cast(site: Site, g: Tensor) -> Cotangents:
    return (cast(g, site.input_type(0).dtype),) if _keeps_derivative(site) else (None,)


def _apply_cast(site: Site, tangents: Tangents) -> Tangents:
    t = tangents[0]
    assert t is not None
    return [cast(t, site.output_type(0).dtype) if _keeps_derivative(site) else None]


def _keeps_derivative(site: Site) -> bool:
    ends = (site.input_type(0).dtype.base, site.output_type(0).dtype.base)
    return _DIFFERENTIABLE.issuperset(ends)


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


_RECIPROCAL = Elementwise(
    lambda s: neg(node("Square", (_out(s),))),
    reverse=_by_gradient_op("ReciprocalGrad", conjugates=True),
)
_RECIPROCAL_GRAD = Elementwise(
    lambda s: mul(mul(constant(-2, _x(s)), _x(s)), _y(s)),
    lambda s: neg(node("Square", (_x(s),))),
    reverse=_reciprocal_grad,
)
_STEPS = NotDifferentiable("constant but for steps")


_LOGIC = NotDifferentiable("gives truth values")


def _nonzero(x: Tensor) -> Tensor:
    """One where an element is not zero."""
    return cast(node("NotEqual", (x, zeros_like(x))), x.type.dtype)


def _xdivy(x: Tensor, y: Tensor) -> Tensor:
    return node("Xdivy", (x, y))


TABLE: Mapping[str, Rule] = {
    "MulNoNan": Elementwise(
        lambda s: node("MulNoNan", (node("OnesLike", (_x(s),)), _y(s))),
        lambda s: _x(s),
        reverse=lambda s, g: (node("MulNoNan", (g, _y(s))), node("MulNoNan", (_x(s), g))),
    ),
    "Xdivy": Elementwise(
        lambda s: _xdivy(_nonzero(_x(s)), _y(s)),
        lambda s: _xdivy(neg(_x(s)), node("Square", (_y(s),))),
    ),
    "Xlogy": Elementwise(
        lambda s: node("Xlogy", (_nonzero(_x(s)), _y(s))), lambda s: _xdivy(_x(s), _y(s))
    ),
    "Xlog1py": Elementwise(
        lambda s: node("Xlog1py", (_nonzero(_x(s)), _y(s))),
        lambda s: _xdivy(_x(s), node("AddV2", (_y(s), constant(1, _y(s))))),
    ),
    "NextAfter": Elementwise(1, lambda s: zeros_like(_y(s))),
    "TruncateDiv": _STEPS,
    "TruncateMod": Elementwise(1, lambda s: neg(node("TruncateDiv", (_x(s), _y(s))))),
    "Mod": Elementwise(1, lambda s: neg(node("TruncateDiv", (_x(s), _y(s))))),
    "ApproximateEqual": _LOGIC,
    "Add": Linear(_add, apply=_apply_sum),
    "AddV2": Linear(_add, apply=_apply_sum),
    "Sub": Linear(_sub, apply=_apply_sum),
    "Neg": Linear(lambda site, g: (neg(g),)),
    "Conj": Linear(lambda site, g: (conj(g),)),
    "Mul": Bilinear(_mul_x, _mul_y),
    "RealDiv": _div("RealDiv"),
    "Div": _div("Div"),
    "DivNoNan": _div("DivNoNan"),
    "FloorDiv": _STEPS,
    "FloorMod": Elementwise(1, lambda s: neg(node("FloorDiv", (_x(s), _y(s))))),
    "Reciprocal": _RECIPROCAL,
    "Inv": _RECIPROCAL,
    "ReciprocalGrad": _RECIPROCAL_GRAD,
    "InvGrad": _RECIPROCAL_GRAD,
    "Floor": _STEPS,
    "Ceil": _STEPS,
    "Rint": _STEPS,
    "Round": _STEPS,
    "Pow": Elementwise(_pow_x, _pow_y),
    "Abs": Elementwise(
        lambda s: node("Sign", (_x(s),)), reverse=lambda s, g: (mul(g, node("Sign", (_x(s),))),)
    ),
    "Sign": Elementwise(lambda s: zeros_like(_x(s)), reverse=lambda s, g: (zeros_like(_x(s)),)),
    "Square": Elementwise(lambda s: mul(constant(2, _x(s)), _x(s))),
    "SquaredDifference": Elementwise(
        lambda s: mul(constant(2, _x(s)), sub(_x(s), _y(s))),
        lambda s: mul(constant(-2, _x(s)), sub(_x(s), _y(s))),
        reverse=_squared_difference,
    ),
    "Sqrt": Elementwise(
        lambda s: node("SqrtGrad", (_out(s), node("OnesLike", (_out(s),)))),
        reverse=_by_gradient_op("SqrtGrad", conjugates=True),
    ),
    "SqrtGrad": Elementwise(
        lambda s: neg(node("RealDiv", (_out(s), _x(s)))),
        lambda s: node("RealDiv", (constant(0.5, _x(s)), _x(s))),
        reverse=_sqrt_grad,
    ),
    "Rsqrt": Elementwise(
        lambda s: node("RsqrtGrad", (_out(s), node("OnesLike", (_out(s),)))),
        reverse=_by_gradient_op("RsqrtGrad", conjugates=True),
    ),
    "RsqrtGrad": Elementwise(
        lambda s: mul(mul(constant(-1.5, _y(s)), _y(s)), node("Square", (_x(s),))),
        lambda s: node("RsqrtGrad", (_x(s), node("OnesLike", (_x(s),)))),
        reverse=_rsqrt_grad,
    ),
    "Exp": Elementwise(_out),
    "Expm1": Elementwise(lambda s: node("Exp", (_x(s),))),
    "Log1p": Elementwise(
        lambda s: node("Reciprocal", (node("AddV2", (constant(1, _x(s)), _x(s))),))
    ),
    "Log": Elementwise(lambda s: node("Reciprocal", (_x(s),))),
    "Sin": Elementwise(lambda s: node("Cos", (_x(s),))),
    "Cos": Elementwise(lambda s: neg(node("Sin", (_x(s),)))),
    "Tanh": Elementwise(
        lambda s: node("TanhGrad", (_out(s), node("OnesLike", (_out(s),)))),
        reverse=_by_gradient_op("TanhGrad"),
    ),
    "TanhGrad": Elementwise(
        lambda s: mul(mul(constant(-2, _x(s)), _x(s)), _y(s)),
        lambda s: node("TanhGrad", (_x(s), node("OnesLike", (_x(s),)))),
        reverse=_tanh_grad,
    ),
    "Sigmoid": Elementwise(
        lambda s: node("SigmoidGrad", (_out(s), node("OnesLike", (_out(s),)))),
        reverse=_by_gradient_op("SigmoidGrad"),
    ),
    "SigmoidGrad": Elementwise(
        lambda s: mul(_y(s), sub(constant(1, _x(s)), mul(constant(2, _x(s)), _x(s)))),
        lambda s: node("SigmoidGrad", (_x(s), node("OnesLike", (_x(s),)))),
        reverse=_sigmoid_grad,
    ),
    "Maximum": _choice("GreaterEqual"),
    "ClipByValue": Elementwise(
        *(lambda s, i=i: _clipped(s, constant(1, _x(s)))[i] for i in range(3)), reverse=_clipped
    ),
    "Minimum": _choice("LessEqual"),
    "Cast": Linear(_cast, apply=_apply_cast),
    "Less": _LOGIC,
    "LessEqual": _LOGIC,
    "Greater": _LOGIC,
    "GreaterEqual": _LOGIC,
    "Equal": _LOGIC,
    "NotEqual": _LOGIC,
    "LogicalAnd": _LOGIC,
    "LogicalOr": _LOGIC,
    "LogicalNot": _LOGIC,
    "IsNan": _LOGIC,
    "IsInf": _LOGIC,
    "IsFinite": _LOGIC,
    "Select": Linear(_select, [1, 2], _apply_select),
    "SelectV2": Linear(_select_v2, [1, 2], _apply_select),
}
