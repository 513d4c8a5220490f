"""Rows of regular expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.dtypes import DType
from tests.ops.rows import Row, Sample, Wrong, given, strings


def _matched(dtype: DType) -> Iterable[Sample]:
    texts = strings(b"ab", b"b", b"abb", b"", b"AB")
    for pattern in PATTERNS:
        yield given(texts, pattern=pattern)
    yield given(texts[0:1].reshape(()), pattern=b"a.")
    yield given(texts[:0], pattern=b"a.")


PATTERNS = (b"a?b*", b"(?i)ab", rb"\Qab\E", b"[[:alpha:]]{2}", rb"[^[:upper:][b-c]*b", rb"\C+\z",
            rb"(?P<x>a)\x{62}", rb"[\]ab]+")  # fmt: skip
# which of the five texts each pattern matches
MATCHES = (
    (1, 1, 1, 1, 0), (1, 0, 0, 0, 1), (1, 0, 0, 0, 0), (1, 0, 0, 0, 1), (1, 1, 0, 0, 0),
    (1, 1, 1, 0, 1), (1, 0, 0, 0, 0), (1, 1, 1, 0, 0),
)  # fmt: skip


def _match(texts: Any, pattern: bytes) -> Any:
    known = dict(zip(PATTERNS, MATCHES, strict=True)).get(pattern)
    if texts.ndim == 0:
        return np.array(True)
    return np.array(known if len(texts) else (), np.bool_)


ROWS = (
    Row(
        "StaticRegexFullMatch", _matched, _match, types=(dtypes.string,),
        wrong=tuple(
            Wrong(given(strings(b"x"), pattern=p), "", why)
            for p, why in (
                (b"(", "is no regular expression"), (b"a(?=b)", "RE2 does not take"),
                (rb"(a)\1", "RE2 does not take"), (b"a*+", "RE2 does not take"),
                (b"[[:abc:]]", "no class is called"), (b"[[:^digit:]]", "is not supported"),
                (rb"\pL", "is not supported"),
            )
        ),
    ),
    Row(
        "RegexFullMatch",
        lambda dtype: [
            given(s.inputs[0], np.array(s.attrs["pattern"], object)) for s in _matched(dtype)
        ],
        lambda texts, pattern: _match(texts, pattern.item()), types=(dtypes.string,),
        wrong=(
            Wrong(given(strings(b"x"), strings(b"x")), r"rank 0", "a pattern is a scalar"),
        ),
    ),
)  # fmt: skip
