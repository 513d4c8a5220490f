"""Arithmetic on two tensors, with broadcasting."""

from __future__ import annotations

from graphvm.graph import literals
from graphvm.graph.conversion import TensorLike, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Tensor
from graphvm.ops.wrappers import Wrappers
from graphvm_runtime import dtypes

__all__ = [
    "add", "div", "div_no_nan", "divide", "floor_div", "floordiv", "floormod", "maximum",
    "minimum", "mod", "multiply", "pow", "realdiv", "squared_difference", "subtract",
    "truediv",
]  # fmt: skip

_wrap = Wrappers(__name__)

floor_div = _wrap.binary("floor_div", "FloorDiv", "real", "`x / y` rounded towards minus infinity.")
floordiv = _wrap.binary(
    "floordiv", "FloorDiv", "real", "`x / y` rounded towards minus infinity.", node_name="floordiv"
)
floormod = _wrap.binary(
    "floormod", "FloorMod", "real", "What is left after `floordiv`; it has the sign of y."
)
maximum = _wrap.binary(
    "maximum", "Maximum", "real", "The greater of x and y, NaN where one is NaN."
)
minimum = _wrap.binary("minimum", "Minimum", "real", "The lesser of x and y, NaN where one is NaN.")
multiply = _wrap.binary("multiply", "Mul", "numeric", "`x * y`, element by element.")
pow = _wrap.binary("pow", "Pow", "numeric", "`x ** y`, element by element.")
realdiv = _wrap.binary("realdiv", "RealDiv", "floating or complex", "`x / y`, element by element.")
squared_difference = _wrap.binary(
    "squared_difference", "SquaredDifference", "numeric", "(x - y)**2, element by element."
)
subtract = _wrap.binary("subtract", "Sub", "numeric", "`x - y`, element by element.")


def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x + y`, element by element; strings are joined.

    Args:
        x: numeric or string, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        Same element type as `x`; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF ops `AddV2` and, for strings, `Add`.
    """
    op = "Add" if is_text(x) or is_text(y) else "AddV2"
    return output(op, (x, y), None, name or "Add")


def is_text(value: TensorLike) -> bool:
    """Whether a value is text, which only `Add` takes."""
    if isinstance(value, Tensor):
        return value.type.dtype.base is dtypes.string
    return literals.is_text(value) or getattr(value, "dtype", None) is dtypes.string


def div_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y`, and 0 where y is 0; integers are made floating first.

    Args:
        x: numeric, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        float32 for integers of at most 16 bits, float64 for longer ones, otherwise the element
        type of `x`; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or the op does not take them.
        ShapeError: the shapes do not broadcast.

    Source: TF op `DivNoNan`.
    """
    with op_scope(name or "div_no_nan", (x, y)) as scope:
        return output("DivNoNan", _floating(*_converted(x, y)), None, scope)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` as Python 2 divided: of integers the floor, of anything else the quotient.

    Args:
        x: numeric, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        Same element type as `x`; the shapes broadcast together.

    Raises:
        DTypeError: element types differ.
        ShapeError: the shapes do not broadcast.

    Source: `tf.compat.v1.div`.
    """
    with op_scope(name or "div", (x, y)) as scope:
        x, y = _converted(x, y)
        op = "FloorDiv" if x.dtype.is_integer else "RealDiv"
        return output(op, (x, y), None, scope)


def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` as Python 3 divides; the same as `truediv`.

    Args:
        x: numeric, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        See `truediv`.

    Raises:
        DTypeError: element types differ.
        ShapeError: the shapes do not broadcast.

    Source: `tf.divide`.
    """
    return truediv(x, y, name)


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """`x / y` as Python 3 divides: integers are made floating first.

    Args:
        x: numeric, any shape.
        y: same element type, of a shape that broadcasts with `x`.
        name: name of the operation.

    Returns:
        float32 for integers of at most 16 bits, float64 for longer ones, otherwise the element
        type of `x`; the shapes broadcast together.

    Raises:
        DTypeError: element types differ, or are bool or string.
        ShapeError: the shapes do not broadcast.

    Source: `tf.truediv`.
    """
    with op_scope(name or "truediv", (x, y)) as scope:
        return output("RealDiv", _floating(*_converted(x, y)), None, scope)


def _floating(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Integers as floating numbers that hold them, others as they are."""
    if not x.dtype.is_integer or x.dtype.base is not y.dtype.base:
        return x, y
    attrs = {"DstT": dtypes.float32 if x.dtype.size <= 2 else dtypes.float64}
    return output("Cast", (x,), attrs), output("Cast", (y,), attrs)


def _converted(x: TensorLike, y: TensorLike) -> tuple[Tensor, Tensor]:
    """Both as tensors, a Python value beside a tensor in that tensor's type."""
    if isinstance(y, Tensor):
        return convert_to_tensor(x, None, "x", dtype_hint=y.dtype), y
    x = convert_to_tensor(x, None, "x", dtype_hint=getattr(y, "dtype", None))
    return x, convert_to_tensor(y, None, "y", dtype_hint=x.dtype)


mod = floormod
