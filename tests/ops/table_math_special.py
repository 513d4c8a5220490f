"""Rows of special functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from tests.ops.rows import Case, Row, Sample, given, numbers, real
from tests.ops.samples import binary, unary

BESSEL = {
    "I0": (-6.0, 6.0), "I0e": (-6.0, 6.0), "I1": (-6.0, 6.0), "I1e": (-6.0, 6.0),
    "J0": (-9.0, 9.0), "J1": (-9.0, 9.0), "K0": (0.1, 6.0), "K0e": (0.1, 6.0),
    "K1": (0.1, 6.0), "K1e": (0.1, 6.0), "Y0": (0.1, 9.0), "Y1": (0.1, 9.0),
}  # fmt: skip
# TensorFlow computes in single precision, by polynomials
SINGLE = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2, "float64": 1e-11}


def betas(dtype: DType) -> Iterable[Sample]:
    a, b = numbers(dtype, 2, 3, low=0.5, high=4.0), numbers(dtype, 2, 3, low=0.5, high=4.0, seed=1)
    x = numbers(dtype, 2, 3, low=0.05, high=0.95)
    yield given(a, b, x)
    yield given(a[0, 0], b, x[0, 0])
    yield given(a, b[0], x)
    yield given(a[:0], b[:0], x[:0])
    edge = np.array([0.0, 1.0, 0.5, 0.25, np.nan, 2.0], dtype.numpy)
    yield given(np.ones(6, dtype.numpy), np.full(6, 2.0, dtype.numpy), edge)


def whole(dtype: DType) -> Iterable[Sample]:
    """Whole first numbers, one that is not, and one below zero."""
    n = np.array([[0.0], [1.0], [2.0], [5.0], [0.5], [-1.0]], dtype.numpy)
    yield given(n, numbers(dtype, 4, low=0.3, high=5.0))
    yield given(n[0, 0], numbers(dtype, low=0.3, high=5.0))
    yield given(n[:2, 0], numbers(dtype, 3))


def zetas(dtype: DType) -> Iterable[Sample]:
    x = np.array([[1.5], [2.0], [4.0], [1.0], [0.5]], dtype.numpy)
    q = np.array([0.5, 1.0, 3.0, 10.0, -1.0, -0.5], dtype.numpy)
    yield given(x, q)
    yield given(x[0, 0], q[1])
    yield given(q[:0], x[0, 0])


DOMAINS = {
    "Dawsn": (-4.0, 4.0), "Digamma": (0.2, 6.0), "Erf": (-3.0, 3.0), "Erfc": (-3.0, 3.0),
    "Erfinv": (-0.95, 0.95), "Expint": (0.2, 5.0), "FresnelCos": (-3.0, 3.0),
    "FresnelSin": (-3.0, 3.0), "Lgamma": (0.2, 8.0), "Ndtri": (0.05, 0.95), "Spence": (0.1, 4.0),
}  # fmt: skip
ROWS = (
    *(Row(f"Bessel{k}", unary(*d, edge=k != "Y1"), tolerance=SINGLE) for k, d in BESSEL.items()),
    *(
        Row(op, unary(*d, infinite=op != "Expint"), tolerance=SINGLE)
        for op, d in DOMAINS.items()
        if op != "Erf"
    ),
    # TensorFlow's is NaN at infinities where it works on several float64 at once
    Row("Erf", unary(-30.0, 30.0, edge=False), tolerance=SINGLE),
    *(
        # TensorFlow's end at infinities in several ways, by type and place
        Row(op, binary(0.2, 5.0, infinite=False), tolerance=SINGLE)
        for op in ("Igamma", "Igammac", "IgammaGradA")
    ),
    Row("Betainc", betas, tolerance=SINGLE),
    Row("Polygamma", whole, tolerance=SINGLE),
    Row("Zeta", zetas, tolerance=SINGLE),
)  # fmt: skip


def within(low: float, high: float) -> Any:
    return real(3, low=max(low, 0.3), high=high)


DERIVATIVES = (
    *(Case(f"Bessel{k}", (within(*d),)) for k, d in BESSEL.items()),
    *(Case(op, (within(*d),)) for op, d in DOMAINS.items()),
    *(
        Case(op, (real(2, 3, low=0.5, high=3.0), real(3, low=0.5, high=3.0)), order=1)
        for op in ("Igamma", "Igammac")
    ),
    *(
        Case(op, (np.float64(2.5), real(3, low=0.5, high=3.0)), by=(1,))
        for op in ("Igamma", "Igammac")
    ),
    Case("Betainc", (np.float64(2.0), np.float64(3.0), real(3, low=0.2, high=0.8)), by=(2,)),
    Case("Polygamma", (np.float64(1.0), real(3, low=0.5, high=3.0)), by=(1,)),
    Case("Zeta", (np.float64(2.5), real(3, low=0.5, high=3.0)), by=(1,)),
)
