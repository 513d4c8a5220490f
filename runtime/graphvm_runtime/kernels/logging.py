"""Kernels of checks and messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel


def summary(value: Any, limit: int) -> str:
    """The first elements of a tensor in brackets: `[1 2 3...]`."""
    flat = value.reshape(-1).tolist() if hasattr(value, "reshape") else [value]
    shown = [_text(v) for v in (flat if limit < 0 else flat[:limit])]
    return "[" + " ".join(shown) + ("..." if len(shown) < len(flat) else "") + "]"


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@kernel("Assert")
def _assert(node: Node) -> Callable[..., Any]:
    limit: int = node.attrs["summarize"]

    def call(condition: Array, *data: Array) -> None:
        if condition.ndim:
            raise InvalidArgumentError(
                f"the condition is a scalar, got the shape {list(condition.shape)}"
            )
        if not condition:
            told = " ".join(summary(d, limit) for d in data)
            raise InvalidArgumentError(f"assertion failed: {told}")

    return call
