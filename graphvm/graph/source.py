"""The user's own line: the innermost frame that is not GraphVM's."""

from __future__ import annotations

import contextlib
import os
import sys

import graphvm_runtime
from graphvm_runtime.ir.graph import Source, source_text

_RUNTIME = os.path.dirname(os.path.abspath(graphvm_runtime.__file__)) + os.sep
_BUILDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# contextlib stands between a `with` statement of the user's and our generator.
_OURS = (_BUILDER, _RUNTIME, os.path.abspath(contextlib.__file__))

_IS_OURS: dict[str, bool] = {}  # files seen so far: a look-up is cheaper than comparing text


def user_source() -> Source:
    """The line of the user's that led here; the line number is worked out only when shown."""
    frame = sys._getframe(2)
    code = frame.f_code
    while True:
        file = code.co_filename
        ours = _IS_OURS.get(file)
        if ours is None:
            ours = _IS_OURS[file] = file.startswith(_OURS)
        if not ours:
            return code, frame.f_lasti
        outer = frame.f_back
        if outer is None:
            return ""
        frame = outer
        code = frame.f_code


def ended_in_ours(error: BaseException) -> bool:
    """Whether an exception was raised by GraphVM's own code, not by a user's."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and at.tb_frame.f_code.co_filename.startswith(_OURS)


def here() -> str:
    """The user's own line as text, `model.py:42, in layer`; for messages only: it is slow."""
    return source_text(user_source())
