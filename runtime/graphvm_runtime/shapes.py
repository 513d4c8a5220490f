"""Partially known shapes and their algebra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import ShapeError

Dim: TypeAlias = int | None
Shape: TypeAlias = tuple[Dim, ...] | None  # None: rank unknown

MAX_RANK = 254  # of a shape, in TensorFlow; an array has at most as many axes as NumPy lets it


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and static shape of a tensor; prints as `f32[3,?]`, `f32[*]`."""

    dtype: DType
    shape: Shape

    def __str__(self) -> str:
        return f"{self.dtype}{shape_text(self.shape)}"


def shape_text(shape: Shape) -> str:
    """`[3,?]`; `[*]` for an unknown rank."""
    if shape is None:
        return "[*]"
    return "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"


def is_known(shape: Shape) -> bool:
    """Whether rank and every dimension are known."""
    return shape is not None and None not in shape


def size_of(shape: Shape) -> int | None:
    """Number of elements, None where it is not known."""
    if shape is None:
        return None
    size = 1
    for d in shape:
        if d is None:
            return None
        size *= d
    return size


def bytes_of(type_: TensorType) -> int | None:
    """Bytes of an array of this type, None where that is not known or its elements are objects."""
    size, element = size_of(type_.shape), type_.dtype.numpy
    return None if size is None or element.kind == "O" else size * element.itemsize


def merged_dim(a: Dim, b: Dim) -> Dim:
    """What both say of one dimension. Raises ShapeError when they differ."""
    if a is None:
        return b
    if b is None or a == b:
        return a
    raise ShapeError(f"dimensions {a} and {b} differ")


def merged(a: Shape, b: Shape) -> Shape:
    """What both say of one shape. Raises ShapeError when they contradict each other."""
    if a is b or b is None:
        return a
    if a is None:
        return b
    if len(a) != len(b):
        raise ShapeError(f"shapes {shape_text(a)} and {shape_text(b)} have different ranks")
    if a == b:
        return a
    try:
        return tuple(merged_dim(x, y) for x, y in zip(a, b, strict=True))
    except ShapeError:
        raise ShapeError(f"shapes {shape_text(a)} and {shape_text(b)} differ") from None


def is_compatible(a: Shape, b: Shape) -> bool:
    """Whether one concrete shape could satisfy both."""
    if a is None or b is None:
        return True
    return len(a) == len(b) and all(
        x is None or y is None or x == y for x, y in zip(a, b, strict=True)
    )


def widened(a: Shape, b: Shape) -> Shape:
    """The most precise shape that covers both: unknown wherever they differ."""
    if a == b:
        return a
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(x if x == y else None for x, y in zip(a, b, strict=True))


def is_subshape(a: Shape, b: Shape) -> bool:
    """Whether every concrete shape of `a` is one of `b`."""
    if b is None:
        return True
    if a is None or len(a) != len(b):
        return False
    return all(y is None or x == y for x, y in zip(a, b, strict=True))


def broadcast(a: Shape, b: Shape) -> Shape:
    """Shape of an element-wise operation on both (NumPy's rule).

    Raises:
        ShapeError: two known dimensions differ and neither is 1.
    """
    if a == b and a is not None and None not in a:
        return a
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    wide_a: tuple[Dim, ...] = (1,) * (rank - len(a)) + a
    wide_b: tuple[Dim, ...] = (1,) * (rank - len(b)) + b
    out: list[Dim] = []
    for axis, (x, y) in enumerate(zip(wide_a, wide_b, strict=True)):
        if x == 1:
            out.append(y)
        elif y == 1 or x == y:
            out.append(x)
        elif x is None:
            out.append(y)
        elif y is None:
            out.append(x)
        else:
            raise ShapeError(
                f"shapes {shape_text(a)} and {shape_text(b)} do not broadcast: "
                f"{x} against {y} on axis {axis}",
                do="reshape one side, or reduce it first",
            )
    return tuple(out)


def normalized_axis(axis: int, rank: int, what: str = "axis") -> int:
    """`axis` counted from the front. Raises ShapeError when it is outside the rank."""
    if not -rank <= axis < rank:
        raise ShapeError(f"{what} {axis} is outside the rank {rank}")
    return axis % rank if rank else 0


def concatenated(parts: Sequence[Shape]) -> Shape:
    """All parts one after the other; unknown when one is."""
    out: tuple[Dim, ...] = ()
    for part in parts:
        if part is None:
            return None
        out += part
    return out
