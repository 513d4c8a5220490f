"""Comparisons and logic, element by element."""

from __future__ import annotations

from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope
from graphvm.graph.graph import Tensor
from graphvm.ops.wrappers import Wrappers
from graphvm_runtime import dtypes

__all__ = [
    "equal", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_not",
    "logical_or", "logical_xor", "not_equal",
]  # fmt: skip

_wrap = Wrappers(__name__)

equal = _wrap.binary("equal", "Equal", "of any type", "`x == y`, element by element.", "bool")
greater = _wrap.binary("greater", "Greater", "real", "`x > y`, element by element.", "bool")
greater_equal = _wrap.binary(
    "greater_equal", "GreaterEqual", "real", "`x >= y`, element by element.", "bool"
)
less = _wrap.binary("less", "Less", "real", "`x < y`, element by element.", "bool")
less_equal = _wrap.binary(
    "less_equal", "LessEqual", "real", "`x <= y`, element by element.", "bool"
)
logical_and = _wrap.binary(
    "logical_and", "LogicalAnd", "bool", "`x and y`, element by element.", "bool"
)
logical_not = _wrap.unary("logical_not", "LogicalNot", "bool", "Not x, element by element.")
logical_or = _wrap.binary(
    "logical_or", "LogicalOr", "bool", "`x or y`, element by element.", "bool"
)
not_equal = _wrap.binary(
    "not_equal", "NotEqual", "of any type", "`x != y`, element by element.", "bool"
)


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
