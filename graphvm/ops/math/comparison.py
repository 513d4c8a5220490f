"""Comparisons and logic, element by element."""

from __future__ import annotations

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm_runtime import dtypes

__all__ = [
    "equal", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_not",
    "logical_or", "logical_xor", "not_equal",
]  # fmt: skip


def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x == y`, element by element.

    Args:
        x: of any type, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        bool; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF op `Equal`.
    """
    return output("Equal", (x, y), None, name)


def greater(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x > y`, element by element.

    Args:
        x: real, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        bool; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF op `Greater`.
    """
    return output("Greater", (x, y), None, name)


def greater_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x >= y`, element by element.

    Args:
        x: real, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        bool; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF op `GreaterEqual`.
    """
    return output("GreaterEqual", (x, y), None, name)


def less(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x < y`, element by element.

    Args:
        x: real, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        bool; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF op `Less`.
    """
    return output("Less", (x, y), None, name)


def less_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x <= y`, element by element.

    Args:
        x: real, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        bool; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF op `LessEqual`.
    """
    return output("LessEqual", (x, y), None, name)


def logical_and(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x and y`, element by element.

    Args:
        x: bool, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        bool; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF op `LogicalAnd`.
    """
    return output("LogicalAnd", (x, y), None, name)


def logical_not(x: TensorLike, name: str | None = None) -> Tensor:
    """Not x, element by element.

    Args:
        x: bool, any shape.
        name: name of the operation.

    Returns:
        Same element type and shape as `x`.

    Raises:
        DTypeError: the op does not take the element type of `x`.

    Source: TF op `LogicalNot`.
    """
    return output("LogicalNot", (x,), None, name)


def logical_or(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x or y`, element by element.

    Args:
        x: bool, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        bool; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF op `LogicalOr`.
    """
    return output("LogicalOr", (x, y), None, name)


def logical_xor(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Whether exactly one of x and y is true, element by element.

    Args:
        x: bool, any shape.
        y: bool, of a shape that broadcasts with `x`.
        name: name of the last operation.

    Returns:
        bool; the shapes broadcast together.

    Raises:
        DTypeError: element types are not bool.
        ShapeError: the shapes do not broadcast.

    Source: `tf.logical_xor`.
    """
    with op_scope(name or "LogicalXor", (x, y)) as scope:
        x = convert_to_tensor(x, dtypes.bool_, "x")
        y = convert_to_tensor(y, dtypes.bool_, "y")
        one, both = logical_or(x, y), logical_and(x, y)
        return logical_and(one, logical_not(both), scope)


def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x != y`, element by element.

    Args:
        x: of any type, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        bool; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF op `NotEqual`.
    """
    return output("NotEqual", (x, y), None, name)
