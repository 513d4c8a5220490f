"""Parts of a tensor, and batches whose entries are reversed."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import TensorLike, apply, convert_to_tensor, output
from graphvm.graph.graph import Tensor
from graphvm.graph.tensor_shape import Dimension
from graphvm.ops.arguments import either

__all__ = ["reverse_sequence", "split"]


def split(
    value: TensorLike,
    num_or_size_splits: Any,
    axis: TensorLike = 0,
    num: int | None = None,
    name: str = "split",
) -> list[Tensor]:
    """The parts of a tensor along an axis.

    Args:
        value: any type, rank at least 1.
        num_or_size_splits: how many equal parts, or a vector of their lengths; one of these may
            be -1, for what is left.
        axis: scalar integer; negative counts from the end.
        num: how many lengths there are, where that is not known.
        name: name of the operation.

    Returns:
        A list of tensors of the same element type.

    Raises:
        ShapeError: the parts do not make up the axis, or it is outside the rank.
        ValueError: `num` is needed and not given, or the lengths are a scalar tensor.

    Source: TF ops `Split` and `SplitV`.
    """
    if isinstance(num_or_size_splits, int | Dimension):
        attrs = {"num_split": int(num_or_size_splits)}
        return list(apply("Split", (axis, value), attrs, name).outputs)
    sizes = convert_to_tensor(num_or_size_splits)
    shape = sizes.type.shape
    if shape == ():
        raise ValueError("split takes a Python number of parts, or a vector of their lengths")
    if num is None:
        num = None if shape is None else shape[0]
    if num is None:
        raise ValueError(f"the number of lengths in {sizes.name!r} is not known: give num")
    return list(apply("SplitV", (value, sizes, axis), {"num_split": num}, name).outputs)


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """The first elements of each entry of a batch in reverse, the others as they are.

    Args:
        input: any type, rank at least 2.
        seq_lengths: vector of integers: for each entry how many elements are reversed.
        seq_axis: the axis along which they are reversed.
        batch_axis: the axis of the entries; the first one by default.
        name: name of the operation.
        seq_dim: old name of `seq_axis`.
        batch_dim: old name of `batch_axis`.

    Returns:
        Same element type and shape.

    Raises:
        ShapeError: an axis is outside the rank, or there are not as many lengths as entries.
        ValueError: there is no `seq_axis`, or both names of an argument are given.

    Source: TF op `ReverseSequence`.
    """
    along = either("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch = either("batch_axis", batch_axis, "batch_dim", batch_dim)
    if along is None:
        raise ValueError("reverse_sequence needs the axis to reverse along: give seq_axis")
    attrs = {"seq_dim": along, "batch_dim": batch or 0}
    return output("ReverseSequence", (input, seq_lengths), attrs, name)
