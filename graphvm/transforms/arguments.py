"""What derivatives are asked of and by: tensors and variables, one or several."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Tensor
from graphvm_runtime.errors import DTypeError


def listed(items: Any) -> list[Any]:
    """One item, or several, as a list."""
    return list(items) if isinstance(items, list | tuple) else [items]


def values_of(items: Any, what: str) -> list[Tensor]:
    """Tensors, and the values of variables. Raises DTypeError for None."""
    every = some(items, what)
    return [i if isinstance(i, Tensor) else convert_to_tensor(i) for i in every]


def some(items: Any, what: str) -> list[Any]:
    """One item, or several, as a list. Raises DTypeError for None."""
    every = listed(items)
    if any(i is None for i in every):
        raise DTypeError(f"{what} is None, not a tensor")
    return every


def tensors_of(items: Any) -> list[Tensor]:
    """Tensors, and the handles of variables."""
    if items is None:
        return []
    out = []
    for item in listed(items):
        handle = getattr(item, "handle", None)
        ref = getattr(item, "_ref", None)
        if isinstance(item, Tensor):
            out.append(item)
        elif isinstance(handle, Tensor):
            out.append(handle)
        elif callable(ref):
            out.append(ref())
        else:
            out.append(convert_to_tensor(item))
    return out
