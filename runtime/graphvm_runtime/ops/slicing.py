"""What begin, end, strides and the five masks of a strided slice mean.

Source: TF op `StridedSlice`. The masks are bit sets over the entries of `begin`: an entry is an
ellipsis, a new axis, one index that drops its axis, or a range, tested in this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import Dim, shape_text


class Entry(Enum):
    """What one entry of `begin` stands for."""

    ELLIPSIS = 0
    NEW_AXIS = 1
    INDEX = 2
    RANGE = 3


def entries(attrs: Attrs, count: int) -> tuple[Entry, ...]:
    """Meaning of each of `count` entries. Raises ShapeError for two ellipses."""
    ellipsis, new, index = (
        attrs["ellipsis_mask"], attrs["new_axis_mask"], attrs["shrink_axis_mask"]
    )  # fmt: skip
    out = tuple(
        Entry.ELLIPSIS if ellipsis >> i & 1
        else Entry.NEW_AXIS if new >> i & 1
        else Entry.INDEX if index >> i & 1
        else Entry.RANGE
        for i in range(count)
    )  # fmt: skip
    if out.count(Entry.ELLIPSIS) > 1:
        raise ShapeError("a slice has at most one ellipsis")
    return out


def numpy_index(
    attrs: Attrs, begin: Sequence[int], end: Sequence[int], strides: Sequence[int]
) -> tuple[Any, ...]:
    """The same slice as an index of a NumPy array. Raises ShapeError for a stride of zero."""
    if not len(begin) == len(end) == len(strides):
        raise ShapeError("begin, end and strides must not differ in length")
    no_begin, no_end = attrs["begin_mask"], attrs["end_mask"]
    out: list[Any] = []
    for i, entry in enumerate(entries(attrs, len(begin))):
        if entry is Entry.RANGE:
            if strides[i] == 0:
                raise ShapeError(f"strides[{i}] is not zero")
            out.append(slice(
                None if no_begin >> i & 1 else begin[i],
                None if no_end >> i & 1 else end[i],
                strides[i],
            ))  # fmt: skip
        elif entry is Entry.INDEX:
            if strides[i] <= 0:
                raise ShapeError(f"strides[{i}] is positive where an axis is dropped")
            out.append(begin[i])
        else:
            out.append(None if entry is Entry.NEW_AXIS else Ellipsis)
    return tuple(out)


def sliced(
    attrs: Attrs,
    shape: tuple[Dim, ...],
    begin: Sequence[Dim],
    end: Sequence[Dim],
    strides: Sequence[Dim],
) -> tuple[Dim, ...]:
    """Shape of the slice, entries and dimensions being known or not.

    Raises:
        ShapeError: a constraint of `StridedSlice` is broken.
    """
    plan = entries(attrs, len(begin))
    used = sum(entry in (Entry.INDEX, Entry.RANGE) for entry in plan)
    if used > len(shape):
        raise ShapeError(
            f"the slice has {used} entries for axes, the input has shape {shape_text(shape)}"
        )
    out: list[Dim] = []
    axis = 0
    for i, entry in enumerate(plan):
        if entry is Entry.ELLIPSIS:
            rest = len(shape) - used
            out += shape[axis : axis + rest]
            axis += rest
        elif entry is Entry.NEW_AXIS:
            out.append(1)
        elif entry is Entry.INDEX:
            _check_index(shape[axis], begin[i], strides[i], i, axis)
            axis += 1
        else:
            first = None if attrs["begin_mask"] >> i & 1 else begin[i]
            last = None if attrs["end_mask"] >> i & 1 else end[i]
            known = (attrs["begin_mask"] >> i & 1 or first is not None) and (
                attrs["end_mask"] >> i & 1 or last is not None
            )
            out.append(_length(shape[axis], first, last, strides[i], bool(known), i))
            axis += 1
    return (*out, *shape[axis:])


def _check_index(dim: Dim, begin: Dim, stride: Dim, i: int, axis: int) -> None:
    if stride is not None and stride <= 0:
        raise ShapeError(f"strides[{i}] is positive where an axis is dropped")
    if dim is not None and begin is not None and not -dim <= begin < dim:
        raise ShapeError(f"index {begin} is outside axis {axis} of size {dim}")


def _length(dim: Dim, first: Dim, last: Dim, stride: Dim, known: bool, i: int) -> Dim:
    if stride == 0:
        raise ShapeError(f"strides[{i}] is not zero")
    if stride is None or not known:
        return None
    if dim is not None:
        return len(range(*slice(first, last, stride).indices(dim)))
    if first is None or last is None or (first < 0) != (last < 0):
        return None
    # without the size, only a range that ends before it begins has a known length
    return 0 if (last - first) * stride <= 0 else None
