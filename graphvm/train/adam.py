"""Adam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphvm.graph.conversion import apply, convert_to_tensor
from graphvm.graph.graph import Operation, Tensor, get_default_graph
from graphvm.ops.control_flow import group
from graphvm.ops.math import cast, sqrt, square
from graphvm.train.optimizer import Optimizer
from graphvm.variables.variable import Variable

__all__ = ["AdamOptimizer"]


class AdamOptimizer(Optimizer):
    """Moves each variable by a mean of its gradients over the root of a mean of their squares.

    With `t` the number of the step: `m = beta1 m + (1 - beta1) g`,
    `v = beta2 v + (1 - beta2) g**2`, `rate = learning_rate sqrt(1 - beta2**t) / (1 - beta1**t)`,
    `var -= rate m / (sqrt(v) + epsilon)`.

    Args:
        learning_rate: a number, a tensor, or a function that gives one.
        beta1: how much of the mean of gradients stays each step.
        beta2: how much of the mean of squares stays each step.
        epsilon: keeps the quotient finite ("epsilon hat" of the paper).
        use_locking: see Optimizer.
        name: see Optimizer.

    Source: `tf.compat.v1.train.AdamOptimizer`; Kingma and Ba (2015), section 2 in its second form.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-08,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._given = {
            "learning_rate": learning_rate,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
        }
        self._made: dict[str, Tensor] = {}

    def _powers(self) -> tuple[Variable, Variable]:
        graph = get_default_graph().outermost
        return (
            self._get_non_slot_variable("beta1_power", graph),
            self._get_non_slot_variable("beta2_power", graph),
        )

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        # always beside the same variable, however they are ordered
        first = min(var_list, key=lambda v: v.name)
        for name in ("beta1", "beta2"):
            value = self._call_if_callable(self._given[name])
            self._create_non_slot_variable(value, f"{name}_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        self._made = {
            name: convert_to_tensor(self._call_if_callable(value), name=name)
            for name, value in self._given.items()
        }

    def _in(self, dtype: Any) -> list[Tensor]:
        """Rate, both betas and epsilon in an element type."""
        return [cast(self._made[k], dtype) for k in self._given]

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        kind = grad.dtype.base
        powers = [p if p.dtype is kind else cast(p, kind) for p in self._powers()]
        slots = [self.get_slot(handle, name).handle for name in ("m", "v")]
        return apply(
            "ResourceApplyAdam",
            (handle.handle, *slots, *powers, *self._in(kind), grad),
            {"use_locking": self._use_locking},
        )

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        kind = var.dtype.base
        power1, power2 = (cast(p, kind) for p in self._powers())
        rate, beta1, beta2, epsilon = self._in(kind)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        mean = m.assign_add((grad - m.read_value()) * (1.0 - beta1))
        squares = v.assign_add((square(grad) - v.read_value()) * (1.0 - beta2))
        rate = rate * sqrt(1.0 - power2) / (1.0 - power1)
        return var.assign_sub(rate * mean / (sqrt(squares) + epsilon)).op

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        graph = get_default_graph()
        power1, power2 = self._powers()
        with graph.control_dependencies(list(update_ops)), graph.colocate_with(power1.op):
            next1 = power1.assign(
                power1.read_value() * cast(self._made["beta1"], power1.dtype.base)
            )
            next2 = power2.assign(
                power2.read_value() * cast(self._made["beta2"], power2.dtype.base)
            )
        return group(*update_ops, next1.op, next2.op, name=name_scope)
