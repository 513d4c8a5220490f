"""Rows of complex numbers and their parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from graphvm_runtime.dtypes import DType, complex64, complex128, float32, float64
from tests.ops.rows import Case, Row, Sample, complex_, real
from tests.ops.samples import binary, unary

REAL = {complex64: float32, complex128: float64}
COMPLEX = {float32: complex64, float64: complex128}


def _with_output(
    samples: Callable[[DType], Iterable[Sample]], types: dict[DType, DType]
) -> Callable[[DType], Iterable[Sample]]:
    return lambda dtype: [
        Sample(s.inputs, {**s.attrs, "Tout": types[dtype]}) for s in samples(dtype)
    ]


ROWS = (
    *(Row(op, _with_output(unary(), REAL)) for op in ("Angle", "ComplexAbs", "Imag", "Real")),
    Row("Complex", _with_output(binary(), COMPLEX)),
)
_REAL = {"Tout": float64}
DERIVATIVES = (
    *(Case(op, (complex_(2, 3),), _REAL) for op in ("Angle", "ComplexAbs", "Imag", "Real")),
    Case("Complex", (real(2, 3), real(2, 3)), {"Tout": complex128}),
    Case("Complex", (real(2, 1), real(3)), {"Tout": complex128}),
    Case("Conj", (complex_(3),)),
)
