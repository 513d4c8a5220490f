"""What a failing kernel raises, as a typed error that names the node and the user's line."""

from __future__ import annotations

import sys
from typing import NoReturn

from graphvm_runtime.errors import (
    GraphvmError,
    InternalError,
    InvalidArgumentError,
    OpError,
    ResourceExhaustedError,
    class_of_code,
)  # fmt: skip
from graphvm_runtime.held import Held
from graphvm_runtime.ir.graph import Node, source_text


def located(error: Exception, node: Node | None) -> GraphvmError:
    """The error as one of ours, tied to the node where it was raised."""
    if isinstance(error, GraphvmError):
        found = error
        if not isinstance(found, OpError) and node is not None:
            # shapes and types that only running could find are the caller's argument
            found = class_of_code(error.code)(
                error.what, node=error.node, made=error.made, do=error.do, task=error.task
            )
            found.__cause__ = error
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
            found = ResourceExhaustedError(f"out of memory ({text})")
        elif isinstance(error, AttributeError) and isinstance(error.obj, Held):
            # kernels take it as given that a handle is of the kind that they need
            found = InvalidArgumentError(
                f"an input is {error.obj.kind}, another kind than the op takes: {error.obj!r}"
            )
        elif isinstance(error, ValueError | TypeError | IndexError | OverflowError):
            found = InvalidArgumentError(text)
        else:
            found = InternalError(text)
        found.__cause__ = error
    if node is not None:
        found.located(node.signature(), source_text(node.source))
    return found


def raise_located(error: Exception, node: Node | None) -> NoReturn:
    """Raises the error as one of ours; the one it was stays its cause."""
    fault = located(error, node)
    if fault is error:
        raise error
    raise fault from error
