"""The user's own line: the innermost frame that is not GraphVM's."""

from __future__ import annotations

import os

from graphvm_runtime.frames import add_package, ended_in_ours, user_source
from graphvm_runtime.ir.graph import source_text

__all__ = ["ended_in_ours", "user_line", "user_source"]

add_package(os.path.dirname(os.path.dirname(__file__)))


def user_line() -> str:
    """The user's own line as text, `model.py:42, in layer`; for messages only: it is slow."""
    return source_text(user_source())
