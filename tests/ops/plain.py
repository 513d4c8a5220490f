"""References in plain Python: slow, and easy to believe."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType


def brought_to(dtype: DType, values: Any) -> Array:
    """Values of any numbers as an array: integers wrap round, floats are rounded."""
    if dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        modulus = 1 << info.bits
        flat = np.array(values, dtype=object)
        out = np.empty(flat.shape, dtype.numpy)
        for at in np.ndindex(flat.shape):
            number = int(flat[at]) % modulus
            out[at] = number - modulus if number > info.max else number
        return out
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype.numpy)


def precise(x: Any) -> Any:
    """The same numbers in a type in which a plain formula loses nothing."""
    if x.dtype.kind in "fV":
        return np.asarray(x).astype(np.float64)
    if x.dtype.kind == "c":
        return np.asarray(x).astype(np.complex128)
    return x


def each(function: Callable[..., Any]) -> Callable[..., Any]:
    """An element-wise op from a function of Python numbers."""

    def reference(*inputs: Any, **attrs: Any) -> Any:
        wide = np.broadcast_arrays(*[precise(x) for x in inputs])
        out = np.empty(wide[0].shape, object)
        for at in np.ndindex(out.shape):
            out[at] = function(*(w[at].item() if hasattr(w[at], "item") else w[at] for w in wide))
        return out

    return reference


def positions(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices of an array of that shape."""
    return itertools.product(*map(range, shape))


def folded(
    function: Callable[[list[Any]], Any],
) -> Callable[..., Any]:
    """A reduction from a function of the list of numbers that it reduces."""

    def reference(x: Any, axes: Any, keep_dims: bool = False) -> Any:
        wide = precise(x)
        reduced = {int(a) % x.ndim for a in np.ravel(axes)}
        shape = [1 if i in reduced else d for i, d in enumerate(x.shape)]
        out = np.empty(shape, object)
        for at in positions(shape):
            ranges = [range(d) if i in reduced else [at[i]] for i, d in enumerate(x.shape)]
            out[at] = function([wide[p].item() for p in itertools.product(*ranges)])
        kept = [d for i, d in enumerate(shape) if i not in reduced]
        return out if keep_dims else out.reshape(kept)

    return reference
