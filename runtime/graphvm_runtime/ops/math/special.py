"""Special functions: error, gamma, beta, zeta, Bessel and Fresnel."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import agreed, pointwise, refused, unchanged
from graphvm_runtime.shapes import Shape

define(
    *(f"Bessel{kind}" for kind in (
        "I0", "I0e", "I1", "I1e", "J0", "J1", "K0", "K0e", "K1", "K1e", "Y0", "Y1",
    )),
    "Dawsn", "Digamma", "Erf", "Erfc", "Erfinv", "Expint", "FresnelCos", "FresnelSin", "Lgamma",
    "Ndtri", "Spence",
    shape=unchanged,
)  # fmt: skip
define("Igamma", "IgammaGradA", "Igammac", "Polygamma", "Zeta", shape=pointwise)


def _betainc(ctx: ShapeContext) -> Sequence[Shape]:
    """Scalars beside tensors of one shape."""
    larger = [s for s in ctx.shapes if s != ()]
    if None in ctx.shapes:
        return (None,) if not larger or None in larger else (agreed(larger),)
    try:
        return (agreed(larger) if larger else (),)
    except ShapeError as error:
        raise refused(error.what) from None


define("Betainc", shape=_betainc)
