"""Complex numbers and their parts."""

from __future__ import annotations

from graphvm_runtime.ops.registry import define
from graphvm_runtime.ops.shape_functions import pointwise, unchanged

define("Complex", shape=pointwise)
define("Angle", "ComplexAbs", "Imag", "Real", shape=unchanged)
