"""A session for a target: this process, a server, or workers that the client plans for."""

from __future__ import annotations

from typing import Any

from graphvm_runtime.engine.session import Session


def connect(target: str = "", config: Any = None) -> Session:
    """The session for a target.

    Args:
        target: empty for this process.
        config: a `ConfigProto`, or None.
    """
    return Session()
