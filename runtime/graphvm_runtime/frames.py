"""Whose frame: what tells the user's code from GraphVM's own, on the stack and in tracebacks."""

from __future__ import annotations

import contextlib
import os
import sys
from types import CodeType, FrameType

# contextlib stands between a `with` statement of the user's and our generator.
_OURS = [os.path.dirname(os.path.abspath(__file__)) + os.sep, os.path.abspath(contextlib.__file__)]
_IS_OURS: dict[str, bool] = {}  # files seen so far: a look-up is cheaper than comparing text


def add_package(folder: str) -> None:
    """Counts a package as GraphVM's own; `folder` is where it lies."""
    _OURS.append(os.path.abspath(folder) + os.sep)
    _IS_OURS.clear()


def is_ours(file: str) -> bool:
    """Whether a source file, named as code objects name it, is GraphVM's own."""
    found = _IS_OURS.get(file)
    if found is None:
        found = _IS_OURS[file] = file.startswith(tuple(_OURS))
    return found


def user_source() -> tuple[CodeType, int] | str:
    """The innermost line that is the user's; its number is worked out only when it is shown.

    The caller itself counts as ours. Empty where no frame is the user's.
    """
    frame = sys._getframe(2)
    code = frame.f_code
    while True:
        ours = _IS_OURS.get(code.co_filename)  # not by `is_ours`: each node of a graph asks
        if ours is None:
            ours = is_ours(code.co_filename)
        if not ours:
            return code, frame.f_lasti
        outer = frame.f_back
        if outer is None:
            return ""
        frame = outer
        code = frame.f_code


def user_level() -> int:
    """The `stacklevel` with which the caller warns at the innermost line that is the user's."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level


def ended_in_ours(error: BaseException) -> bool:
    """Whether an exception was raised by GraphVM's own code, not by a user's."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    return at is not None and is_ours(at.tb_frame.f_code.co_filename)
