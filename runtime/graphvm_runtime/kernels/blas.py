"""Matrix products, on one thread while others need the cores.

OpenBLAS shares a product out to all cores and lets its threads spin at a barrier. When another
process or thread takes a core away meanwhile, a product of 50 microseconds lasts as long as the
scheduler's time slice. After one that took so long the next are made on one thread for a while.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from graphvm_runtime import config
from graphvm_runtime.dtypes import Array

# Multiplications of one matrix product: OpenBLAS uses one thread by itself up to the first.
ALONE = 1 << 18
# So many take longer than a time slice anyway.
SHARED = 1 << 27
BLAS_TYPES = "fdFD"

# Seconds that a product may take; multiplications, and bytes of new memory, that any core makes
# in a second.
PATIENCE = 1e-3
LEAST_RATE = 2e9
LEAST_BANDWIDTH = 2e8

# Seconds of rest: more each time that a product soon takes too long again.
SHORTEST_REST = 0.1
LONGEST_REST = 3.0
SOON = 20.0

# what builds of OpenBLAS add to the names of their functions
_BUILDS = (("scipy_", "64_"), ("scipy_", ""), ("", "64_"), ("", ""))


class _Threads(NamedTuple):
    """How many threads OpenBLAS uses, in this whole process."""

    get: Callable[[], int]
    set: Callable[[int], None]


def product(a: Array, b: Array, out: Array | None = None) -> Any:
    """`numpy.matmul`.

    Args:
        a: `[..., m, k]`.
        b: `[..., k, n]`.
        out: what receives the product, of its exact shape and type.

    Raises:
        ValueError: the shapes do not fit.
    """
    work = a.shape[-2] * a.shape[-1] * b.shape[-1]
    if work <= ALONE or a.dtype.char not in BLAS_TYPES:
        return np.matmul(a, b, out)
    start = time.perf_counter()
    if config.DETERMINISTIC.get() or (work < SHARED and start < _REST.until):
        with _ALONE:
            return np.matmul(a, b, out)
    if work >= SHARED:
        return np.matmul(a, b, out)
    result = np.matmul(a, b, out)
    end = time.perf_counter()
    whole = max(a.size * b.shape[-1], b.size * a.shape[-2])  # of all matrices together
    if end - start > PATIENCE + whole / LEAST_RATE + result.nbytes / LEAST_BANDWIDTH:
        _REST.begin(end)
    return result


class _Rest:
    """How long other threads than the caller's are left alone.

    Attributes:
        until: when that ends, in seconds of `time.perf_counter`.
    """

    def __init__(self) -> None:
        self.until = 0.0
        self._last = SHORTEST_REST

    def begin(self, now: float) -> None:
        """A product took too long."""
        soon = now < self.until + SOON
        self._last = min(4 * self._last, LONGEST_REST) if soon else SHORTEST_REST
        self.until = now + self._last


_REST = _Rest()


class _Alone:
    """Holds OpenBLAS at one thread while at least one product is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before = 1
        self._threads: _Threads | None = None
        self._is_known = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._is_known:
                self._threads, self._is_known = _openblas(), True
            if self._threads is not None and self._inside == 0:
                self._before = self._threads.get()
                self._threads.set(1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._threads is not None and self._inside == 0:
                self._threads.set(self._before)


_ALONE = _Alone()


def _openblas() -> _Threads | None:
    """The OpenBLAS that NumPy is linked with; None where it is another library."""
    import ctypes

    try:
        from numpy.linalg import _umath_linalg

        # names are searched for in what it is linked with too
        library = ctypes.CDLL(_umath_linalg.__file__)
    except (ImportError, OSError, AttributeError):
        return None
    for prefix, suffix in _BUILDS:
        try:
            get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}")
            set_ = getattr(library, f"{prefix}openblas_set_num_threads{suffix}")
        except AttributeError:
            continue
        get.restype, get.argtypes = ctypes.c_int, []
        set_.restype, set_.argtypes = None, [ctypes.c_int]
        return _Threads(get, set_)
    return None
