"""Rows of regular expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.ops.rows import Row, Sample, Wrong, given, strings
from tests.ops.table_string import of, text

ASCII = strings(b"ab", b"b", b"abb", b"", b"AB", b"a-b a\nB\n", b"a\v1 \t{2}_")
TEXTS = strings(
    *ASCII, b"aab", b"a1", b"abc", b"baac", b"a.b", b"a{", b"}+", b"a]b^c", b"foo bar", b"aaaaa",
    b"a\0b", "aéb".encode(), "日本1".encode(), b"a\xffb", "K\u017f".encode(),
)  # fmt: skip
PATTERNS = (
    b"", b"a?b*", b"b", b"(b)(c)?", b"x*", b".", b"(?s).", b"$", b"(?m)$", b"^", b"(?m)^", b"a*",
    b"a*?", b"aa", b"a|ab", b"(?:a|b)+", b"(a*)*", b"(|b)*", b"a{2}", b"a{1,1000}", b"a{,2}", b"a{",
    b"}+", b"(?i)ab", b"(?i)A(?-i)b", b"a(?i)B|C", b"x|(?i)c|B", b"(?i:A)b", b"(?U)a+", b"(?U)a+?",
    b"(?i)k", b"(?i)s", b"(?sm)b.^", rb"\Qa.b\E", rb"\Qa.b", rb"\x61", rb"\x{62}", rb"\141", rb"\0",
    rb"\_", rb"\n", rb"\v", rb"\w", rb"\W", rb"\d\D?", rb"\s", rb"\S+", rb"\b", rb"\Aa",
    rb"b\z", b"[]]", b"[^]^]", b"[a-]", b"[^a]", rb"[\W\d]", rb"[^\W]", rb"[\x61-\x{62}]",
    b"[[:alpha:]]{2}", b"[[:^alpha:]]", b"[^[:upper:][b-c]*b", b"[[:space:]]", b"[[:punct:]]",
    b"(?P<x>a)b", "é".encode(), "[é-日]".encode(), "(?i)É".encode(), rb"\p{Lu}", rb"\pL", rb"\PL",
    rb"[\p{Nd}_]", rb"\p{^Ll}", rb"(?i)[[:upper:]]", b"^*a", b"(?:)",
)  # fmt: skip
REFUSED = (
    b"(", b")", b"[", b"\\", b"a**", b"a{2}+", b"a*+", b"*a", b"|*", b"(?i", b"(?x)a", b"(?#x)a",
    b"(?=b)", b"(?<!b)", b"(?>b)", rb"(a)\1", rb"\8", rb"\u0061", rb"\Z", rb"\z*\y", b"a{1001}",
    b"x{2,1}", b"[b-a]", rb"[a-\d]", b"[[:abc:]]", rb"\p{Xx}",
)  # fmt: skip
REWRITES = (rb"<\2\1\0>", rb"\\", b"", "é".encode())


def matched() -> Iterable[Sample]:
    for pattern in PATTERNS:
        yield given(TEXTS, pattern=pattern)
    yield given(ASCII, pattern=rb"\C+\z")
    for pattern in REFUSED:
        yield given(ASCII, pattern=pattern)
    yield given(ASCII[:0], pattern=b"a.")
    yield given(ASCII[0:1].reshape(()), pattern=b"a.")


def replaced() -> Iterable[Sample]:
    for everywhere in (True, False):
        for pattern in PATTERNS:
            yield given(TEXTS, pattern=pattern, rewrite=b"X", replace_global=everywhere)
        yield given(TEXTS, pattern=rb"\C", rewrite=b"X", replace_global=everywhere)
        for rewrite in (*REWRITES, b"x\\", rb"x\yz", rb"\3"):
            yield given(TEXTS, pattern=b"(b)(c)?", rewrite=rewrite, replace_global=everywhere)
    yield given(ASCII, pattern=rb"\B", rewrite=b"X")  # RE2 finds one within a character, too
    for pattern in REFUSED:
        yield given(ASCII, pattern=pattern, rewrite=b"X")


def as_inputs(samples: Iterable[Sample], *names: str) -> Iterator[Sample]:
    """The samples with some attributes as inputs, some samples left out."""
    for at, sample in enumerate(samples):
        if at % 9 == 0:
            attrs: dict[str, Any] = dict(sample.attrs)
            yield given(*sample.inputs, *(text(attrs.pop(n)) for n in names), **attrs)


ONE = strings(b"x")
ROWS = (
    Row(
        "StaticRegexFullMatch", **of(matched()),
        wrong=tuple(
            Wrong(given(ONE, pattern=p), "", why)
            for p, why in (
                (b"(", "is no regular expression: a [)] is missing"),
                (b"a(?=b)", "begins no group"), (rb"(a)\1", "is no escape"),
                (b"a*+", "has nothing to repeat"), (b"[[:abc:]]", "no class is called"),
                (b"a{1001}", "at most 1000"), (b"[b-a]", "is no range"), (b"[", "a ] is missing"),
            )
        ),
    ),
    Row("StaticRegexReplace", **of(replaced())),
    Row(
        "RegexFullMatch", **of([*as_inputs(matched(), "pattern"), given(ONE, ONE)]),
        wrong=(Wrong(given(ONE, ONE), r"rank 0", "a pattern is a scalar"),),
    ),
    Row("RegexReplace", **of([
        *as_inputs(replaced(), "pattern", "rewrite"), given(ONE, ONE, ONE[0]),
        given(ONE, ONE[0], ONE),
    ])),
)  # fmt: skip
