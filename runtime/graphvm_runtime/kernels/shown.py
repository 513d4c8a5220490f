"""Tensors as text, as TensorFlow's `Assert`, `Print` and `StringFormat` write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'",
            ord("\\"): "\\\\"}  # fmt: skip


def summary(value: Any, limit: int) -> str:
    """The first elements of a tensor in brackets: `[1 2 3...]`, `[[1 2][3...]...]`.

    Args:
        value: a tensor.
        limit: how many elements; -1 means all.
    """
    array = np.asarray(value)
    write = _writer(array, quoted=False)
    count = array.size if limit < 0 else min(limit, array.size)
    rest = "..." if count < array.size else ""
    elements = (write(v) for v in array.reshape(-1)[:count])
    if array.ndim < 2:
        return f"[{' '.join(elements)}{rest}]"
    return f"[{''.join(_rows(array.shape, 0, iter(list(elements)), count))}{rest}]"


def _rows(shape: tuple[int, ...], axis: int, elements: Iterator[str], limit: int) -> Iterator[str]:
    """Rows of rows, each in brackets, until the elements run out."""
    inner = int(np.prod(shape[axis + 1 :], dtype=np.int64))
    for at in range(0, min(limit, shape[axis] * inner), inner or 1):
        left = min(limit - at, inner)
        if axis == len(shape) - 2:
            row = [text for _, text in zip(range(left), elements, strict=False)]
            yield f"[{' '.join(row)}{'...' if left < inner else ''}]"
        else:
            yield f"[{''.join(_rows(shape, axis + 1, elements, left))}]"


def formatted(value: Any, ends: int) -> str:
    """A tensor in brackets and lines, with the middle of long axes left out.

    Args:
        value: a tensor.
        ends: how many elements to show at both ends of an axis; -1 means all.
    """
    array = np.asarray(value)
    write = _writer(array, quoted=True)
    shown = array.size if ends < 0 else min(ends, array.size)
    return _block(array, write, shown, 0, array.ndim)


def _block(array: Any, write: Callable[[Any], str], ends: int, depth: int, rank: int) -> str:
    if depth == rank:
        return write(array[()] if array.dtype != object else array.item())
    last = depth == rank - 1
    between = " " if last else "\n" * (rank - depth - 1) + " " * (depth + 1)
    count = len(array)
    head = range(min(ends, count))
    tail = range(max(ends, count - ends), count)
    parts = [_block(array[i, ...], write, ends, depth + 1, rank) for i in head]
    out = between.join(parts)
    if count > 2 * ends:
        out += between + "..."
    for i in tail:
        out += between + _block(array[i, ...], write, ends, depth + 1, rank)
    return f"[{out}]"


def _writer(array: Any, quoted: bool) -> Callable[[Any], str]:
    """What writes one element of an array."""
    kind = array.dtype.kind
    if kind == "O":
        return _quoted if quoted else _text
    if kind == "b":
        return lambda v: "1" if v else "0"
    if kind in "iu":
        return lambda v: str(int(v))
    if kind == "c":
        return lambda v: "?"  # as in TensorFlow
    return _double if array.dtype == np.float64 else _single


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else "?"


def _quoted(value: Any) -> str:
    """A string in quotes, with bytes that are no plain characters in octal."""
    if not isinstance(value, bytes):
        return "?"
    parts = (
        _ESCAPES.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in value
    )  # fmt: skip
    return f'"{"".join(parts)}"'


def _single(value: Any) -> str:
    # the fewest digits, six or nine, that give the number back
    number = np.float32(value)
    short = f"{float(number):.6g}"
    return short if np.float32(short) == number or number != number else f"{float(number):.9g}"


def _double(value: Any) -> str:
    number = float(value)
    short = f"{number:.15g}"
    return short if float(short) == number or number != number else f"{number:.17g}"
