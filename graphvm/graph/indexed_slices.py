"""IndexedSlices: a tensor given by some of its rows, as the gradient of a gather is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from graphvm.graph.conversion import output, register_tensor_conversion_function
from graphvm.graph.graph import Graph, Operation, Tensor
from graphvm.graph.tensor_shape import TensorShape
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import DTypeError, GraphError
from graphvm_runtime.shapes import is_known


class IndexedSlicesValue(NamedTuple):
    """What running `IndexedSlices` gives. Source: `tf.compat.v1.IndexedSlicesValue`."""

    values: Array
    indices: Array
    dense_shape: Array | None


class IndexedSlices:
    """Rows `values` of a tensor at places `indices`; rows named twice are added.

    Attributes:
        values: any type, shape [n, ...].
        indices: integers, shape [n].
        dense_shape: shape of the whole tensor as a vector of integers; None where it is not known.

    Source: `tf.IndexedSlices`.
    """

    __slots__ = ("dense_shape", "indices", "values")

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        self.values = values
        self.indices = indices
        self.dense_shape = dense_shape

    @property
    def dtype(self) -> DType:
        """Element type of the values."""
        return self.values.dtype

    @property
    def name(self) -> str:
        """Name of the values."""
        return self.values.name

    @property
    def op(self) -> Operation:
        """The operation that makes the values."""
        return self.values.op

    @property
    def graph(self) -> Graph:
        """The graph that it is in."""
        graph: Graph = self.values.graph
        return graph

    @property
    def device(self) -> str:
        """Device of the values."""
        return self.values.device

    @property
    def shape(self) -> TensorShape:
        """Static shape of the whole tensor."""
        if self.dense_shape is None:
            return TensorShape(None)
        value = self.graph.constant_of(self.dense_shape)
        if value is not None:
            return TensorShape([int(d) for d in value])
        rank = self.dense_shape.type.shape
        return TensorShape([None] * rank[0] if rank and rank[0] is not None else None)

    def get_shape(self) -> TensorShape:
        """Static shape of the whole tensor."""
        return self.shape

    def dense(self, name: str | None = None) -> Tensor:
        """The whole tensor.

        Raises:
            GraphError: its shape is not known.
        """
        if self.dense_shape is None:
            raise GraphError(
                "IndexedSlices of an unknown dense shape are no tensor",
                node=self.values.op.node.signature(),
                do="give dense_shape",
            )
        rows = output(
            "StridedSlice",
            (self.dense_shape, [0], [1], [1]),
            {"shrink_axis_mask": 1},
        )
        made = output("UnsortedSegmentSum", (self.values, self.indices, rows), name=name)
        if made.type.shape is None or not is_known(made.type.shape):
            static = self.shape
            if static.rank is not None:
                made.set_shape(static)
        return made

    def _fetch_components(self) -> tuple[list[Tensor], Callable[[list[Any]], Any]]:
        """What a session runs for it, and how the values are put together."""
        parts = [self.values, self.indices]
        if self.dense_shape is None:
            return parts, lambda found: IndexedSlicesValue(found[0], found[1], None)
        return [*parts, self.dense_shape], IndexedSlicesValue._make

    def _control_element(self) -> Operation:
        return self.values.op

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(output("Neg", (self.values,)), self.indices, self.dense_shape)

    def __repr__(self) -> str:
        shape = "" if self.dense_shape is None else f", dense_shape={self.dense_shape.name!r}"
        return f"<IndexedSlices values={self.values.name!r}, indices={self.indices.name!r}{shape}>"


def joined(parts: Sequence[IndexedSlices]) -> IndexedSlices:
    """The sum of several: the rows of all."""
    if len(parts) == 1:
        return parts[0]
    kinds = {p.indices.dtype.base for p in parts}
    kind = kinds.pop() if len(kinds) == 1 else dtypes.int64
    indices = [
        p.indices if p.indices.dtype.base is kind else output("Cast", (p.indices,), {"DstT": kind})
        for p in parts
    ]
    zero = [0]
    return IndexedSlices(
        output("ConcatV2", ([p.values for p in parts], zero[0])),
        output("ConcatV2", (indices, zero[0])),
        next((p.dense_shape for p in parts if p.dense_shape is not None), None),
    )


def _to_tensor(value: IndexedSlices, dtype: DType | None, name: str | None, as_ref: bool) -> Any:
    if dtype is not None and dtype.base is not value.dtype.base:
        raise DTypeError(f"IndexedSlices of {value.dtype.name} are no tensor of {dtype.name}")
    return value.dense(name)


register_tensor_conversion_function(IndexedSlices, _to_tensor)
