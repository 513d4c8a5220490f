"""Suppresses NumPy's warnings while a program runs: overflow and division give inf and NaN."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np


def _setting() -> tuple[ContextVar[Any], Any] | None:
    """NumPy 2's own variable and its value for silence; None where this NumPy has none.

    `np.errstate` works the value out anew each time, which costs more than a small program.
    """
    try:
        from numpy._core.umath import _extobj_contextvar
    except ImportError:
        return None
    if not isinstance(_extobj_contextvar, ContextVar):
        return None
    before = _extobj_contextvar.get()
    with np.errstate(all="ignore"):
        silent = _extobj_contextvar.get()
    return (_extobj_contextvar, silent) if silent is not before else None


SETTING = _setting()


def without_warnings(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run with NumPy's warnings off."""
    if SETTING is None:

        def run(*args: Any) -> Any:
            with np.errstate(all="ignore"):
                return function(*args)

        return run
    variable, silent = SETTING

    def run_silently(*args: Any) -> Any:
        token = variable.set(silent)
        try:
            return function(*args)
        finally:
            variable.reset(token)

    return run_silently
