"""Every GRAPHVM_* variable, in one table.

Each is read when it is asked for, and each is a context manager: `with config.INTERPRET.set(True)`.
"""

from __future__ import annotations

import contextlib
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
        self._value: T = default
        if text is not None:
            try:
                self._value = parse(text)
            except GraphError as error:
                raise GraphError(f"{name}: {error.what}", do=error.do) from None

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
    """A yes or no. Raises GraphError for anything else."""
    word = text.lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("", "0", "false", "no", "off"):
        return False
    raise GraphError(f"{text!r} is neither yes nor no", do="write 1 or 0")


def _one_of(*words: str) -> Callable[[str], str]:
    """A word of these, or none."""

    def parse(text: str) -> str:
        if text and text not in words:
            raise GraphError(f"{text!r} is not known here", do="write " + " or ".join(words))
        return text

    return parse


def _some_of(*words: str) -> Callable[[str], str]:
    """Words of these, with commas between."""

    def parse(text: str) -> str:
        unknown = [w for w in text.split(",") if w and w not in words]
        if unknown:
            raise GraphError(f"{unknown[0]!r} is not known here", do="write of " + ", ".join(words))
        return text

    return parse


def _left_out(text: str) -> str:
    """Names of passes, each with a minus before it."""
    for word in filter(None, text.split(",")):
        if not word.startswith("-"):
            raise GraphError(f"{word!r} names no pass to leave out", do=f"write -{word}")
    return text


def _folder(text: str) -> str:
    """A folder, which is made where it is not there yet."""
    if text:
        try:
            os.makedirs(text, exist_ok=True)
        except (OSError, ValueError) as error:
            raise GraphError(
                f"the folder {text!r} cannot be made: {getattr(error, 'strerror', None) or error}",
                do="name a folder that can be written",
            ) from None
    return text


def _file(text: str) -> str:
    """A file to write, in a folder that is there."""
    if text and (os.path.isdir(text) or not os.path.isdir(os.path.dirname(text) or ".")):
        what = "is a folder" if os.path.isdir(text) else "is in no folder that exists"
        raise GraphError(f"the file {text!r} {what}", do="name a file that can be written")
    return text


DUMP = Switch("GRAPHVM_DUMP", "", _folder, "folder for the IR text after each pass")
VERIFY = Switch("GRAPHVM_VERIFY", False, _flag, "check invariants after each pass")
PASSES = Switch("GRAPHVM_PASSES", "", _left_out, "passes to leave out, -fold,-simplify")
INTERPRET = Switch("GRAPHVM_INTERPRET", False, _flag, "one instruction at a time")
EMIT = Switch("GRAPHVM_EMIT", False, _flag, "optimise and emit at once, not after some runs")
CHECK_NUMERICS = Switch(
    "GRAPHVM_CHECK_NUMERICS", False, _flag, "stop at the first NaN or infinity, naming its node"
)
TRACE = Switch("GRAPHVM_TRACE", "", _file, "file for a Chrome trace of each step")
LOG = Switch(
    "GRAPHVM_LOG", "", _some_of("compile", "place", "rpc"), "what to log: compile, place, rpc"
)
TRACEBACK = Switch("GRAPHVM_TRACEBACK", "", _one_of("full"), "`full` shows our own frames")
STRICT = Switch("GRAPHVM_STRICT", False, _flag, "every session goes through serialized bytes")
DETERMINISTIC = Switch(
    "GRAPHVM_DETERMINISTIC", False, _flag, "matrix products on one thread: the same bits each time"
)
LINT = Switch("GRAPHVM_LINT", False, _flag, "warn of side effects that always run, or never do")
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
        DETERMINISTIC,
        LINT,
        TLS,
        TASK,
    )
}


def log(topic: str, message: str, *args: object) -> None:
    """Logs to `graphvm.<topic>` when GRAPHVM_LOG names the topic."""
    if topic in LOG.get().split(","):
        import logging  # late, for those who log

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
