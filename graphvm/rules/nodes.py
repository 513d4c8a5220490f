"""Nodes as derivative rules write them: short, and on tensors only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphvm.graph.conversion import constant_node
from graphvm.graph.graph import Operation, Tensor, get_default_graph
from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.shapes import TensorType, is_known


class _Node:
    """`node(op, inputs, attrs)` is output 0 of a new node, `node.of(...)` the operation."""

    def __call__(
        self, op: str, inputs: Sequence[Any], attrs: Mapping[str, Any] | None = None
    ) -> Tensor:
        return get_default_graph().add_node(op, inputs, attrs).outputs[0]

    def of(
        self, op: str, inputs: Sequence[Any], attrs: Mapping[str, Any] | None = None
    ) -> Operation:
        """The new operation."""
        return get_default_graph().add_node(op, inputs, attrs)


node = _Node()


def constant(value: Any, like: Tensor | DType) -> Tensor:
    """A constant of the element type of a tensor."""
    dtype = (like.type.dtype if isinstance(like, Tensor) else like).base
    return constant_node(np.array(value, dtype.numpy), dtype)


def integers(value: Any) -> Tensor:
    """An int32 constant."""
    return constant_node(np.array(value, np.int32), dtypes.int32)


def known_value(tensor: Tensor) -> Array | None:
    """The value of a tensor that is constant."""
    found: Array | None = tensor.graph.constant_of(tensor)
    return found


def mul(x: Tensor, y: Tensor) -> Tensor:
    """`x * y`."""
    return node("Mul", (x, y))


def sub(x: Tensor, y: Tensor) -> Tensor:
    """`x - y`."""
    return node("Sub", (x, y))


def neg(x: Tensor) -> Tensor:
    """`-x`."""
    return node("Neg", (x,))


def add(terms: Sequence[Tensor]) -> Tensor:
    """Sum of one or more tensors, which broadcast."""
    total = terms[0]
    for each in terms[1:]:
        total = node("AddV2", (total, each))
    return total


def conj(x: Tensor) -> Tensor:
    """Complex conjugate; `x` itself where it is real."""
    return node("Conj", (x,)) if x.type.dtype.is_complex else x


def cast(x: Tensor, dtype: DType) -> Tensor:
    """`x` in another element type."""
    if x.type.dtype.base is dtype.base:
        return x
    return node("Cast", (x,), {"DstT": dtype.base})


def reshape(x: Tensor, shape: Tensor) -> Tensor:
    """`x` in another shape."""
    return node("Reshape", (x, shape))


def total(x: Tensor, axes: Tensor, keep: bool = False) -> Tensor:
    """Sum over axes."""
    return node("Sum", (x, axes), {"keep_dims": keep})


def shape_of(x: Tensor) -> Tensor:
    """Its shape as int32: a constant where it is known."""
    shape = x.type.shape
    return integers(shape) if is_known(shape) else node("Shape", (x,))


def shape_held(x: Tensor) -> Tensor:
    """Shape of a tensor, or of the variable whose handle it is, as int32."""
    if x.type.dtype.base is not dtypes.resource:
        return shape_of(x)
    held = x.graph.handle_of(x)
    known = held is not None and is_known(held.shape)
    return integers(held.shape) if known else node("VariableShape", (x,))


def zeros(type_: TensorType) -> Tensor:
    """Zeros of a type whose shape is known."""
    return node("Fill", (integers(type_.shape), constant(0, type_.dtype)))


def zeros_like(x: Tensor) -> Tensor:
    """Zeros of the shape of a tensor, or of what a resource or list holds."""
    dtype = x.type.dtype.base
    if dtype is dtypes.resource:
        held = x.graph.handle_of(x)
        assert held is not None
        return node("Fill", (shape_held(x), constant(0, held.dtype)))
    if dtype is dtypes.variant:
        return node("ZerosLike", (x,))
    return node("Fill", (shape_of(x), constant(0, dtype)))


def select(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Elements of `x` where `condition`, else of `y`; all three broadcast."""
    return node("SelectV2", (condition, x, y))


def item(vector: Tensor, begin: int, end: int | None = None) -> Tensor:
    """`vector[begin]`, or `vector[begin:end]` where an end is given."""
    attrs = {"shrink_axis_mask": 1} if end is None else {}
    stop = begin + 1 if end is None else end
    return node("StridedSlice", (vector, integers([begin]), integers([stop]), integers([1])), attrs)
