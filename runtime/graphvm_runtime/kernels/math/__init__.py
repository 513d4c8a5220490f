"""Kernels of the math family."""

from graphvm_runtime.kernels.math import elementwise, product, reduction

__all__ = ["elementwise", "product", "reduction"]
