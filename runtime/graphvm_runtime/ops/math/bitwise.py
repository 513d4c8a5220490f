"""Integers as bits."""

from __future__ import annotations

from graphvm_runtime.ops.registry import define
from graphvm_runtime.ops.shape_functions import pointwise, unchanged

define("BitwiseAnd", "BitwiseOr", "BitwiseXor", "LeftShift", "RightShift", shape=pointwise)
define("Invert", "PopulationCount", shape=unchanged)
