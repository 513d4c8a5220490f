"""Kernels of characters, which Python's codecs decode as ICU does."""

from __future__ import annotations

import codecs
import itertools
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.object_arrays import mapped, vector
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.registry import kernel, plain

# A character and the byte that it begins at; None where bytes are no character.
Found = tuple[int | None, int]

_KINDS = ("utf-8", "utf-16", "utf-32", "ascii", "iso", "cp", "koi8", "shift", "euc", "big5", "gb")
_MARKS = {"utf-16": 2, "utf-32": 4}  # bytes of the mark that tells their order
_CONTROL = 0x20
TRANSCODE = "UnicodeTranscode"  # which takes control characters for errors


def _decoder(name: bytes) -> Callable[[bytes], list[Found]]:
    """What finds the characters of a text in that encoding."""
    try:
        codec = codecs.lookup(name.decode("ascii"))
    except (LookupError, UnicodeDecodeError):
        codec = None
    if codec is None or not codec.name.startswith(_KINDS):
        raise InvalidArgumentError(f"input_encoding must be a known encoding, got {name!r}")
    if codec.name in _MARKS:
        return lambda data: _marked(data, codec.name)
    return lambda data: _characters(data, codec.name)


def _marked(data: bytes, encoding: str) -> list[Found]:
    """Characters after a mark of the bytes' order, big-endian where there is none."""
    size = _MARKS[encoding]
    marks = {"\ufeff".encode(f"{encoding}-{order}"): order for order in ("be", "le")}
    order = marks.get(data[:size])
    found = _characters(data[size if order else 0 :], f"{encoding}-{order or 'be'}")
    if not order:
        return found
    return [(code, start + size if i else 0) for i, (code, start) in enumerate(found)]


def _characters(data: bytes, encoding: str) -> list[Found]:
    out: list[Found] = []
    at = 0
    while at < len(data):
        try:
            text, end, broken = data[at:].decode(encoding), len(data), False
        except UnicodeDecodeError as error:
            text = data[at : at + error.start].decode(encoding)
            end, broken = at + error.end, True
            broken_at = at + error.start
        for character in text:
            out.append((ord(character), at))
            at += len(character.encode(encoding))
        if broken:
            out.append((None, broken_at))
        at = end
    return out


def _handled(node: Node) -> Callable[[Iterable[Found]], list[tuple[int, int]]]:
    """What does with broken and control characters as a node's attributes say."""
    errors: bytes = node.attrs["errors"]
    control: bool = node.attrs.get("replace_control_characters", False)
    replacement = _replacement(node)

    def call(found: Iterable[Found]) -> list[tuple[int, int]]:
        out = []
        for code, start in found:
            broken = code is None or (control and code < _CONTROL)
            if errors == b"strict" and (code is None or (broken and node.op.name == TRANSCODE)):
                raise InvalidArgumentError(f"the text must be valid, got other bytes at {start}")
            if broken and errors == b"ignore":
                continue
            out.append((replacement if code is None or broken else code, start))
        return out

    return call


def _replacement(node: Node) -> int:
    code: int = node.attrs["replacement_char"]
    if not 0 <= code <= sys.maxunicode:
        raise InvalidArgumentError(f"replacement_char must be a character, got {code}")
    return code


@kernel("UnicodeDecode", "UnicodeDecodeWithOffsets")
def _decode(node: Node) -> Callable[..., Any]:
    characters, handled = _decoder(node.attrs["input_encoding"]), _handled(node)
    splits_type = node.attrs["Tsplits"].numpy
    offsets = node.op.name == "UnicodeDecodeWithOffsets"

    def call(texts: Any) -> Any:
        rows = [handled(characters(text)) for text in as_strings(texts).reshape(-1).tolist()]
        splits = np.cumsum([0, *map(len, rows)]).astype(splits_type)
        codes = np.array([code for row in rows for code, _ in row], np.int32)
        if not offsets:
            return splits, codes
        return splits, codes, np.array([start for row in rows for _, start in row], np.int64)

    return call


def _encoder(node: Node) -> Callable[[Iterable[int]], bytes]:
    encoding = node.attrs["output_encoding"].decode()

    def call(codes: Iterable[int]) -> bytes:
        text = "".join("\ufffd" if 0xD800 <= c < 0xE000 else chr(c) for c in codes)
        return text.encode(encoding)

    return call


@kernel(TRANSCODE)
def _transcode(node: Node) -> Callable[..., Any]:
    characters, handled = _decoder(node.attrs["input_encoding"]), _handled(node)
    encoded = _encoder(node)
    return lambda texts: mapped(lambda t: encoded(c for c, _ in handled(characters(t))), texts)


@kernel("UnicodeEncode")
def _encode(node: Node) -> Callable[..., Any]:
    handled, encoded = _handled(node), _encoder(node)

    def call(codes: Array, splits: Array) -> Any:
        ends = np.asarray(splits).tolist()
        if ends[0] != 0 or ends[-1] != len(codes) or (np.diff(splits) < 0).any():
            raise InvalidArgumentError(
                f"input_splits must rise from 0 to {len(codes)}, the number of values, got {ends}"
            )
        found: list[Found] = [(c if _is_character(c) else None, i) for i, c in enumerate(codes)]
        rows = [handled(found[a:b]) for a, b in itertools.pairwise(ends)]
        return vector([encoded(c for c, _ in row) for row in rows])

    return call


def _is_character(code: int) -> bool:
    return 0 <= code <= sys.maxunicode and not 0xD800 <= code < 0xE000


@cache
def _scripts() -> tuple[Array, Array]:
    """Where each run of characters of one script begins, and which script it is."""
    text = (Path(__file__).parent / "unicode_scripts.txt").read_text()
    runs = " ".join(line for line in text.splitlines() if line[:1] != "#").split(",")
    pairs = [run.split() for run in runs]
    return np.array([int(a, 16) for a, _ in pairs]), np.array([int(b) for _, b in pairs], np.int32)


def _script(codes: Any) -> Any:
    starts, scripts = _scripts()
    found = scripts[np.searchsorted(starts, codes, "right") - 1]
    inside = (np.asarray(codes) >= 0) & (np.asarray(codes) <= sys.maxunicode)
    return np.where(inside, found, np.int32(-1)).astype(np.int32)


plain("UnicodeScript", _script)
