"""The math family."""

from graphvm_runtime.ops.math import elementwise, product, reduction

__all__ = ["elementwise", "product", "reduction"]
