"""Derivatives that a user declares: `RegisterGradient`, `NotDifferentiable`, `custom_gradient`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, TypeVar

from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Tensor, get_default_graph
from graphvm.rules import RULES
from graphvm.rules.registry import NotDifferentiable as NotDifferentiableRule
from graphvm.rules.registry import Registered
from graphvm_runtime.errors import GraphError

F = TypeVar("F", bound=Callable[..., Any])

_numbers = count()


class RegisterGradient:
    """Registers a gradient function, for an op or under a name to ask for.

    The decorated function is called as `function(op, *cotangents)` and gives a cotangent, or
    None, for each input of the operation. It counts as declared: it need not be the derivative.

    Args:
        op_type: name of an op that has no rule, or a new name for
            `Graph.gradient_override_map`.

    Source: `tf.RegisterGradient`.
    """

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, function: F) -> F:
        """Registers `function`. Raises RuleError where the name has a rule already."""
        RULES.register(self._op_type, Registered(function))
        return function


def NotDifferentiable(op_type: str) -> None:
    """Declares that no derivative passes an op.

    Args:
        op_type: name of an op that has no rule, or a new name for
            `Graph.gradient_override_map`.

    Raises:
        RuleError: the name has a rule already.

    Source: `tf.no_gradient`.
    """
    RULES.register(op_type, NotDifferentiableRule("declared by the user"))


NoGradient = NotDifferentiable


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function carry the derivative that it gives itself.

    Args:
        f: called on tensors; gives `(result, grad)`, result a tensor or several, and
            `grad(*cotangents)` gives a cotangent for each argument.

    Returns:
        A function that gives the result alone.

    Raises:
        GraphError: `grad` gives another number of cotangents than there are arguments.

    Source: `tf.custom_gradient`.
    """

    def wrapped(*args: Any) -> Any:
        inputs = [convert_to_tensor(a) for a in args]
        result, grad = f(*inputs)
        single = not isinstance(result, list | tuple)
        results: Sequence[Tensor] = [result] if single else list(result)
        outputs = [convert_to_tensor(r) for r in results]
        name = f"CustomGradient-{next(_numbers)}"

        def rule(op: Any, *cotangents: Any) -> Any:
            found = grad(*cotangents[: len(outputs)])
            grads = list(found) if isinstance(found, list | tuple) else [found]
            if len(grads) != len(inputs):
                raise GraphError(
                    f"{len(grads)} gradients from a custom gradient of {len(inputs)} arguments"
                )
            return [None] * len(outputs) + grads

        RULES.register(name, Registered(rule))
        # The results are constants of this node, the arguments lie beside them: what the
        # derivative passes is decided here, not by the nodes that computed the results.
        graph = get_default_graph()
        node = graph.add_node(
            "IdentityN",
            ([*outputs, *inputs],),
            {"_gradient_op_type": name.encode()},
            "CustomGradient",
        )
        made = node.outputs[: len(outputs)]
        return made[0] if single else type(result)(made)

    wrapped.__name__ = getattr(f, "__name__", "custom_gradient")
    wrapped.__doc__ = f.__doc__
    return wrapped
