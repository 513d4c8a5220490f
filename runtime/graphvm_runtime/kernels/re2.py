r"""RE2's regular expressions, written anew in the language of Python's `re`.

The two agree on which match is found; they differ in what is a pattern at all. RE2 has POSIX
classes, `\Q..\E`, `\C`, `\z`, flags in the middle, and `\w` and the like of ASCII alone; it has
nothing that needs more than one look at each character: no looking ahead or behind, no
references.

Patterns and texts are UTF-8. Bytes that are not become lone surrogates, which no class holds.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise

from graphvm_runtime.errors import InvalidArgumentError, clipped

MOST_REPEATS = 1000

_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\x00-\x7f", "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": r"!-/:-@\[-`{-~", "space": r"\t\n\v\f\r ", "upper": "A-Z", "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_BYTES = "\udc80-\udcff"  # what stands for bytes that are not UTF-8
_PERL = {"d": "digit", "w": "word"}
_ESCAPED = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASSERTIONS = {"A": r"\A", "z": r"\Z", "b": r"(?a:\b)", "B": r"(?!(?a:\b))"}
_CODE = re.compile(
    r"\\x\{(?P<long>[0-9A-Fa-f]+)\}|\\x(?P<hex>[0-9A-Fa-f]{2})"
    r"|\\(?P<octal>[1-7][0-7]{1,2}|0[0-7]{0,2})"
    r"|\\(?P<letter>[afnrtv])|\\(?P<mark>[^0-9A-Za-z])|(?P<plain>[^\\])",
    re.DOTALL,
)
_SET = re.compile(r"\\(?P<perl>[dDsSwW])|\\[pP](?:\{(?P<long>\^?\w+)\}|(?P<short>[A-Za-z]))")
_GROUP = re.compile(r"\((?:\?(?:P<\w+>|(?P<flags>[imsU]*(?:-[imsU]+)?)(?P<end>[:)])))?")
_REPEAT = re.compile(r"(?:[*+?]|\{(?P<least>[0-9]+)(?:,(?P<most>[0-9]*))?\})(?P<lazy>\??)")


@dataclass(frozen=True, slots=True)
class _Flags:
    i: bool = False  # both cases
    m: bool = False  # ^ and $ at lines
    s: bool = False  # . is a newline too
    U: bool = False  # x* and x*? swapped

    def changed(self, text: str) -> _Flags:
        on, _, off = text.partition("-")
        return replace(self, **dict.fromkeys(on, True), **dict.fromkeys(off, False))


class _Refused(ValueError):
    """What is wrong with a pattern."""


def _ranges(codes: list[int]) -> str:
    """The inside of a class that holds these characters, which rise."""
    out, first = [], codes[0]
    for a, b in pairwise([*codes, -1]):
        if b != a + 1:
            out.append(f"{re.escape(chr(first))}-{re.escape(chr(a))}")
            first = b
    return "".join(out)


@functools.cache
def _property(name: str) -> str:
    """The inside of a class: all characters of a general category, such as `L` or `Lu`."""
    codes = [code for code in _codes() if unicodedata.category(chr(code)).startswith(name)]
    if not codes:
        raise _Refused(f"the characters of {name!r} are not known here")
    return _ranges(codes)


@functools.cache
def _inverse(inside: str) -> str:
    """The inside of the class of all other characters."""
    other = re.compile(f"[^{inside}]")
    return _ranges([code for code in _codes() if other.match(chr(code))])


def _codes() -> Iterator[int]:
    """All characters; surrogates are none."""
    return chain(range(0xD800), range(0xE000, sys.maxunicode + 1))


def _held(found: re.Match[str]) -> tuple[str, bool]:
    r"""The inside of the class that `\d` or `\pL` is, and whether the class is what it is not."""
    if letter := found["perl"]:
        lower = letter.lower()
        return r"\t\n\f\r " if lower == "s" else _POSIX[_PERL[lower]], letter.isupper()
    name = found["long"] or found["short"]
    return _property(name.lstrip("^")), (found.group()[1] == "P") != name.startswith("^")


def _code(text: str, at: int) -> tuple[str, int]:
    """The one character that is written there, and where it ends."""
    found = _CODE.match(text, at)
    if found is None:
        raise _Refused(f"{text[at : at + 2]!r} is no escape")
    if letter := found["letter"]:
        return _ESCAPED[letter], found.end()
    if digits := found["long"] or found["hex"]:
        number = int(digits, 16)
        if number > sys.maxunicode:
            raise _Refused(f"{found.group()!r} is beyond Unicode")
        return chr(number), found.end()
    if digits := found["octal"]:
        return chr(int(digits, 8)), found.end()
    return found["mark"] or found["plain"], found.end()


def _class(text: str, at: int) -> tuple[str, int]:
    """The class that begins there, in Python's language, and where it ends."""
    negated = text.startswith("^", at + 1)
    start = at = at + 1 + negated
    out = [_BYTES] if negated else []
    while at < len(text) and (text[at] != "]" or at == start):
        if text.startswith("[:", at) and (end := text.find(":]", at)) > 0:
            name = text[at + 2 : end]
            inside = _POSIX.get(name.removeprefix("^"))
            if inside is None:
                raise _Refused(f"no class is called {text[at : end + 2]!r}")
            out.append(_inverse(inside) if name.startswith("^") else inside)
            at = end + 2
        elif found := _SET.match(text, at):
            inside, other = _held(found)
            out.append(_inverse(inside) if other else inside)
            at = found.end()
        else:
            first, at = _code(text, at)
            last = first
            if text.startswith("-", at) and at + 1 < len(text) and text[at + 1] != "]":
                last, at = _code(text, at + 1)
            if last < first:
                raise _Refused(f"{first}-{last} is no range of characters")
            out.append(f"{re.escape(first)}-{re.escape(last)}")
    if at >= len(text):
        raise _Refused("a ] is missing")
    return f"[{'^' if negated else ''}{''.join(out)}]", at + 1


class _Translation:
    """A pattern on its way from RE2's language to Python's."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags = _Flags()
        self.outer: list[_Flags] = []  # those outside the groups that are open
        self.repeatable = self.repeated = False

    def run(self) -> str:
        out = []
        while self.at < len(self.text):
            out.append(self._next())
        if self.outer:
            raise _Refused("a ) is missing")
        return "".join(out)

    def _next(self) -> str:
        text, at = self.text, self.at
        if repeat := _REPEAT.match(text, at):
            return self._repeat(repeat)
        self.repeatable, self.repeated = True, False
        if text[at] == "(":
            return self._open()
        self.at += 1
        match text[at]:
            case ")":
                if not self.outer:
                    raise _Refused("a ) has no (")
                self.flags = self.outer.pop()
                return ")"
            case "|":
                self.repeatable = False
                return "|"
            case "^":
                return "(?m:^)" if self.flags.m else r"(?:\A)"
            case "$":
                return "(?m:$)" if self.flags.m else r"(?:\Z)"
            case ".":
                return f"[^{_BYTES}]" if self.flags.s else f"[^\n{_BYTES}]"
            case "[":
                made, self.at = _class(text, at)
                return self._cased(made)
            case "\\":
                return self._escape()
        return self._cased(re.escape(text[at]))

    def _cased(self, text: str) -> str:
        return f"(?i:{text})" if self.flags.i else text

    def _repeat(self, repeat: re.Match[str]) -> str:
        if self.repeated or not self.repeatable:
            raise _Refused(f"{repeat.group()!r} has nothing to repeat")
        least, most = int(repeat["least"] or 0), int(repeat["most"] or 0)
        if max(least, most) > MOST_REPEATS or (repeat["most"] and least > most):
            raise _Refused(f"{repeat.group()!r} is no number of times, at most {MOST_REPEATS}")
        self.at, self.repeated = repeat.end(), True
        lazy = bool(repeat["lazy"]) != self.flags.U
        return repeat.group().removesuffix(repeat["lazy"] or "\0") + "?" * lazy

    def _open(self) -> str:
        group = _GROUP.match(self.text, self.at)
        assert group is not None  # a parenthesis alone is one
        if group.group() == "(" and self.text.startswith("(?", self.at):
            raise _Refused(f"{self.text[self.at : self.at + 3]!r} begins no group of RE2's")
        self.at = group.end()
        self.repeatable = False
        if group["end"] == ")":  # flags from here on
            self.flags = self.flags.changed(group["flags"])
            return ""
        self.outer.append(self.flags)
        if group["end"]:
            self.flags = self.flags.changed(group["flags"])
            return "(?:"
        return "("

    def _escape(self) -> str:
        at = self.at - 1
        letter = self.text[at + 1 : at + 2]
        if letter == "Q":
            end = self.text.find(r"\E", at)
            end = len(self.text) if end < 0 else end
            quoted, self.at = self.text[at + 2 : end], end + 2
            return "".join(self._cased(re.escape(c)) for c in quoted)
        if letter in _ASSERTIONS and letter:
            self.at = at + 2
            return f"(?:{_ASSERTIONS[letter]})"
        if letter == "C":
            self.at = at + 2
            return r"[\x00-\U0010ffff]"
        if found := _SET.match(self.text, at):
            self.at = found.end()
            inside, other = _held(found)
            return self._cased(f"[^{inside}{_BYTES}]" if other else f"[{inside}]")
        made, self.at = _code(self.text, at)
        return self._cased(re.escape(made))


class Pattern:
    """A compiled pattern.

    Args:
        pattern: in RE2's language.

    Raises:
        InvalidArgumentError: it is no pattern of RE2's.
    """

    def __init__(self, pattern: bytes) -> None:
        # a single byte is asked for: then characters are bytes
        self._encoding = "latin-1" if rb"\C" in pattern else "utf-8"
        try:
            self._compiled = re.compile(_Translation(pattern.decode(self._encoding)).run())
        except (_Refused, re.error, OverflowError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(
                f"{clipped(pattern)} is no regular expression: {error}"
            ) from error

    def _read(self, text: bytes) -> str:
        return text.decode(self._encoding, "surrogateescape")

    def matches(self, text: bytes) -> bool:
        """Whether all of the text is one match."""
        return self._compiled.fullmatch(self._read(text)) is not None

    def replaced(self, text: bytes, rewrite: bytes, everywhere: bool) -> bytes:
        r"""The text with its matches, or the first one, replaced.

        Args:
            text: what is searched.
            rewrite: what takes the place of a match; `\0` to `\9` are its groups, `\\` is one `\`.
                With a group that the pattern lacks nothing is replaced; another escape ends it.
            everywhere: all matches that do not overlap.
        """
        parts = re.findall(rb"\\(?:[0-9]|\\)|[^\\]+|\\", rewrite, re.DOTALL)
        if any(p[1:].isdigit() and int(p[1:]) > self._compiled.groups for p in parts):
            return text
        if b"\\" in parts:
            if not everywhere:
                return text
            parts = parts[: parts.index(b"\\")]
        source = self._read(text)
        out, at, last = [], 0, -1
        while found := self._compiled.search(source, at):
            start, end = found.span()
            out.append(source[at:start])
            if start == end == last:  # nothing, right behind a match
                out.append(source[start : start + 1])
                at = start + 1
                if at > len(source):
                    break
                continue
            out += [self._part(found, p) for p in parts]
            at = last = end
            if not everywhere:
                break
        out.append(source[at:])
        return "".join(out).encode(self._encoding, "surrogateescape")

    def _part(self, found: re.Match[str], part: bytes) -> str:
        if part[:1] != b"\\":
            return part.decode(self._encoding, "surrogateescape")
        return "\\" if part == b"\\\\" else found[int(part[1:])] or ""


compiled = functools.lru_cache(256)(Pattern)
