"""An op's shape rule, asked with the inputs that a node really has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError, ShapeError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.ir.infer import infer
from graphvm_runtime.kernels.registry import Kernel, Maker
from graphvm_runtime.ops.registry import Value, as_value
from graphvm_runtime.shapes import TensorType


def types_of(node: Node, inputs: Sequence[Any]) -> list[TensorType]:
    """Types of the inputs as they are."""
    return [
        TensorType(dtype.base, np.shape(value) if _is_array(value) else ())
        for dtype, value in zip(node.op.input_dtypes(node.attrs), inputs, strict=True)
    ]


def inferred(
    node: Node | None, inputs: Sequence[Any] | None
) -> Sequence[TensorType] | ShapeError | None:
    """Output types by the shape function for the inputs as they are; its error where it refuses.

    It is what would have been said where the node was made, had so much been known there; so
    kernels need not say it again. None where it is not known.
    """
    if node is None or inputs is None or len(inputs) != len(node.inputs):
        return None
    try:
        return infer(node.op, types_of(node, inputs), node.attrs, _Known(inputs))
    except ShapeError as error:
        return error
    except Exception:
        return None  # whatever it is, it would hide the error that is to be reported


def refusing(maker: Maker) -> Maker:
    """A maker of kernels that take only what the op's shape rule takes.

    For kernels that would compute something of inputs that do not fit, or fail in NumPy's words
    only sometimes. The rule costs some microseconds a call.
    """

    def make(node: Node) -> Kernel:
        made = maker(node)
        inner = made if isinstance(made, Kernel) else Kernel(made)
        first = int(inner.step)

        def call(*inputs: Any, **options: Any) -> Any:
            said = inferred(node, inputs[first:])
            if isinstance(said, ShapeError):
                raise InvalidArgumentError(said.what, do=said.do)
            return inner.call(*inputs, **options)

        return replace(inner, call=call)

    return make


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


class _Known:
    """Resolver of a node whose inputs are there."""

    def __init__(self, inputs: Sequence[Any]) -> None:
        self._inputs = inputs

    def value(self, index: int) -> Value | None:
        array = self.constant(index)
        return None if array is None else as_value(array)

    def constant(self, index: int) -> Array | None:
        value = self._inputs[index]
        return np.asarray(value) if _is_array(value) else None

    def handle(self, index: int) -> TensorType | None:
        return None
