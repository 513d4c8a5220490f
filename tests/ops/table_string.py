"""Rows of strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, Wrong, given, int_, ints, strings

Samples = Callable[[DType], Iterable[Sample]]
TEXTS = strings(b"", b"a b", b" a  b ", b"a,b,,c", b",", b"a\tb\n", b"\xff\xc3\xa9A\xe2\x82", b"\0")
ACCENTS = strings("ÀÉß ΑΣ ǆ İı".encode(), b"\xff\xc3\xa9A\xe2\x82", b"")
TABLE = strings(b"a", b"b", b"c", b"d").reshape(2, 2)


def text(value: bytes) -> Any:
    return np.array(value, object)


def each(**attrs: Any) -> list[Sample]:
    """Samples of an op on each string."""
    return [
        given(TEXTS, **attrs), given(ACCENTS, **attrs), given(TABLE, **attrs),
        given(TEXTS[:0].reshape(0, 2), **attrs), given(text(b"aB"), **attrs),
    ]  # fmt: skip


def of(samples: Iterable[Sample]) -> dict[str, Any]:
    """A row's samples, whose types are given."""
    found = list(samples)
    return {"samples": lambda dtype: found, "types": (dtypes.string,)}


def cased() -> Iterable[Sample]:
    yield from each()
    yield given(TEXTS[:-1], encoding=b"utf-8")  # TensorFlow ends a text at its first zero
    yield given(ACCENTS, encoding=b"utf-8")
    yield given(text(b"x"), encoding=b"latin-1")


NUMERALS = (
    b"1", b"-1", b" 1 ", b"1.5", b"+1", b"0x10", b"1e3", b"inf", b"-Infinity", b"nan", b"NAN", b"",
    b"1f", b"1_0", b"99999999999", b"1e400", b"1e-400", b" \t1\n", b"1\0", b"0x1p3", b"1.", b".5",
    b".", b"- 1", b"infx", b"1e", b"-0", b"+-1", b"18446744073709551615", b"18446744073709551616",
    b"-2147483648", b"2147483648", b"0" * 30 + b"7", b"1" * 5000, b"0x", b"1,000",
    # between two numbers of float32: the text decides, not its float64
    b"1.00000005960464477539062", b"1.000000059604644775390625", b"1.00000005960464477539063",
)  # fmt: skip


def numerals(dtype: DType) -> Iterable[Sample]:
    for each_ in NUMERALS:
        yield given(strings(each_), out_type=dtype)
    yield given(strings(b"1", b"2").reshape(2, 1), out_type=dtype)
    yield given(TEXTS[:0], out_type=dtype)


def joined() -> Iterable[Sample]:
    for axes in (ints(), ints(0), ints(1), ints(0, 1), ints(1, 0), ints(-1), int_(-1)):
        for keep in (False, True):
            yield given(TABLE, axes, keep_dims=keep, separator=b"-")
    yield given(TABLE, ints(0, 0))
    yield given(TABLE, ints(-1, 1))
    for shape, axis in (((2, 0), 1), ((0, 2), 0), ((0, 2), 1), ((0, 0), 0)):
        yield given(TEXTS[:0].reshape(shape), ints(axis), separator=b"x")
    yield given(text(b"a"), ints())
    yield given(strings(*map(bytes, zip(b"abcdefgh", strict=True))).reshape(2, 2, 2), ints(2, 0))


def segments() -> Iterable[Sample]:
    row = TABLE.reshape(-1)
    for ids in (ints(0, 1, 0, 1), ints(2, 2, 2, 2), ints(0, -1, 0, 1), ints(0, 3, 0, 1)):
        yield given(row, ids, int_(3), separator=b"-")
    yield given(row, ints(0, 1, 0, 1).astype(np.int64), np.array(2, np.int64))
    yield given(TABLE, ints(0, 0), int_(2), separator=b"-")
    yield given(TABLE, ints(0, 1, 1, 0).reshape(2, 2), int_(2))
    yield given(TABLE, ints(0, 0), ints(2))
    yield given(TABLE, ints(0), int_(2))
    yield given(TABLE, ints(0, 0), int_(-1))
    yield given(text(b"a"), int_(0), int_(2))
    yield given(TEXTS[:0], ints(), int_(2))


def split() -> Iterable[Sample]:
    for mark in (b"", b" ", b",", b", ", b"ab", b"]^-"):
        for skip in (True, False):
            yield given(TEXTS, text(mark), skip_empty=skip)
    yield given(TEXTS[:0], text(b" "))
    yield given(TEXTS, strings(b" "))
    yield given(TABLE, text(b" "))


def split_at_most() -> Iterable[Sample]:
    for mark in (b"", b" ", b",", b"ab"):
        for most in (-2, -1, 0, 1, 2):
            yield given(TEXTS, text(mark), maxsplit=most)
    yield given(TEXTS[:0], text(b""))
    yield given(TEXTS, strings(b" "))
    yield given(TABLE, text(b" "))


def cut() -> Iterable[Sample]:
    for start, length in (
        (0, 2), (-2, 1), (-3, 10), (3, 1), (4, 1), (-4, 10), (-5, 1), (5, 1), (0, -1), (1, 100),
        (1, 0),
    ):  # fmt: skip
        for unit in (b"BYTE", b"UTF8_CHAR"):
            yield given(text(b"abc"), int_(start), int_(length), unit=unit)
            yield given(text("aé日x".encode()), int_(start), int_(length), unit=unit)
    long = np.array([[1], [2]], np.int64)
    yield given(strings(b"abc", b"defg").reshape(1, 2), long - 1, long)
    yield given(text(b"abcd"), ints(0, 1), ints(1, 2))
    yield given(strings(b"abcd", b"xyz"), ints(0, 1), ints(1, 2))
    yield given(strings(b"abcd", b"xyz"), int_(1), int_(2))
    yield given(strings(b"abcd", b"xyz"), ints(0, 1), int_(2))
    yield given(strings(b"abcd", b"xyz"), ints(0, 1, 2), ints(0, 1, 2))
    yield given(TEXTS[:0], int_(0), int_(1))
    yield given(TABLE, ints(0, 1), ints(1, 1))


def grams() -> Iterable[Sample]:
    fixed = {"separator": b"|", "left_pad": b"L", "right_pad": b"R"}
    data = strings(b"a", b"b", b"c", b"d")
    for widths, pad, short in (
        ((2,), -1, False), ((2, 3), 0, False), ((3,), 0, True), ((5,), 1, True), ((), -1, True),
        ((), -1, False), ((), 1, True), ((1,), -2, False), ((0,), 0, False), ((-1,), 0, False),
        ((3, 1), 2, False),
    ):  # fmt: skip
        given_ = fixed | {
            "ngram_widths": widths, "pad_width": pad, "preserve_short_sequences": short,
        }  # fmt: skip
        yield given(data, ints(0, 3, 4, 4), **given_)
    plain = fixed | {"ngram_widths": (1,), "pad_width": 0, "preserve_short_sequences": False}
    for splits in ((1, 4), (0, 3), (0, 5), (0, 3, 2, 4), (0, 4)):
        yield given(data, ints(*splits), **plain)
        yield given(data, ints(*splits).astype(np.int64), **plain)
    yield given(data[:0], ints(0), **plain)
    yield given(data[:0], ints(), **plain)
    yield given(data, int_(0), **plain)


ROWS = (
    Row("StringLength", **of([*each(), *each(unit=b"UTF8_CHAR")])),
    Row("StringLower", **of(cased())),
    Row("StringUpper", **of(cased())),
    Row("StringStrip", **of([*each(), given(text(b" \0\t\n\v\f\rab\x1c\x85 "))])),
    Row("StringToNumber", numerals, vary="out_type"),
    Row("Substr", **of(cut())),
    Row(
        "ReduceJoin", **of(joined()),
        wrong=(Wrong(given(TABLE, ints(2)), "axis 2 is outside the rank 2"),),
    ),
    Row("UnsortedSegmentJoin", **of(segments())),
    Row("StringSplit", **of(split())),
    Row("StringSplitV2", **of(split_at_most())),
    Row("StringNGrams", **of(grams())),
)  # fmt: skip
