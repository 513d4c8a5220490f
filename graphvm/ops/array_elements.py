"""How a TensorArray keeps its elements: in a list that is a value, or behind a handle."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from graphvm.graph.conversion import apply, constant_node, output
from graphvm.graph.graph import Operation, Tensor
from graphvm.graph.tensor_shape import TensorShape
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType

__all__ = ["Elements", "ListElements", "ResourceElements", "shape_tensor"]


def shape_tensor(shape: TensorShape) -> Tensor:
    """A shape as list ops take it: -1 for what is not known."""
    dims = -1 if shape.rank is None else [-1 if d is None else d for d in shape.as_list()]
    return constant_node(np.array(dims, np.int32), dtypes.int32, "element_shape")


class Elements(Protocol):
    """The operations on the elements of a TensorArray; each takes its value, and most a name.

    Attributes:
        handle: the resource behind it, if there is one.
        dynamic: whether writes may make it longer.
    """

    handle: Tensor | None
    dynamic: bool

    def size(self, flow: Tensor, name: str) -> Tensor:
        """Number of elements."""

    def close(self, name: str) -> Operation:
        """Lets it go."""

    def gradient(self, source: str, flow: Tensor, name: str) -> tuple[Elements, Tensor]:
        """The array for gradients of elements and its value."""

    def read(
        self, flow: Tensor, index: Tensor, shape: TensorShape, name: str | None = None
    ) -> Tensor:
        """An element."""

    def write(self, flow: Tensor, index: Tensor, value: Tensor, name: str | None = None) -> Tensor:
        """The value with another element."""

    def stack(self, flow: Tensor, shape: TensorShape, name: str | None = None) -> Tensor:
        """All elements."""

    def gather(self, flow: Tensor, indices: Tensor, shape: TensorShape, name: str) -> Tensor:
        """Some elements."""

    def concat(self, flow: Tensor, shape: TensorShape, name: str) -> Tensor:
        """All elements, one after the other."""

    def unstack(self, flow: Tensor, value: Tensor, name: str | None = None) -> Tensor:
        """The value with the rows of a tensor as elements."""

    def scatter(
        self, flow: Tensor, indices: Tensor, value: Tensor, name: str | None = None
    ) -> Tensor:
        """The value with rows of a tensor at some indices."""

    def split(
        self, flow: Tensor, value: Tensor, lengths: Tensor, name: str | None = None
    ) -> Tensor:
        """The value with parts of a tensor as elements."""


class ListElements:
    """Elements in a list, which is a value.

    Args:
        dtype: type of the elements.
        dynamic: whether writes may make it longer.
        count: how many there are, where that is known from the start.
    """

    handle: Tensor | None = None

    def __init__(self, dtype: DType, dynamic: bool, count: Tensor | None) -> None:
        self.dynamic = dynamic
        self._attrs = {"element_dtype": dtype}
        known = None if count is None or dynamic else count.graph.constant_of(count)
        self._count = None if known is None else int(known)

    def made(self, shape: TensorShape, count: Tensor, name: str) -> Tensor:
        """A new value."""
        return output("TensorListReserve", (shape_tensor(shape), count), self._attrs, name)

    def size(self, flow: Tensor, name: str) -> Tensor:
        """See `Elements`."""
        if self._count is not None:
            return constant_node(np.array(self._count, np.int32), dtypes.int32, name)
        return output("TensorListLength", (flow,), None, name)

    def close(self, name: str) -> Operation:
        """See `Elements`."""
        return apply("NoOp", (), None, name)

    def gradient(self, source: str, flow: Tensor, name: str) -> tuple[Elements, Tensor]:
        """See `Elements`."""
        empty = _empty_like(flow, self._attrs, name)
        return _Sums(self._attrs["element_dtype"], False, None), empty

    def read(
        self, flow: Tensor, index: Tensor, shape: TensorShape, name: str | None = None
    ) -> Tensor:
        """See `Elements`."""
        inputs = (flow, index, shape_tensor(shape))
        return output("TensorListGetItem", inputs, self._attrs, name)

    def write(self, flow: Tensor, index: Tensor, value: Tensor, name: str | None = None) -> Tensor:
        """See `Elements`."""
        attrs = {**self._attrs, "resize_if_index_out_of_bounds": self.dynamic}
        return output("TensorListSetItem", (flow, index, value), attrs, name)

    def stack(self, flow: Tensor, shape: TensorShape, name: str | None = None) -> Tensor:
        """See `Elements`."""
        attrs = {**self._attrs, "num_elements": -1 if self._count is None else self._count}
        return output("TensorListStack", (flow, shape_tensor(shape)), attrs, name)

    def gather(self, flow: Tensor, indices: Tensor, shape: TensorShape, name: str) -> Tensor:
        """See `Elements`."""
        inputs = (flow, indices, shape_tensor(shape))
        return output("TensorListGather", inputs, self._attrs, name)

    def concat(self, flow: Tensor, shape: TensorShape, name: str) -> Tensor:
        """See `Elements`."""
        none = constant_node(np.array([], np.int64), dtypes.int64, "leading_dims")
        inputs = (flow, shape_tensor(shape), none)
        return output("TensorListConcatV2", inputs, self._attrs, name)

    def unstack(self, flow: Tensor, value: Tensor, name: str | None = None) -> Tensor:
        """See `Elements`."""
        row = TensorShape(None) if value.shape.rank is None else value.shape[1:]
        return output("TensorListFromTensor", (value, shape_tensor(row)), self._attrs, name)

    def scatter(
        self, flow: Tensor, indices: Tensor, value: Tensor, name: str | None = None
    ) -> Tensor:
        """See `Elements`."""
        inputs = (flow, value, indices)
        return output("TensorListScatterIntoExistingList", inputs, self._attrs, name)

    def split(
        self, flow: Tensor, value: Tensor, lengths: Tensor, name: str | None = None
    ) -> Tensor:
        """See `Elements`."""
        rank = value.shape.rank
        part = TensorShape(None if rank is None else [None]) + (
            TensorShape(None) if rank is None else value.shape[1:]
        )
        inputs = (value, shape_tensor(part), lengths)
        return output("TensorListSplit", inputs, self._attrs, name)


def _empty_like(flow: Tensor, attrs: dict[str, DType], name: str) -> Tensor:
    """A list as long as another, of which no element is set: each of them is zero."""
    shape = output("TensorListElementShape", (flow,), {"shape_type": dtypes.int32})
    count = output("TensorListLength", (flow,))
    return output("TensorListReserve", (shape, count), attrs, name)


class _Sums(ListElements):
    """Elements of a list to which writes add."""

    def write(self, flow: Tensor, index: Tensor, value: Tensor, name: str | None = None) -> Tensor:
        """See `Elements`."""
        alone = super().write(_empty_like(flow, self._attrs, "empty"), index, value, "term")
        return output("AddN", ([flow, alone],), None, name)

    def unstack(self, flow: Tensor, value: Tensor, name: str | None = None) -> Tensor:
        """See `Elements`."""
        return output("AddN", ([flow, super().unstack(flow, value, "term")],), None, name)

    def scatter(
        self, flow: Tensor, indices: Tensor, value: Tensor, name: str | None = None
    ) -> Tensor:
        """See `Elements`."""
        empty = _empty_like(flow, self._attrs, "empty")
        alone = super().scatter(empty, indices, value, "term")
        return output("AddN", ([flow, alone],), None, name)

    def split(
        self, flow: Tensor, value: Tensor, lengths: Tensor, name: str | None = None
    ) -> Tensor:
        """See `Elements`."""
        return output("AddN", ([flow, super().split(flow, value, lengths, "term")],), None, name)


class ResourceElements:
    """Elements behind the handle of a TensorFlow 1 array; the flow orders what is done to it.

    Args:
        dtype: type of the elements.
        handle: the resource.
    """

    dynamic = False

    def __init__(self, dtype: DType, handle: Tensor) -> None:
        self._dtype = dtype
        self.handle: Tensor | None = handle

    def size(self, flow: Tensor, name: str) -> Tensor:
        """See `Elements`."""
        return output("TensorArraySizeV3", (self.handle, flow), None, name)

    def close(self, name: str) -> Operation:
        """See `Elements`."""
        return apply("TensorArrayCloseV3", (self.handle,), None, name)

    def gradient(self, source: str, flow: Tensor, name: str) -> tuple[Elements, Tensor]:
        """See `Elements`."""
        attrs = {"source": source.encode()}
        made = apply("TensorArrayGradV3", (self.handle, flow), attrs, name).outputs
        return ResourceElements(self._dtype, made[0]), made[1]

    def read(
        self, flow: Tensor, index: Tensor, shape: TensorShape, name: str | None = None
    ) -> Tensor:
        """See `Elements`."""
        attrs = {"dtype": self._dtype}
        return output("TensorArrayReadV3", (self.handle, index, flow), attrs, name)

    def write(self, flow: Tensor, index: Tensor, value: Tensor, name: str | None = None) -> Tensor:
        """See `Elements`."""
        return output("TensorArrayWriteV3", (self.handle, index, value, flow), None, name)

    def stack(self, flow: Tensor, shape: TensorShape, name: str | None = None) -> Tensor:
        """See `Elements`."""
        return self.gather(flow, self._all(self.size(flow, "size")), shape, name or "gather")

    def _all(self, count: Tensor) -> Tensor:
        return output("Range", (0, count, 1))

    def gather(self, flow: Tensor, indices: Tensor, shape: TensorShape, name: str) -> Tensor:
        """See `Elements`."""
        attrs = {"dtype": self._dtype, "element_shape": shape.tuple}
        return output("TensorArrayGatherV3", (self.handle, indices, flow), attrs, name)

    def concat(self, flow: Tensor, shape: TensorShape, name: str) -> Tensor:
        """See `Elements`."""
        rest = None if shape.rank is None else shape[1:].tuple
        attrs = {"dtype": self._dtype, "element_shape_except0": rest}
        return output("TensorArrayConcatV3", (self.handle, flow), attrs, name)

    def unstack(self, flow: Tensor, value: Tensor, name: str | None = None) -> Tensor:
        """See `Elements`."""
        count = output("StridedSlice", (output("Shape", (value,)), [0], [1], [1]),
                       {"shrink_axis_mask": 1})  # fmt: skip
        return self.scatter(flow, self._all(count), value, name)

    def scatter(
        self, flow: Tensor, indices: Tensor, value: Tensor, name: str | None = None
    ) -> Tensor:
        """See `Elements`."""
        return output("TensorArrayScatterV3", (self.handle, indices, value, flow), None, name)

    def split(
        self, flow: Tensor, value: Tensor, lengths: Tensor, name: str | None = None
    ) -> Tensor:
        """See `Elements`."""
        return output("TensorArraySplitV3", (self.handle, value, lengths, flow), None, name)
