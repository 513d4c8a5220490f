"""What a register holds, as predicates, callers and keepers see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphvm_runtime.errors import InvalidArgumentError


def truth(value: Any) -> bool:
    """Whether a predicate holds, as `If` sees it: other ranks hold when they are not empty."""
    if isinstance(value, np.ndarray):
        if value.ndim:
            return bool(value.size)
        value = value[()]
    return bool(value)


def picked(value: Any, count: int) -> int:
    """The branch that an index picks, as `Case` does: the last one where there is no such."""
    if getattr(value, "ndim", 0):
        raise InvalidArgumentError(f"the index must be a scalar, got shape {list(value.shape)}")
    index = int(value)
    return index if 0 <= index < count else count - 1


def own(value: Any) -> Any:
    """The value in memory of its own; only arrays can be shared."""
    return value.copy() if isinstance(value, np.ndarray) else value


def handed_out(value: Any, copy: bool) -> Any:
    """A result as the caller gets it: a NumPy scalar for rank 0, memory of its own."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value[()]
        return value.copy() if copy else value
    return value


def handed(values: Sequence[Any], copies: Sequence[bool]) -> list[Any]:
    """Results as the caller gets them."""
    return [handed_out(v, c) for v, c in zip(values, copies, strict=True)]


def as_feed_value(value: Any) -> Any:
    """A feed as a program takes it: NumPy scalars for rank 0, since they compute faster."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object:
        return value[()]
    return value
