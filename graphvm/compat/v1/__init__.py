"""TensorFlow 1's names, for scripts that import `tensorflow.compat.v1`; all are GraphVM's own."""

from __future__ import annotations

from typing import Any

import graphvm
from graphvm.graph.absent import absent

__all__ = dir(graphvm)


def __getattr__(name: str) -> Any:
    """The name in GraphVM."""
    if name in __all__:
        return getattr(graphvm, name)
    raise absent("graphvm.compat.v1", name, __all__)


def __dir__() -> list[str]:
    """All public names."""
    return __all__
