"""Rows of characters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from tests.ops.rows import Row, Sample, Wrong, given, int_, ints, strings
from tests.ops.table_string import of, text

UTF8 = strings(
    b"", b"a\xffb", b"\xe2\x82", b"\xe2\x82a", b"\xed\xa0\x80", b"\xc0\x80", b"\xf0\x9f\x98",
    b"\xf0\x9f\x98\x80", b"\xf8\x88\x80\x80\x80", b"a\0\x1fb\x7f\xc2\x80", b"\xef\xbb\xbfa",
    b"\xf4\x90\x80\x80",
)  # fmt: skip
UTF16 = strings(
    b"\0a\0b", b"\0a\0", b"\xd8\x3d\xde\0", b"\xd8\x3d\0a", b"\xde\0\0a", b"\xfe\xff\0a\0b",
    b"\xff\xfea\0b\0", b"",
)  # fmt: skip
UTF32 = strings(b"\0\0\0a", b"\0\0\0", b"\0\0\xd8\0\0\0\0b", b"\0\x11\0\0\0\0\0a")
WAYS = ("strict", "replace", "ignore")


def texts(**attrs: Any) -> Iterable[Sample]:
    for way in WAYS:
        more = {"errors": way.encode(), **attrs}
        for control in (False, True):
            for x in (UTF8, UTF8[7:8], UTF8[9:11]):
                yield given(x, input_encoding=b"UTF-8", replace_control_characters=control, **more)
        for encoding in (b"UTF-16-BE", b"UTF-16-LE"):
            yield given(UTF16, input_encoding=encoding, **more)
        # TensorFlow keeps the order of the first text for those after it
        for x in (UTF16[:5], UTF16[5:6], UTF16[6:7]):
            yield given(x, input_encoding=b"UTF-16", **more)
        yield given(UTF32, input_encoding=b"UTF-32-BE", **more)
    mixed = text(b"a\xe9\x82\xa0\x81A")
    for encoding in (
        b"latin1", b"US-ASCII", b"Shift_JIS", b"gb18030", b"utf8", b"ISO-8859-15", b"koi8-r",
        b"foo", b"", b"rot13",
    ):  # fmt: skip
        yield given(mixed, input_encoding=encoding, **attrs)
    for code in (63, 0, 0x1F600, 0x110000, -1):
        yield given(UTF8[1:4], input_encoding=b"UTF-8", replacement_char=code, **attrs)
    yield given(strings(b"a", b"bc").reshape(1, 2), input_encoding=b"UTF-8", **attrs)
    yield given(UTF8[:0], input_encoding=b"UTF-8", **attrs)


def decoded() -> Iterable[Sample]:
    yield from texts()
    yield given(UTF8, input_encoding=b"UTF-8", Tsplits=dtypes.int32)


def transcoded() -> Iterable[Sample]:
    for encoding in (b"UTF-8", b"UTF-16-BE", b"UTF-32-BE"):
        yield from texts(output_encoding=encoding)


def encoded() -> Iterable[Sample]:
    codes = ints(97, 0xD800, 0x110000, -1, 0, 0xFFFE, 0x1F600)
    for encoding in (b"UTF-8", b"UTF-16-BE", b"UTF-32-BE"):
        for way in WAYS:
            attrs = {"output_encoding": encoding, "errors": way.encode()}
            yield given(codes, ints(0, 2, 2, 7), **attrs)
            yield given(codes[4:], np.array([0, 3]), **attrs)
    utf8 = {"output_encoding": b"UTF-8"}
    for code in (63, 0, 0x1F600, 0x110000, -1):
        yield given(codes, ints(0, 7), replacement_char=code, **utf8)
    for splits in ((0, 1), (0, 3), (1, 2), (0, 2, 1), (0,), (-1, 2), (0, 0, 2)):
        yield given(codes[:2], ints(*splits), **utf8)


def scripts() -> Iterable[Sample]:
    yield given(np.arange(-2, 0x3400, 7).astype(np.int32))
    yield given(np.arange(0x3400, 0x110010, 977).astype(np.int32))
    yield given(int_(97))
    yield given(ints().reshape(0, 2))


CODES = ints(97, 98)
ROWS = (
    Row("UnicodeDecode", **of(decoded())),
    # with `Tsplits` of int32 TensorFlow ends its process
    Row("UnicodeDecodeWithOffsets", **of(texts())),
    Row("UnicodeTranscode", **of(transcoded())),
    Row(
        "UnicodeEncode", **of(encoded()),
        # such shapes, unknown before, end TensorFlow's process
        wrong=tuple(
            Wrong(given(CODES.reshape(shape), splits, output_encoding=b"UTF-8"), rank)
            for shape, splits, rank in (
                ((2, 1), ints(0, 2), "input_values has rank 1"),
                ((2,), int_(0), "input_splits has rank 1"),
                ((2,), ints(), "input_splits must have two"),
            )
        ),
    ),
    Row("UnicodeScript", **of(scripts())),
)  # fmt: skip
