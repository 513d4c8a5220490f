"""What derivatives are asked of and by: tensors and variables, one or several."""

from __future__ import annotations

from typing import Any

from graphvm.conversion import convert_to_tensor
from graphvm.graph import Tensor


def listed(items: Any) -> list[Any]:
    """One item, or several, as a list."""
    return list(items) if isinstance(items, list | tuple) else [items]


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
