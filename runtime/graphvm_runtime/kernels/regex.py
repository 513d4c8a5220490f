r"""Regular expressions of TensorFlow's strings: RE2's language, run by Python's `re`.

The two agree on most of it. What RE2 writes otherwise is written anew: `\z`, `\C`, `\Q..\E`, POSIX
classes. What it refuses, because it would take more than one look at each character, is refused:
looking ahead or behind, references to groups, possessive and atomic groups.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError, clipped
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.registry import kernel

_CLASSES = {
    b"alnum": rb"0-9A-Za-z", b"alpha": rb"A-Za-z", b"ascii": rb"\x00-\x7f", b"blank": rb"\t ",
    b"cntrl": rb"\x00-\x1f\x7f", b"digit": rb"0-9", b"graph": rb"!-~", b"lower": rb"a-z",
    b"print": rb" -~", b"punct": rb"!-/:-@\[-`{-~", b"space": rb"\t\n\v\f\r ",
    b"upper": rb"A-Z", b"word": rb"0-9A-Za-z_", b"xdigit": rb"0-9A-Fa-f",
}  # fmt: skip
_TOKEN = re.compile(
    rb"\\Q(?P<quoted>.*?)(?:\\E|\Z)"
    rb"|\\x\{(?P<hex>[0-9A-Fa-f]+)\}"
    rb"|\[:(?P<not>\^?)(?P<posix>[a-z]+):\]"
    rb"|(?P<refused>\(\?(?:=|!|<=|<!|>|\(|P=|P>|#)|\\[1-9]|[*+?}]\+)"
    rb"|\(\?<(?P<named>[A-Za-z_]\w*)>"
    rb"|(?P<escape>\\.)"
    rb"|(?P<other>.)",
    re.DOTALL,
)
_ESCAPES = {rb"\z": rb"\Z", rb"\C": rb"[\x00-\xff]", rb"\a": rb"\x07"}


@functools.lru_cache(256)
def compiled(pattern: bytes) -> re.Pattern[bytes]:
    """The pattern.

    Args:
        pattern: in RE2's language.

    Raises:
        InvalidArgumentError: it is no pattern of RE2's.
    """
    out: list[bytes] = []
    in_class = False
    for token in _TOKEN.finditer(pattern):
        kind, text = token.lastgroup, token.group()
        if kind == "refused" and not in_class:
            raise _invalid(pattern, f"RE2 does not take {text.decode(errors='replace')!r}")
        if kind == "quoted":
            text = re.escape(token["quoted"])
        elif kind == "hex":
            text = re.escape(chr(int(token["hex"], 16)).encode())
        elif kind == "posix":
            found = _CLASSES.get(token["posix"])
            if not in_class or found is None:
                raise _invalid(pattern, f"no class is called {text.decode()!r}")
            if token["not"]:
                raise _invalid(pattern, f"{text.decode()!r} within a class is not supported")
            text = found
        elif kind == "named" and not in_class:
            text = b"(?P<" + token["named"] + b">"
        elif kind == "escape":
            if text in (rb"\Z", rb"\p", rb"\P"):
                raise _invalid(pattern, f"{text.decode()!r} is not supported")
            text = _ESCAPES.get(text, text)
        elif text == b"[":
            if in_class:
                text = rb"\["
            in_class = True
        elif text == b"]":
            in_class = False
        out.append(text)
    try:
        return re.compile(b"".join(out))
    except (re.error, OverflowError) as error:
        raise _invalid(pattern, str(error)) from error


def _invalid(pattern: bytes, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{clipped(pattern)} is no regular expression: {why}")


def _matches(pattern: re.Pattern[bytes], texts: Any) -> Any:
    out = np.empty(texts.shape, np.bool_)
    for at in np.ndindex(texts.shape):
        out[at] = pattern.fullmatch(texts[at]) is not None
    return out


@kernel("StaticRegexFullMatch")
def _static_full_match(node: Node) -> Callable[..., Any]:
    text: bytes = node.attrs["pattern"]
    return lambda texts: _matches(compiled(text), as_strings(texts))


@kernel("RegexFullMatch")
def _full_match(node: Node) -> Callable[..., Any]:
    def call(texts: Array, pattern: Array) -> Any:
        pattern = as_strings(pattern)
        if pattern.ndim:
            raise InvalidArgumentError(f"a pattern is a scalar, got {list(pattern.shape)}")
        return _matches(compiled(pattern.item()), as_strings(texts))

    return call
