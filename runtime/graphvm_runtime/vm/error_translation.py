"""Translates what a kernel raises into a typed error with its node and the user's line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import (
    GraphvmError,
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    ShapeError,
    class_of_code,
)  # fmt: skip
from graphvm_runtime.ir.graph import Node, source_text
from graphvm_runtime.ir.infer import infer
from graphvm_runtime.ops.registry import Value, as_value
from graphvm_runtime.shapes import TensorType, size_of
from graphvm_runtime.values.handle_value import HandleValue


def translated(
    error: Exception, node: Node | None, inputs: Sequence[Any] | None = None
) -> GraphvmError:
    """The error as one of ours, tied to the node where it was raised.

    Args:
        error: what the kernel raised.
        node: the node at fault, where it is known.
        inputs: the values that it got, where they are known.
    """
    if isinstance(error, GraphvmError):
        found = error
        if not isinstance(found, OpError) and node is not None:
            # shapes and types that only running could find are the caller's argument
            found = class_of_code(error.code)(
                error.what, node=error.node, made=error.made, do=error.do, task=error.task
            )
            found.__cause__ = error
        if isinstance(found, InvalidArgumentError) and not found.do:
            said = _inferred(node, inputs)
            found.do = said.do if isinstance(said, ShapeError) else ""
    else:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if isinstance(error, RecursionError):
            names = ", ".join(repr(f.name) for f in (node.functions() if node is not None else ()))
            found = ResourceExhaustedError(
                f"functions call each other deeper than Python's limit of "
                f"{sys.getrecursionlimit()} frames{names and ', here ' + names}",
                do="let a function call itself less often, use a loop, or raise the limit with "
                "sys.setrecursionlimit",
            )
        elif isinstance(error, MemoryError):
            found = ResourceExhaustedError(f"out of memory{_wanted(_inferred(node, inputs))}")
        elif isinstance(error, AttributeError) and isinstance(error.obj, HandleValue):
            # kernels take it as given that a handle is of the kind that they need
            found = InvalidArgumentError(
                f"an input is {error.obj.kind}, another kind than the op takes: {error.obj!r}"
            )
        elif isinstance(error, ValueError | TypeError | IndexError | OverflowError):
            found = _refused(text, node, inputs)
        else:
            found = InternalError(text)
        found.__cause__ = error
    if node is not None:
        found.located(node.signature(), source_text(node.source))
    return found


def _refused(text: str, node: Node | None, inputs: Sequence[Any] | None) -> OpError:
    """The error for inputs that NumPy refused; its own words are for users' own kernels."""
    said = _inferred(node, inputs)
    if isinstance(said, ShapeError):
        return InvalidArgumentError(said.what, do=said.do)
    if node is None or not node.op.family:
        return InvalidArgumentError(text)
    if said is not None and any(_is_beyond_memory(t) for t in said):
        return ResourceExhaustedError(f"out of memory{_wanted(said)}")
    types = ", ".join(str(t) for t in _types(node, inputs)) if inputs is not None else ""
    return InvalidArgumentError(
        f"{node.op.name} does not take these inputs{': ' if types else ''}{types}"
    )


def _wanted(said: Sequence[TensorType] | ShapeError | None) -> str:
    known = [t for t in said if t.shape is not None] if isinstance(said, Sequence) else []
    return f" for {', '.join(map(str, known))}" if known else ""


def _is_beyond_memory(type_: TensorType) -> bool:
    """Whether no address space holds such an array."""
    size = size_of(type_.shape)
    return size is not None and size * type_.dtype.size > sys.maxsize // 2**8


def _types(node: Node, inputs: Sequence[Any]) -> list[TensorType]:
    return [
        TensorType(dtype.base, np.shape(value) if _is_array(value) else ())
        for dtype, value in zip(node.op.input_dtypes(node.attrs), inputs, strict=True)
    ]


def _inferred(
    node: Node | None, inputs: Sequence[Any] | None
) -> Sequence[TensorType] | ShapeError | None:
    """Output types by the shape function for the inputs as they are; its error where it refuses.

    It is what would have been said where the node was made, had so much been known there; so
    kernels need not say it again. None where it is not known.
    """
    if node is None or inputs is None or len(inputs) != len(node.inputs):
        return None
    try:
        return infer(node.op, _types(node, inputs), node.attrs, _Known(inputs))
    except ShapeError as error:
        return error
    except Exception:
        return None  # whatever it is, it would hide the error that is to be reported


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


def raise_translated(
    error: Exception, node: Node | None, inputs: Sequence[Any] | None = None
) -> NoReturn:
    """Raises the error as one of ours; the one it was stays its cause. See `translated`."""
    fault = translated(error, node, inputs)
    if fault is error:
        raise error
    raise fault from error
