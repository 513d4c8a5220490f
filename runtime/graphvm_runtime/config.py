"""Every GRAPHVM_* variable, in one table.

Each is read when it is asked for, and each is a context manager: `with config.INTERPRET.set(True)`.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from graphvm_runtime.errors import GraphError

T = TypeVar("T")


# what `with` blocks set, by name
_OVERRIDES: ContextVar[Mapping[str, Any]] = ContextVar("graphvm", default=MappingProxyType({}))


def overridden() -> bool:
    """Whether any setting is set by a `with` block around."""
    return bool(_OVERRIDES.get())


class Switch(Generic[T]):
    """One setting: from a `with` block, else from the environment, else the default."""

    def __init__(self, name: str, default: T, parse: Callable[[str], T], doc: str) -> None:
        self.name = name
        self.default = default
        self.doc = doc
        self._parse = parse
        text = os.environ.get(name)
        self._value: T = default if text is None else parse(text)

    def get(self) -> T:
        """The value in force."""
        found: T = _OVERRIDES.get().get(self.name, self._value)
        return found

    @contextlib.contextmanager
    def set(self, value: T) -> Iterator[None]:
        """Sets the value inside a `with` block, in this thread or task alone."""
        here = _OVERRIDES.get()
        token = _OVERRIDES.set({**here, self.name: value})
        try:
            yield
        finally:
            _OVERRIDES.reset(token)


def _flag(text: str) -> bool:
    return text.lower() not in ("", "0", "false", "no", "off")


DUMP = Switch("GRAPHVM_DUMP", "", str, "folder for the IR text after each pass")
VERIFY = Switch("GRAPHVM_VERIFY", False, _flag, "check invariants after each pass")
PASSES = Switch("GRAPHVM_PASSES", "", str, "passes to leave out, -fold,-simplify")
INTERPRET = Switch("GRAPHVM_INTERPRET", False, _flag, "one instruction at a time")
EMIT = Switch("GRAPHVM_EMIT", False, _flag, "optimise and emit at once, not after some runs")
CHECK_NUMERICS = Switch(
    "GRAPHVM_CHECK_NUMERICS", False, _flag, "stop at the first NaN or infinity, naming its node"
)
TRACE = Switch("GRAPHVM_TRACE", "", str, "file for a Chrome trace of each step")
LOG = Switch("GRAPHVM_LOG", "", str, "what to log: compile, place, rpc")
TRACEBACK = Switch("GRAPHVM_TRACEBACK", "", str, "`full` shows our own frames")
STRICT = Switch("GRAPHVM_STRICT", False, _flag, "every session goes through serialized bytes")
TLS = Switch("GRAPHVM_TLS", "", str, "files for TLS with a cluster: authority,certificate,key")
TASK = Switch("GRAPHVM_TASK", "", str, "name of this task, set by `graphvm worker`")

SWITCHES: dict[str, Switch[Any]] = {
    s.name: s
    for s in (
        DUMP,
        VERIFY,
        PASSES,
        INTERPRET,
        EMIT,
        CHECK_NUMERICS,
        TRACE,
        LOG,
        TRACEBACK,
        STRICT,
        TLS,
        TASK,
    )
}


def log(topic: str, message: str, *args: object) -> None:
    """Logs to `graphvm.<topic>` when GRAPHVM_LOG names the topic."""
    if topic in LOG.get().split(","):
        logger = logging.getLogger(f"graphvm.{topic}")
        if not logger.handlers and not logging.getLogger().handlers:
            logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.INFO)
        logger.info(message, *args)


def check_environment() -> None:
    """Raises GraphError for a GRAPHVM_* variable that nobody knows."""
    unknown = sorted(k for k in os.environ if k.startswith("GRAPHVM_") and k not in SWITCHES)
    if unknown:
        raise GraphError(
            f"unknown setting {', '.join(unknown)}", do="known are " + ", ".join(sorted(SWITCHES))
        )


check_environment()
