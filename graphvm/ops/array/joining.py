"""Tensors out of others: joined, taken apart, repeated, chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphvm.graph.conversion import (
    TensorLike,
    apply,
    constant_node,
    convert_to_tensor,
    holds_tensors,
    op_scope,
    output,
    packed,
)
from graphvm.graph.graph import Tensor
from graphvm.graph.literals import array_of
from graphvm.graph.source import user_line
from graphvm_runtime import dtypes
from graphvm_runtime.errors import GraphError
from graphvm_runtime.shapes import normalized_axis

__all__ = ["concat", "pad", "stack", "tile", "unstack", "where", "where_v2"]


def concat(
    values: Sequence[TensorLike] | TensorLike, axis: TensorLike, name: str = "concat"
) -> Tensor:
    """Tensors one after the other along an axis.

    Args:
        values: of one element type; shapes differ at most in `axis`.
        axis: scalar integer; negative counts from the end.
        name: name of the operation.

    Returns:
        Same element type; lengths of `axis` added up.

    Raises:
        DTypeError: element types differ.
        ShapeError: other dimensions differ, or `axis` is outside the rank.
        ValueError: there is no tensor, or the arguments are in the order of TensorFlow 0.x.

    Source: TF op `ConcatV2`.
    """
    if isinstance(values, int) and isinstance(axis, list | tuple):
        raise GraphError(
            f"concat takes the tensors first and the axis second, got {values} and "
            f"{len(axis)} tensors",
            made=user_line(),
            do=f"swap them: concat(values, axis={values})",
        )
    if not isinstance(values, list | tuple):
        values = [values]
    if not values:
        raise ValueError("concat takes at least one tensor")
    if len(values) == 1:
        with op_scope(name, values):
            convert_to_tensor(axis, dtypes.int32, "concat_dim").shape.assert_has_rank(0)
            return output("Identity", (values[0],), None, "concat")
    return output("ConcatV2", (list(values), axis), None, name)


def stack(values: Sequence[TensorLike], axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape along a new axis.

    Args:
        values: of one element type and shape.
        axis: where the new axis is in the result; negative counts from the end.
        name: name of the operation.

    Returns:
        Same element type; the shape with the number of tensors in it.

    Raises:
        DTypeError: element types differ.
        ShapeError: shapes differ, or `axis` is outside the rank.

    Source: TF op `Pack`.
    """
    values = list(values)
    if axis == 0 and not holds_tensors(values):
        array = array_of(values)
        return constant_node(array, dtypes.from_numpy(array.dtype), name)
    return packed(values, None, name, axis)


def unstack(
    value: TensorLike, num: int | None = None, axis: int = 0, name: str = "unstack"
) -> list[Tensor]:
    """The parts of a tensor along an axis.

    Args:
        value: any type, rank at least 1.
        num: length of the axis, where it is not known.
        axis: the axis; negative counts from the end.
        name: name of the operation.

    Returns:
        `num` tensors; the shape without the axis.

    Raises:
        ShapeError: `axis` is outside the rank, or `num` is not its length.
        ValueError: `num` is needed and not given.

    Source: TF op `Unpack`.
    """
    with op_scope(name, (value,)) as scope:
        value = convert_to_tensor(value, name="value")
        if num is None:
            dims = value.type.shape
            if dims is not None:
                num = dims[normalized_axis(axis, len(dims))]
            if num is None:
                raise ValueError(
                    f"the length of axis {axis} of {value.name!r} is not known: give num"
                )
        return list(apply("Unpack", (value,), {"num": num, "axis": axis}, scope).outputs)


def tile(input: TensorLike, multiples: TensorLike, name: str | None = None) -> Tensor:
    """A tensor repeated along each axis.

    Args:
        input: any type, rank n.
        multiples: vector of n integers: how often axis i is repeated.
        name: name of the operation.

    Returns:
        Element type of `input`; each dimension times its multiple.

    Raises:
        ShapeError: `multiples` has another length, or a negative element.

    Source: TF op `Tile`.
    """
    return output("Tile", (input, multiples), None, name)


def pad(
    tensor: TensorLike, paddings: TensorLike, mode: str = "CONSTANT", name: str | None = None
) -> Tensor:
    """A tensor with zeros around it.

    Args:
        tensor: any type, rank n.
        paddings: integers, shape [n, 2]: how many come before and after along each axis.
        mode: CONSTANT.
        name: name of the operation.

    Returns:
        Element type of `tensor`; dimensions longer by their paddings.

    Raises:
        GraphError: the mode is another one.
        ShapeError: `paddings` has another shape, or a negative element.

    Source: TF op `Pad`.
    """
    if str(mode).upper() != "CONSTANT":
        raise GraphError(f"pad has the mode CONSTANT, not {mode!r}")
    return output("Pad", (tensor, paddings), None, name)


def where(
    condition: TensorLike, x: TensorLike = None, y: TensorLike = None, name: str | None = None
) -> Tensor:
    """Elements of x where the condition holds, of y elsewhere; or where the condition holds.

    Args:
        condition: bool, of the shape of `x`, a vector that chooses along the first axis, or a
            scalar. Without `x` and `y`: bool or numbers, of any shape.
        x: any type and shape.
        y: same element type and shape.
        name: name of the operation.

    Returns:
        Element type and shape of `x`. Without `x` and `y`: int64, shape [n, rank], the indices
        of the n elements that are true or not zero, in row-major order.

    Raises:
        DTypeError: element types differ.
        ShapeError: shapes do not fit; `where_v2` broadcasts.
        ValueError: only one of `x` and `y` is given.

    Source: TF ops `Select` and `Where`, as `tf.where` chooses.
    """
    return _where("Select", condition, x, y, name)


def where_v2(
    condition: TensorLike, x: TensorLike = None, y: TensorLike = None, name: str | None = None
) -> Tensor:
    """Elements of x where the condition holds, of y elsewhere, with broadcasting.

    Args:
        condition: bool. Without `x` and `y`: bool or numbers.
        x: any type.
        y: same element type; all three shapes broadcast together.
        name: name of the operation.

    Returns:
        Element type of `x`; the shape that all three broadcast to. Without `x` and `y`: int64,
        shape [n, rank], the indices of the n elements that are true or not zero.

    Raises:
        DTypeError: element types differ.
        ShapeError: shapes do not broadcast.
        ValueError: only one of `x` and `y` is given.

    Source: TF ops `SelectV2` and `Where`, as `tf.where_v2` chooses.
    """
    return _where("SelectV2", condition, x, y, name)


def _where(op: str, condition: Any, x: Any, y: Any, name: str | None) -> Tensor:
    if x is None and y is None:
        return output("Where", (condition,), None, name)
    if x is None or y is None:
        raise GraphError("where takes x and y both, or neither", do="give x and y both")
    return output(op, (condition, x, y), None, name)
