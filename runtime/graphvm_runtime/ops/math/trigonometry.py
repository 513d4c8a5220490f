"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from graphvm_runtime.ops.registry import define
from graphvm_runtime.ops.shape_functions import pointwise, unchanged

define(
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan", shape=unchanged
)  # fmt: skip
define("Atan2", shape=pointwise)
