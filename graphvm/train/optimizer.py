"""Optimizer: from a loss to an operation that changes variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from graphvm.graph.collections import GraphKeys
from graphvm.graph.conversion import apply, convert_to_tensor
from graphvm.graph.graph import Graph, Operation, Tensor, get_default_graph
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.graph.scopes import init_scope, name_scope
from graphvm.graph.source import user_line
from graphvm.ops.array import shape, zeros
from graphvm.ops.control_flow import group
from graphvm.ops.control_flow import tuple as gated
from graphvm.ops.state import assign_add
from graphvm.transforms import gradients
from graphvm.variables.collections import trainable_variables
from graphvm.variables.variable import RefVariable, Variable
from graphvm.variables.variable_scope import variable_scope
from graphvm_runtime.errors import DTypeError, GraphError, clipped

__all__ = ["Optimizer"]


class Optimizer(ABC):
    """Makes operations that train variables.

    A kind of optimizer says in `_create_slots` what it keeps beside each variable, in `_prepare`
    what it needs once a step, and in `_apply_dense` and `_resource_apply_dense` how a gradient
    changes a variable.

    Args:
        use_locking: passed on to the operations; updates are atomic anyway.
        name: name scope of the operations.

    Source: `tf.compat.v1.train.Optimizer`.
    """

    GATE_NONE: ClassVar[int] = 0
    GATE_OP: ClassVar[int] = 1
    GATE_GRAPH: ClassVar[int] = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise GraphError("an optimizer needs a name")
        self._use_locking = use_locking
        self._name = name
        self._slots: dict[str, dict[Variable, Variable]] = {}
        self._non_slots: dict[tuple[str, Graph], Variable] = {}

    def get_name(self) -> str:
        """Its name."""
        return self._name

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Sequence[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """An operation that changes variables so that a loss gets less.

        Args:
            loss: the tensor.
            global_step: a variable to which the operation adds 1.
            var_list: the variables; all trainable ones otherwise.
            gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH: how long updates wait for gradients.
            aggregation_method: see `gradients`.
            colocate_gradients_with_ops: see `gradients`.
            name: name of the operation.
            grad_loss: cotangent of the loss; ones otherwise.

        Raises:
            GraphError: no variable is reached.
            RuleError: an operation on the way has no derivative.
        """
        pairs = self.compute_gradients(
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops,
            grad_loss,
        )  # fmt: skip
        if all(gradient is None for gradient, _ in pairs):
            raise _nothing([v for _, v in pairs], loss)
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Sequence[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """The first half of `minimize`: gradients of the loss.

        Args:
            loss: see `minimize`.
            var_list: see `minimize`.
            gate_gradients: see `minimize`.
            aggregation_method: see `minimize`.
            colocate_gradients_with_ops: see `minimize`.
            grad_loss: see `minimize`.

        Returns:
            A pair of gradient (None where the loss does not depend on it) and variable for each.

        Raises:
            DTypeError: a variable is not floating.
            GraphError: there is no variable.
        """
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise GraphError(f"there is no gate {gate_gradients!r}")
        if callable(loss):
            raise TypeError("the loss is a tensor, not a function")
        loss = convert_to_tensor(loss)
        variables = trainable_variables() if var_list is None else list(var_list)
        if not variables:
            raise GraphError("there are no variables to train", made=user_line())
        _check_differentiable([loss])
        found = gradients(
            loss,
            variables,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        # a trainable counter has no gradient, and is left alone
        _check_differentiable([v for g, v in zip(found, variables, strict=True) if g is not None])
        if gate_gradients == self.GATE_GRAPH and any(g is not None for g in found):
            found = gated(found)
        return list(zip(found, variables, strict=True))

    def apply_gradients(
        self,
        grads_and_vars: Sequence[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Operation:
        """The second half of `minimize`: an operation that changes variables by gradients.

        Args:
            grads_and_vars: pairs as `compute_gradients` gives them.
            global_step: a variable to which the operation adds 1.
            name: name of the operation.

        Returns:
            The operation, which is in the collection TRAIN_OP too.

        Raises:
            GraphError: there is no gradient.
            TypeError: something is no variable, or no gradient.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise GraphError("there are no gradients to apply")
        for _, variable in pairs:
            if not isinstance(variable, Variable):
                raise TypeError(f"{clipped(variable)} is no variable")
        used = [(g, v) for g, v in pairs if g is not None]
        if not used:
            raise _nothing([v for _, v in pairs], None)
        with init_scope():
            self._create_slots([v for _, v in used])
        graph = get_default_graph()
        with name_scope(name, self._name) as scope:
            self._prepare()
            updates: list[Any] = []
            for gradient, variable in used:
                label = f"update_{variable.op.name}"
                with graph.name_scope(label), graph.colocate_with(variable.op):
                    updates.append(self._updated(gradient, variable))
            if global_step is None:
                made = self._finish(updates, scope)
            else:
                last = self._finish(updates, "update")
                made = self._counted(global_step, last, scope)
        graph.add_to_collection(GraphKeys.TRAIN_OP, made)
        return made

    def _counted(self, step: Any, last: Operation, scope: str) -> Operation:
        graph = get_default_graph()
        with graph.control_dependencies([last]), graph.colocate_with(step.op):
            if hasattr(step, "handle"):
                one = convert_to_tensor(1, step.dtype.base)
                return apply("AssignAddVariableOp", (step.handle, one), None, scope)
            counted: Tensor = assign_add(step, 1, name=scope)
            return counted.op

    def _updated(self, gradient: Any, variable: Variable) -> Any:
        """The update of one variable, its constraint included."""
        if not isinstance(gradient, Tensor | IndexedSlices):
            gradient = convert_to_tensor(gradient)
        if isinstance(gradient, IndexedSlices):
            gradient = convert_to_tensor(gradient)  # rows named twice are added
        if not isinstance(variable, RefVariable):
            update = self._resource_apply_dense(gradient, variable)
        else:
            update = self._apply_dense(gradient, variable)
        if variable.constraint is None:
            return update
        with get_default_graph().control_dependencies([update]):
            return variable.assign(variable.constraint(variable.read_value())).op

    # -- what it keeps -----------------------------------------------------------------------

    def variables(self) -> list[Variable]:
        """Variables that it made in the default graph, sorted by name."""
        graph = get_default_graph().outermost
        own = [v for (_, g), v in self._non_slots.items() if g is graph]
        slots = [s for kept in self._slots.values() for v, s in kept.items() if v.graph is graph]
        return sorted([*own, *slots], key=lambda v: v.name)

    def get_slot(self, var: Any, name: str) -> Any:
        """What it keeps under a name beside a variable; None where there is nothing."""
        return self._slots.get(name, {}).get(var)

    def get_slot_names(self) -> list[str]:
        """Names of what it keeps beside variables, sorted."""
        return sorted(self._slots)

    def _get_or_make_slot(self, var: Variable, val: Any, slot_name: str, op_name: str) -> Variable:
        kept = self._slots.setdefault(slot_name, {})
        if var not in kept:
            kept[var] = _slot(var, lambda: val, op_name, None)
        return kept[var]

    def _zeros_slot(self, var: Variable, slot_name: str, op_name: str) -> Variable:
        kept = self._slots.setdefault(slot_name, {})
        if var not in kept:
            kept[var] = _slot(var, lambda: _zeros_like(var), op_name, var.dtype.base)
        return kept[var]

    def _create_non_slot_variable(
        self, initial_value: Any, name: str, colocate_with: Variable
    ) -> Variable:
        key = (name, colocate_with.graph)
        if key not in self._non_slots:
            with colocate_with.graph.colocate_with(colocate_with.op):
                self._non_slots[key] = Variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=not isinstance(colocate_with, RefVariable),
                )
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Graph) -> Variable:
        return self._non_slots[name, graph]

    # -- what a kind of optimizer says -------------------------------------------------------

    def _create_slots(self, var_list: Sequence[Variable]) -> None:
        """Makes what is kept beside the variables; nothing by default."""
        return

    def _prepare(self) -> None:
        """Makes what a step needs once; nothing by default."""
        return

    @abstractmethod
    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        """The update of a reference variable."""

    @abstractmethod
    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        """The update of a resource variable."""

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Operation:
        """An operation after all updates."""
        return group(*update_ops, name=name_scope)

    @staticmethod
    def _call_if_callable(param: Any) -> Any:
        """A parameter, or what it gives where it is a function."""
        return param() if callable(param) else param


def _slot(var: Variable, initial: Callable[[], Any], op_name: str, dtype: Any) -> Variable:
    """A variable beside another, named after both; `w/Adam`."""
    with variable_scope(None, f"{var.op.name}/{op_name}", auxiliary_name_scope=False) as scope:
        name = scope.name
    resource = not isinstance(var, RefVariable)
    graph = var.graph
    with graph.name_scope(None), graph.colocate_with(var.op):
        return Variable(initial, trainable=False, name=name, dtype=dtype, use_resource=resource)


def _zeros_like(var: Variable) -> Tensor:
    if var.shape.is_fully_defined():
        return zeros(var.shape, var.dtype.base)
    return zeros(shape(var.initialized_value()), var.dtype.base)


def _nothing(variables: Sequence[Any], loss: Any) -> GraphError:
    names = ", ".join(repr(v.name) for v in variables)
    return GraphError(
        f"no gradient reaches any of the variables {names}",
        node=loss.op.node.signature() if isinstance(loss, Tensor) else "",
        made=user_line(),
        do="the loss must depend on them through operations that have derivatives",
    )


def _check_differentiable(values: Iterable[Any]) -> None:
    for value in values:
        if not (value.dtype.is_floating or value.dtype.is_complex):
            raise DTypeError(
                f"{value.name!r} must be floating or complex to be trained, got {value.dtype.name}",
                made=user_line(),
                do="make it floating, or leave it out of var_list",
            )
