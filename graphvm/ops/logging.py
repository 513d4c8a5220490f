"""Checks that run with the graph."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm.conversion import TensorLike, apply
from graphvm.graph import Operation

__all__ = ["Assert"]


def Assert(
    condition: TensorLike,
    data: Sequence[TensorLike],
    summarize: int | None = None,
    name: str | None = None,
) -> Operation:
    """Stops the step with an InvalidArgumentError where a condition does not hold.

    It runs where something that is fetched comes after it (`control_dependencies`).

    Args:
        condition: bool; all of it must hold.
        data: tensors that the error shows.
        summarize: how many elements of each; 3 by default, -1 means all.
        name: name of the operation.

    Returns:
        The operation.

    Raises:
        DTypeError: `condition` is not bool.

    Source: TF op `Assert`, without the branch that TensorFlow builds around it.
    """
    return apply(
        "Assert",
        (condition, list(data)),
        {"summarize": 3 if summarize is None else summarize},
        name,
    )
