"""Arrays of bytes objects, which NumPy cannot compute with element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.kernels.precision import as_strings


def mapped(function: Callable[[bytes], Any], x: Any, dtype: Any = object) -> Array:
    """What `function` gives for each string of `x`, in the same shape."""
    x = as_strings(x)
    out = np.empty(x.shape, dtype)
    flat, source = out.reshape(-1), x.reshape(-1)
    for i in range(len(source)):
        flat[i] = function(source[i])
    return out


def vector(values: Sequence[bytes]) -> Array:
    """A vector of strings."""
    out = np.empty(len(values), object)
    out[:] = values
    return out


def one(value: Any, what: str) -> bytes:
    """The string that a tensor of one element holds.

    Raises:
        InvalidArgumentError: it has none, or several.
    """
    found = as_strings(value)
    if found.size != 1:
        raise InvalidArgumentError(f"{what} must be a scalar, got the shape {list(found.shape)}")
    text: bytes = found.reshape(-1)[0]
    return text
