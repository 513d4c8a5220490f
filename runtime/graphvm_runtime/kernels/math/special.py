"""Special functions, by SciPy, in double precision and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import UnimplementedError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing

# ops whose function has another name in `scipy.special`
_NAMES = {
    "Dawsn": "dawsn", "Digamma": "psi", "Erf": "erf", "Erfc": "erfc", "Erfinv": "erfinv",
    "Expint": "expi", "Lgamma": "gammaln",
    "Ndtri": "ndtri", "Spence": "spence", "Betainc": "betainc",
    **{f"Bessel{kind}": kind.lower() for kind in (
        "I0", "I0e", "I1", "I1e", "J0", "J1", "K0", "K0e", "K1", "K1e", "Y0", "Y1",
    )},
}  # fmt: skip


@cache
def _scipy() -> Any:
    try:
        from scipy import special
    except ImportError as error:
        raise UnimplementedError(
            "special functions need SciPy", do="pip install 'graphvm[special]'"
        ) from error
    return special


def _by(node: Node, function: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel that computes in double precision and rounds to the type of the node."""
    dtype = node.attrs["T"].numpy

    def call(*inputs: Array) -> Any:
        with np.errstate(all="ignore"):
            return function(*[x.astype(np.float64) for x in inputs]).astype(dtype)

    return call


# where TensorFlow's functions go on, or end, beyond their domain: a test of the input, the value
_BEYOND: dict[str, tuple[Callable[[Array], Array], float]] = {
    **dict.fromkeys(
        ("BesselK0", "BesselK0e", "BesselK1", "BesselK1e"), (lambda x: x < 0, np.inf)
    ),
    **dict.fromkeys(("BesselY0", "BesselY1"), (lambda x: x < 0, -np.inf)),
    "Digamma": (lambda x: x == 0, np.nan),
    "Expint": (lambda x: x < 0, np.nan),
    "Lgamma": (np.isinf, np.inf),
}  # fmt: skip


@kernel(*_NAMES)
@refusing
def _named(node: Node) -> Callable[..., Any]:
    function = getattr(_scipy(), _NAMES[node.op.name])
    if node.op.name not in _BEYOND:
        return _by(node, function)
    is_beyond, there = _BEYOND[node.op.name]
    return _by(node, lambda x: np.where(is_beyond(x), there, function(x)))


@kernel("Igamma", "Igammac")
def _igamma(node: Node) -> Callable[..., Any]:
    special, is_lower = _scipy(), node.op.name == "Igamma"

    def call(a: Array, x: Array) -> Any:
        found = special.gammainc(a, x)
        if not is_lower:  # SciPy's own is wrong in the fourth digit where a is small
            found = np.where(found < 0.9999, 1 - found, special.gammaincc(a, x))
            found = np.where(np.isnan(a + x), np.nan, found)
        found = np.where((x < 0) | (a <= 0), np.nan, found)
        return np.where(x == 0, 0.0, found) if is_lower else found

    return _by(node, call)


@kernel("Zeta")
def _zeta(node: Node) -> Callable[..., Any]:
    special = _scipy()

    def call(x: Array, q: Array) -> Any:
        x, q = np.broadcast_arrays(x, q)
        is_pole = (q <= 0) & (q == np.floor(q))
        at_pole = np.where((x == np.floor(x)) & (x % 2 == 0), np.inf, np.nan)
        return np.where(is_pole & (x > 1), at_pole, special.zeta(x, q))

    return _by(node, call)


@kernel("FresnelCos", "FresnelSin")
def _fresnel(node: Node) -> Callable[..., Any]:
    special, which = _scipy(), int(node.op.name == "FresnelCos")
    return _by(node, lambda x: special.fresnel(x)[which])


@kernel("Polygamma")
def _polygamma(node: Node) -> Callable[..., Any]:
    """(-1)^(n + 1) n! zeta(n + 1, x), of whole n; the digamma function where n is 0."""
    special = _scipy()

    def call(n: Array, x: Array) -> Any:
        found = (-1.0) ** (n + 1) * special.gamma(n + 1) * special.zeta(n + 1, x)
        found = np.where(n == 0, special.psi(x), found)
        return np.where((n >= 0) & (n == np.floor(n)), found, np.nan)

    return _by(node, call)


@kernel("IgammaGradA")
def _igamma_grad_a(node: Node) -> Callable[..., Any]:
    return _by(node, lambda a, x: igamma_grad_a(*np.broadcast_arrays(a, x)))


_MOST_TERMS = 2000


def igamma_grad_a(a: Array, x: Array) -> Array:
    """The derivative of the regularised lower incomplete gamma function by its first argument.

    Term by term: of the power series of P where x is small beside a, of the continued fraction of
    Q = 1 - P elsewhere.

    Source: NIST Digital Library of Mathematical Functions, 8.7.1 and 8.9.2.
    """
    out = np.full(a.shape, np.nan)
    out[x == 0] = 0.0
    fine = (x > 0) & (a > 0) & np.isfinite(x) & np.isfinite(a)
    by_series = fine & ((x <= 1) | (x <= a))
    by_fraction = fine & ~by_series
    out[by_series] = _by_series(a[by_series], x[by_series])
    out[by_fraction] = _by_fraction(a[by_fraction], x[by_fraction])
    return out


def _by_series(a: Array, x: Array) -> Array:
    """P = front * sum of x^n / ((a + 1) ... (a + n)), front = x^a e^-x / gamma(a + 1)."""
    special = _scipy()
    term, total = np.ones_like(a), np.ones_like(a)
    slope, slopes = np.zeros_like(a), np.zeros_like(a)
    for n in range(1, _MOST_TERMS):
        ratio = x / (a + n)
        slope = slope * ratio - term * ratio / (a + n)
        term = term * ratio
        total, slopes = total + term, slopes + slope
        if np.all(term <= 1e-17 * total) and np.all(np.abs(slope) <= 1e-17 * np.abs(slopes)):
            break
    front = np.exp(a * np.log(x) - x - special.gammaln(a + 1))
    found: Array = front * (slopes + total * (np.log(x) - special.psi(a + 1)))
    return found


def _by_fraction(a: Array, x: Array) -> Array:
    """Q = front * fraction, front = x^a e^-x / gamma(a), by the recurrence of its convergents."""
    special = _scipy()
    # numerators and denominators of the last two convergents, with their derivatives by a
    p0, q0, p1, q1 = np.ones_like(a), x, x + 1, (x + 2 - a) * x
    dp0, dq0, dp1, dq1 = (np.zeros_like(a) for _ in range(4))
    dq1 = -x
    value, slope = p1 / q1, (dp1 - p1 / q1 * dq1) / q1
    for n in range(1, _MOST_TERMS):
        y, z = n + 1 - a, x + 2 + 2 * n - a
        weight = y * n
        p2, q2 = p1 * z - p0 * weight, q1 * z - q0 * weight
        dp2 = dp1 * z - p1 - dp0 * weight + p0 * n
        dq2 = dq1 * z - q1 - dq0 * weight + q0 * n
        new = p2 / q2
        new_slope = (dp2 - new * dq2) / q2
        done = np.abs(new_slope - slope) <= 1e-16 * np.abs(new_slope)
        value, slope = new, new_slope
        if done.all():
            break
        scale = np.where(np.abs(p2) > 1e100, 1e-100, 1.0)
        p0, q0, p1, q1 = p1 * scale, q1 * scale, p2 * scale, q2 * scale
        dp0, dq0, dp1, dq1 = dp1 * scale, dq1 * scale, dp2 * scale, dq2 * scale
    front = np.exp(a * np.log(x) - x - special.gammaln(a))
    found: Array = -front * (slope + value * (np.log(x) - special.psi(a)))
    return found
