"""Operations that only order others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphvm import nest
from graphvm.graph.conversion import apply, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Operation, Tensor, get_default_graph

__all__ = ["group", "no_op", "tuple", "with_dependencies"]


def no_op(name: str | None = None) -> Operation:
    """An operation that does nothing; it runs after what `control_dependencies` says.

    Args:
        name: name of the operation.

    Returns:
        The operation.

    Source: TF op `NoOp`.
    """
    return apply("NoOp", (), None, name)


def group(*inputs: Any, name: str | None = None) -> Operation:
    """An operation that runs after others.

    Args:
        inputs: operations, tensors and variables, or nested lists of them; None is left out.
        name: name of the operation.

    Returns:
        A NoOp.

    Raises:
        TypeError: something else is among them.

    Source: `tf.group`.
    """
    flat = [x for x in nest.flatten(inputs) if x is not None]
    for item in flat:
        if not hasattr(item, "graph"):
            raise TypeError(f"group takes operations and tensors, not {item!r}")
    graph = flat[0].graph if flat and not get_default_graph().building_function else None
    graph = get_default_graph() if graph is None else graph
    with graph.as_default(), graph.control_dependencies(flat):
        return graph.add_node("NoOp", (), {}, name or "group_deps")


def tuple(
    tensors: Sequence[Any],
    name: str | None = None,
    control_inputs: Sequence[Any] | None = None,
) -> list[Tensor | None]:
    """The same tensors, none of which is there before all of them are.

    Args:
        tensors: tensors; None stays None.
        name: name scope of the operations.
        control_inputs: operations that must have run too.

    Returns:
        A tensor for each.

    Raises:
        ValueError: there is no tensor among them.

    Source: `tf.tuple`.
    """
    given = [t for t in tensors if t is not None]
    with op_scope(name or "tuple", given):
        values = [
            t if t is None or isinstance(t, Operation) else convert_to_tensor(t) for t in tensors
        ]
        wanted = [t for t in values if t is not None]
        if not wanted:
            raise ValueError("tuple takes at least one tensor")
        gate = group(*wanted, *(control_inputs or ()))
        return [
            None if t is None or isinstance(t, Operation) else with_dependencies([gate], t)
            for t in values
        ]


def with_dependencies(
    dependencies: Sequence[Any], output_tensor: Any, name: str | None = None
) -> Tensor:
    """A tensor that is there only after some operations have run.

    Args:
        dependencies: operations or tensors.
        output_tensor: the tensor.
        name: name of the operation.

    Returns:
        The same value.

    Source: `tf.control_dependencies` and TF op `Identity`.
    """
    with get_default_graph().control_dependencies(dependencies):
        return output("Identity", (output_tensor,), None, name or "control_dependency")
