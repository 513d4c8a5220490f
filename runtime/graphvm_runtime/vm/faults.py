"""What a failing kernel raises, as a typed error that names the node and the user's line."""

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
from graphvm_runtime.shapes import TensorType, shape_text
from graphvm_runtime.values.held import Held

# how NumPy says that a size is beyond what it counts
_TOO_LARGE = ("is too big", "is too large", "dimension exceeded", "Maximum allowed size")


def located(
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
            said = _said_by_rule(node, inputs)
            found.do = "" if said is None else said.do
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
            of = "" if node is None else f" for {node.op.name}"
            found = ResourceExhaustedError(f"out of memory{of}")
        elif isinstance(error, AttributeError) and isinstance(error.obj, Held):
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
    """The error for inputs that NumPy refused."""
    said = _said_by_rule(node, inputs)
    if said is not None:
        return InvalidArgumentError(said.what, do=said.do)
    if node is None:
        return InvalidArgumentError(text)
    # NumPy's words are about its own arguments, which a user never sees; the cause keeps them
    shown = [] if inputs is None else [shape_text(x.shape) for x in inputs if _is_array(x)]
    of = f", of inputs of the shapes {', '.join(shown)}" if shown else ""
    if any(words in text for words in _TOO_LARGE):
        return ResourceExhaustedError(f"the result of {node.op.name} is larger than any array{of}")
    return InvalidArgumentError(
        f"the inputs must fit {node.op.name} and each other"
        + (f", got the shapes {', '.join(shown)}" if shown else "")
    )


def _said_by_rule(node: Node | None, inputs: Sequence[Any] | None) -> ShapeError | None:
    """What the op's rule for shapes says of the inputs as they are; None where they fit.

    It is what would have been said where the node was made, had so much been known there; so
    kernels need not say it again.
    """
    if node is None or inputs is None or len(inputs) != len(node.inputs):
        return None
    types = [
        TensorType(dtype.base, np.shape(value) if _is_array(value) else ())
        for dtype, value in zip(node.op.input_dtypes(node.attrs), inputs, strict=True)
    ]
    try:
        infer(node.op, types, node.attrs, _Known(inputs))
    except ShapeError as error:
        return error
    except Exception:
        return None  # whatever it is, it would hide the error that is to be told
    return None


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


def raise_located(
    error: Exception, node: Node | None, inputs: Sequence[Any] | None = None
) -> NoReturn:
    """Raises the error as one of ours; the one it was stays its cause. See `located`."""
    fault = located(error, node, inputs)
    if fault is error:
        raise error
    raise fault from error
