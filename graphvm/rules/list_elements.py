"""OneElement: the cotangent of a list of which one element was read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from graphvm.graph.graph import Tensor
from graphvm.rules.nodes import integers, node, shape_of, zeros_like
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType


def zero_cotangent(x: Tensor) -> Tensor:
    """A cotangent of zeros; of a list, one of which no element is set, which costs less.

    Whoever reads a cotangent says what shape its elements have.
    """
    held = x.graph.handle_of(x) if x.type.dtype.base is dtypes.variant else None
    if held is None:
        return zeros_like(x)
    dims = -1 if held.shape is None else [-1 if d is None else d for d in held.shape]
    inputs = (integers(dims), node("TensorListLength", (x,)))
    return node("TensorListReserve", inputs, {"element_dtype": held.dtype})


class OneElement:
    """A list of zeros but for one element. It is added to another list without touching the rest.

    Attributes:
        primal: gives the list that was read.
        index: where.
        value: the cotangent of the element.
        dtype: type of the elements.
    """

    __slots__ = ("dtype", "index", "primal", "value")

    def __init__(
        self, primal: Callable[[], Tensor], index: Tensor, value: Tensor, dtype: DType
    ) -> None:
        self.primal = primal
        self.index = index
        self.value = value
        self.dtype = dtype

    def dense(self) -> Tensor:
        """As a list."""
        return self._set(zero_cotangent(self.primal()), self.value)

    def added_to(self, total: Tensor) -> Tensor:
        """The sum of another list and this one."""
        inputs = (total, self.index, shape_of(self.value))
        before = node("TensorListGetItem", inputs, {"element_dtype": self.dtype})
        return self._set(total, node("AddN", ([before, self.value],)))

    def _set(self, held: Tensor, value: Tensor) -> Tensor:
        inputs = (held, self.index, value)
        return node("TensorListSetItem", inputs, {"element_dtype": self.dtype})


def summed(whole: Tensor | None, elements: Sequence[OneElement]) -> Tensor | OneElement:
    """The sum of a list, if there is one, and of lists of one element each."""
    if whole is None:
        if len(elements) == 1:
            return elements[0]
        whole, elements = elements[0].dense(), elements[1:]
    for each in elements:
        whole = each.added_to(whole)
    return whole
