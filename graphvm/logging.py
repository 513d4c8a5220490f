"""Messages of scripts, as TensorFlow 1 wrote them.

Source: `tf.compat.v1.logging`, on Python's own `logging` under the name `graphvm`.
"""

from __future__ import annotations

import logging as _python
from typing import Any

__all__ = [
    "DEBUG",
    "ERROR",
    "FATAL",
    "INFO",
    "WARN",
    "debug",
    "error",
    "fatal",
    "get_verbosity",
    "info",
    "log",
    "set_verbosity",
    "warn",
    "warning",
]

DEBUG = _python.DEBUG
ERROR = _python.ERROR
FATAL = _python.FATAL
INFO = _python.INFO
WARN = _python.WARNING

_LOGGER = _python.getLogger("graphvm")
_LOGGER.setLevel(WARN)

debug = _LOGGER.debug
error = _LOGGER.error
fatal = _LOGGER.fatal
info = _LOGGER.info
warn = warning = _LOGGER.warning


def log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Writes a message of a level."""
    _LOGGER.log(level, msg, *args, **kwargs)


def get_verbosity() -> int:
    """The least level that is written."""
    return _LOGGER.level


def set_verbosity(v: int) -> None:
    """Sets the least level that is written."""
    _LOGGER.setLevel(v)
