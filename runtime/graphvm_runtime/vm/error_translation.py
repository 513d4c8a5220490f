"""Translates what a kernel raises into a typed error with its node and the user's line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NoReturn

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
from graphvm_runtime.kernels.shape_rule import inferred, types_of
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
            said = inferred(node, inputs)
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
            found = ResourceExhaustedError(f"out of memory{_wanted(inferred(node, inputs))}")
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
    said = inferred(node, inputs)
    if isinstance(said, ShapeError):
        return InvalidArgumentError(said.what, do=said.do)
    if node is None or not node.op.family:
        return InvalidArgumentError(text)
    if said is not None and any(_is_beyond_memory(t) for t in said):
        return ResourceExhaustedError(f"out of memory{_wanted(said)}")
    types = ", ".join(str(t) for t in types_of(node, inputs)) if inputs is not None else ""
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


def raise_translated(
    error: Exception, node: Node | None, inputs: Sequence[Any] | None = None
) -> NoReturn:
    """Raises the error as one of ours; the one it was stays its cause. See `translated`."""
    fault = translated(error, node, inputs)
    if fault is error:
        raise error
    raise fault from error
