"""Rows of a table that bodies gather from: they leave the bodies as rows, not as whole tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphvm.graph.graph import Tensor
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.rules.cotangents import Cotangent, arrived, has_rows
from graphvm.rules.nodes import cast, constant, integers, node, zeros
from graphvm.rules.registry import Body
from graphvm_runtime.dtypes import int32, int64, variant
from graphvm_runtime.shapes import TensorType


def _types(slices: IndexedSlices) -> tuple[TensorType, TensorType]:
    """Types of values and indices, of any number of rows."""
    shape = slices.values.type.shape
    assert shape is not None
    values = TensorType(slices.values.type.dtype.base, (None, *shape[1:]))
    return values, TensorType(slices.indices.type.dtype.base, (None,))


def are_few(slices: IndexedSlices, table: TensorType) -> bool:
    """Whether the rows of one iteration are not known to be as many as the table has."""
    count = (slices.values.type.shape or (None,))[0]
    size = (table.shape or (None,))[0]
    return count is None or size is None or count < size


class ListedRows:
    """The rows that the iterations of a loop add to a table, in a list each of its parts.

    Attributes:
        results: the lists after an iteration, in the loop's body.
    """

    def __init__(self, body: Body, slices: IndexedSlices, name: str) -> None:
        self._types = _types(slices)
        self.results: list[Tensor] = []
        for part, type_ in zip((slices.values, slices.indices), self._types, strict=True):
            before = body.add_arg(TensorType(variant, ()), name, type_)
            attrs = {"element_dtype": type_.dtype}
            self.results.append(node("TensorListPushBack", (before, part), attrs))

    def start(self) -> list[Tensor]:
        """Empty lists."""
        return [
            node("EmptyTensorList", (_dims(t), integers(-1)), {"element_dtype": t.dtype})
            for t in self._types
        ]

    def joined(self, lists: Iterator[Tensor], table: Tensor) -> Cotangent:
        """The rows of all iterations as the cotangent of the table; takes its lists."""
        parts = [
            node(
                "TensorListConcatV2", (next(lists), _dims(t), constant([], int64)),
                {"element_dtype": t.dtype},
            )
            for t in self._types
        ]  # fmt: skip
        return arrived(parts, table)


def _dims(type_: TensorType) -> Tensor:
    assert type_.shape is not None
    return integers([-1 if d is None else d for d in type_.shape])


def common(found: Sequence[Cotangent]) -> tuple[TensorType, TensorType] | None:
    """Types of values and indices, where all branches with a cotangent give rows of one kind."""
    types = [_types(c) for c in found if has_rows(c)]
    values = {v for v, _ in types}
    if len(values) != 1 or len(types) < sum(c is not None for c in found):
        return None
    wide = any(i.dtype is int64 for _, i in types)
    return values.pop(), TensorType(int64 if wide else int32, (None,))


def parts_of(c: Cotangent, types: tuple[TensorType, TensorType]) -> tuple[Tensor, Tensor]:
    """Values and indices of the rows of one branch; none where it has no cotangent."""
    if isinstance(c, IndexedSlices):
        return c.values, cast(c.indices, types[1].dtype)
    values, indices = (zeros(TensorType(t.dtype, (0, *(t.shape or ())[1:]))) for t in types)
    return values, indices
