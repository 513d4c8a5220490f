"""Gradient descent."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import apply, convert_to_tensor
from graphvm.graph.graph import Tensor
from graphvm.ops.math import cast
from graphvm.train.optimizer import Optimizer

__all__ = ["GradientDescentOptimizer"]


class GradientDescentOptimizer(Optimizer):
    """Moves each variable against its gradient: `var -= learning_rate * gradient`.

    Args:
        learning_rate: a number, a tensor, or a function that gives one.
        use_locking: see Optimizer.
        name: see Optimizer.

    Source: `tf.compat.v1.train.GradientDescentOptimizer`.
    """

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._rate: Any = None

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._rate = convert_to_tensor(rate, name="learning_rate")

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        rate = cast(self._rate, var.dtype.base)
        attrs = {"use_locking": self._use_locking}
        return apply("ApplyGradientDescent", (var.reference, rate, grad), attrs)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        rate = cast(self._rate, grad.dtype.base)
        attrs = {"use_locking": self._use_locking}
        return apply("ResourceApplyGradientDescent", (handle.handle, rate, grad), attrs)
