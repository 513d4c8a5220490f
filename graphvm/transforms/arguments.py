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
    for item in every:
        if item is None:
            raise DTypeError(f"{what} must be tensors, got None")
        _check_no_text(item)
    return every


def _check_no_text(item: Any) -> None:
    """A name would become a constant, on which nothing depends."""
    if isinstance(item, str | bytes):
        raise TypeError(
            f"derivatives are of tensors, got the text {item!r}: use graph.get_tensor_by_name"
        )


def tensors_of(items: Any) -> list[Tensor]:
    """Tensors, and the handles of variables."""
    if items is None:
        return []
    out = []
    for item in listed(items):
        _check_no_text(item)
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
