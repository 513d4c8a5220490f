"""Functions that make one op and nothing else: a row each, with name, op, types and meaning.

Each row gives a function with TensorFlow's parameters and a docstring made from the row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from graphvm.graph.conversion import (
    TensorLike,
    constant_node,
    convert_to_tensor,
    output,
    same_graph,
)
from graphvm.graph.graph import Tensor
from graphvm.ops.arguments import either
from graphvm_runtime import dtypes

_F = TypeVar("_F", bound=Callable[..., Tensor])


class Unary(Protocol):
    """A function of one tensor, element by element."""

    def __call__(self, x: TensorLike, name: str | None = None) -> Tensor:
        """Makes the op."""
        ...


class Activation(Protocol):
    """A function of one tensor, element by element, of `tf.nn`."""

    def __call__(self, features: TensorLike, name: str | None = None) -> Tensor:
        """Makes the op."""
        ...


class Binary(Protocol):
    """A function of two tensors that broadcast, element by element."""

    def __call__(self, x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
        """Makes the op."""
        ...


class Reduction(Protocol):
    """A reduction over some axes."""

    def __call__(
        self,
        input_tensor: TensorLike,
        axis: TensorLike = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike = None,
        keep_dims: bool | None = None,
    ) -> Tensor:
        """Makes the op."""
        ...


class Wrappers:
    """Makes the functions of one module.

    Args:
        module: its name.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def unary(
        self, name: str, op: str, takes: str, what: str, gives: str = "Same element type and shape."
    ) -> Unary:
        """A row of `Unary`.

        Args:
            name: of the function.
            op: the op that it makes.
            takes: the element types of `x`, in words.
            what: its meaning, in one sentence.
            gives: element type and shape of the result.
        """

        def function(x: TensorLike, name: str | None = None) -> Tensor:
            return output(op, (x,), None, name)

        return self._document(function, name, _UNARY.format(what, "x", takes, gives, op))

    def activation(self, name: str, op: str, takes: str, what: str) -> Activation:
        """A row of `Activation`; arguments as for `unary`."""

        def function(features: TensorLike, name: str | None = None) -> Tensor:
            return output(op, (features,), None, name)

        gives = "Same element type and shape."
        return self._document(function, name, _UNARY.format(what, "features", takes, gives, op))

    def binary(
        self,
        name: str,
        op: str,
        takes: str,
        what: str,
        gives: str = "Same element type as `x`",
        node_name: str | None = None,
    ) -> Binary:
        """A row of `Binary`; arguments as for `unary`.

        Args:
            name: of the function.
            op: the op that it makes.
            takes: the element types of `x`, in words.
            what: its meaning, in one sentence.
            gives: element type of the result.
            node_name: name of the node by default; that of the op otherwise.
        """

        def function(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
            return output(op, (x, y), None, name or node_name)

        return self._document(function, name, _BINARY.format(what, takes, gives, op))

    def reduction(self, name: str, op: str, takes: str, what: str, empty: str) -> Reduction:
        """A row of `Reduction`; arguments as for `unary`.

        Args:
            name: of the function.
            op: the op that it makes.
            takes: the element types of `input_tensor`, in words.
            what: its meaning, in one sentence.
            empty: the result for an empty axis.
        """

        def function(
            input_tensor: TensorLike,
            axis: TensorLike = None,
            keepdims: bool | None = None,
            name: str | None = None,
            reduction_indices: TensorLike = None,
            keep_dims: bool | None = None,
        ) -> Tensor:
            axis = either("axis", axis, "reduction_indices", reduction_indices)
            keep = either("keepdims", keepdims, "keep_dims", keep_dims)
            return reduced(op, input_tensor, axis, bool(keep), name)

        return self._document(function, name, _REDUCTION.format(what, takes, empty, op))

    def _document(self, function: _F, name: str, text: str) -> _F:
        function.__name__ = function.__qualname__ = name
        function.__module__ = self._module
        function.__doc__ = text
        return function


def reduced(op: str, value: TensorLike, axis: Any, keep: bool, name: str | None) -> Tensor:
    """A reduction op over `axis`, over all axes where it is None.

    Args:
        op: the op, `Sum` or the like.
        value: what is reduced.
        axis: an integer or several, or a tensor.
        keep: keep reduced axes as length 1.
        name: name of the operation.
    """
    attrs = {"keep_dims": keep}
    if axis is not None:
        axis = list(axis) if isinstance(axis, range) else axis
        return output(op, (value, axis), attrs, name)
    value = convert_to_tensor(value, name="input_tensor")
    with same_graph((value,)):
        result = output(op, (value, _all_axes(value)), attrs, name)
    if not keep:
        result.set_shape(())
    return result


def _all_axes(value: Tensor) -> Tensor:
    shape = value.type.shape
    if shape is not None:
        return constant_node(np.arange(len(shape), dtype=np.int32), dtypes.int32)
    return output("Range", (0, output("Rank", (value,)), 1), None, "range")


_UNARY = """{}

Args:
    {}: {}, any shape.
    name: name of the operation.

Returns:
    {}

Raises:
    DTypeError: the op does not take the element type.

Source: TF op `{}`.
"""
_BINARY = """{}

Args:
    x: {}, any shape.
    y: same element type, of a shape that broadcasts with `x`.
    name: name of the operation.

Returns:
    {}; the shapes broadcast together.

Raises:
    DTypeError: element types differ, or the op does not take them.
    ShapeError: the shapes do not broadcast.

Source: TF op `{}`.
"""
_REDUCTION = """{}

Args:
    input_tensor: {}, any shape.
    axis: axes to reduce, an integer or several; None means all, [] none.
    keepdims: keep reduced axes as length 1.
    name: name of the operation.
    reduction_indices: old name of `axis`.
    keep_dims: old name of `keepdims`.

Returns:
    Same element type as `input_tensor`; its shape without `axis`. {} for an empty axis.

Raises:
    DTypeError: the op does not take the element type.
    ShapeError: `axis` is outside the rank.
    ValueError: both names of an argument are given.

Source: TF op `{}`.
"""
