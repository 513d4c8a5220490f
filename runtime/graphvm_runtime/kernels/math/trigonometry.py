"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from graphvm_runtime.kernels.registry import ufunc

ufunc("Acos", np.arccos)
ufunc("Acosh", np.arccosh)
ufunc("Asin", np.arcsin)
ufunc("Asinh", np.arcsinh)
ufunc("Atan", np.arctan)
ufunc("Atan2", np.arctan2)
ufunc("Atanh", np.arctanh)
ufunc("Cosh", np.cosh)
ufunc("Sinh", np.sinh)
ufunc("Tan", np.tan)
