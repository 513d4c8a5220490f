"""Rows of trigonometric and hyperbolic functions."""

from __future__ import annotations

from tests.ops.rows import Case, Row, real
from tests.ops.samples import binary, unary

INSIDE = ("Acos", "Asin", "Atanh")  # defined between -1 and 1
ROWS = (
    *(Row(op, unary(-1.0, 1.0)) for op in INSIDE),
    *(Row(op, unary()) for op in ("Asinh", "Atan", "Cosh", "Sinh", "Tan")),
    Row("Acosh", unary(1.0, 4.0)),
    Row("Atan2", binary()),
)
DERIVATIVES = (
    *(Case(op, (real(2, 3, low=-0.9, high=0.9),)) for op in INSIDE),
    *(Case(op, (real(2, 3),)) for op in ("Asinh", "Atan", "Cosh", "Sinh", "Tan")),
    Case("Acosh", (real(2, 3, low=1.2, high=3.0),)),
    *(
        Case("Atan2", (real(*a, low=0.5, high=2.0), real(*b, low=0.5, high=2.0)))
        for a, b in (((2, 3), (2, 3)), ((2, 1), (3,)), ((), (3,)))
    ),
)
