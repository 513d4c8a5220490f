"""The user's own line: the innermost frame that is not GraphVM's."""

from __future__ import annotations

import contextlib
import os
import sys

import graphvm_runtime
from graphvm_runtime.ir.graph import Source, source_text

_RUNTIME = os.path.dirname(os.path.abspath(graphvm_runtime.__file__)) + os.sep
_BUILDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
# contextlib stands between a `with` statement of the user's and our generator.
_OURS = (_BUILDER, _RUNTIME, os.path.abspath(contextlib.__file__))

_OUR_FILES: set[str] = set()  # those seen so far: asking a set is cheaper than comparing text


def user_source() -> Source:
    """The line of the user's that led here; the line number is worked out only when shown."""
    frame = sys._getframe(2)
    code = frame.f_code
    while (file := code.co_filename) in _OUR_FILES or file.startswith(_OURS):
        _OUR_FILES.add(file)
        outer = frame.f_back
        if outer is None:
            return ""
        frame = outer
        code = frame.f_code
    return code, frame.f_lasti


def ended_in_ours(error: BaseException) -> bool:
    """Whether an exception was raised by GraphVM's own code, not by a user's."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and at.tb_frame.f_code.co_filename.startswith(_OURS)


def here() -> str:
    """The user's own line as text, `model.py:42, in layer`; for messages only: it is slow."""
    return source_text(user_source())
