"""Comma-separated values as TensorFlow reads them: one record a string."""

from __future__ import annotations

from collections.abc import Iterator

from graphvm_runtime.errors import InvalidArgumentError, clipped

_QUOTE = b'"'
_LINES = b"\r\n"


def fields(record: bytes, delimiter: bytes, quotes: bool) -> Iterator[bytes]:
    """The fields of a record, one by one: what follows the last that is asked for is not read.

    Args:
        record: the record; an empty one has no fields.
        delimiter: the one byte between fields.
        quotes: fields may stand in double quotes, where a quote is written twice.

    Raises:
        InvalidArgumentError: a quote or a line break is where none may be.
    """
    at = 0
    while at < len(record):
        if record[at] in _LINES:
            at += 1
            continue
        if quotes and record[at : at + 1] == _QUOTE:
            field, at = _quoted(record, at + 1, delimiter)
        else:
            end = record.find(delimiter, at)
            end = len(record) if end < 0 else end
            field, at = record[at:end], end + 1
            if any(mark in field for mark in (b"\n", b"\r", *([_QUOTE] if quotes else []))):
                raise InvalidArgumentError(
                    f"a field without quotes must have none inside, nor breaks, got {clipped(field)}"
                )
        yield field
    if record.endswith(delimiter):
        yield b""


def _quoted(record: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    """The field whose first quote is before `at`, and where the next one begins."""
    parts = []
    while True:
        end = record.find(_QUOTE, at)
        if end < 0:
            raise InvalidArgumentError(f"a quoted field has no end in {clipped(record)}")
        parts.append(record[at:end])
        after = record[end + 1 : end + 2]
        if after in (b"", delimiter):
            return b"".join(parts), end + 2
        if after != _QUOTE:
            raise InvalidArgumentError(f"a quote is not written twice in {clipped(record)}")
        parts.append(_QUOTE)
        at = end + 2
