"""Kernels of strings."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType, bool_, string, variant
from graphvm_runtime.errors import InvalidArgumentError, clipped
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.numerals import number
from graphvm_runtime.kernels.object_arrays import mapped, vector
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.registry import kernel, plain
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.kernels.shown import formatted


@kernel("StringJoin")
def _join(node: Node) -> Callable[..., Any]:
    separator: bytes = node.attrs["separator"]

    def call(*inputs: Array) -> Any:
        shapes = {x.shape for x in inputs if x.ndim}
        if len(shapes) > 1:
            raise InvalidArgumentError(f"shapes differ: {', '.join(str(list(s)) for s in shapes)}")
        shape = shapes.pop() if shapes else ()
        columns = [np.broadcast_to(x, shape).reshape(-1).tolist() for x in inputs]
        size = int(np.prod(shape, dtype=np.int64))
        rows = zip(*columns, strict=True) if columns else [()] * size
        out = np.empty(size, object)
        for i, row in enumerate(rows):
            out[i] = separator.join(row)
        return as_strings(out.reshape(shape))

    return call


_WIDEST = 2**31 - 1  # characters that C's formats, and Python's, can be asked for
_FLAGS = (b"", b" ", b"+", b"-", b"0", b"#")


@kernel("AsString")
def _as_string(node: Node) -> Callable[..., Any]:
    writer = cache(_writer)

    def call(x: Array) -> Any:
        write = writer(node)  # now: TensorFlow, too, refuses a format when it runs
        out = np.empty(x.size, object)
        for i, value in enumerate(np.asarray(x).reshape(-1)):
            out[i] = write(value)
        return as_strings(out.reshape(x.shape))

    return call


def _writer(node: Node) -> Callable[[Any], bytes]:
    """What writes one element, by the format that the attributes describe."""
    dtype: DType = node.attrs["T"]
    fill, width, precision = (node.attrs[a] for a in ("fill", "width", "precision"))
    scientific, shortest = node.attrs["scientific"], node.attrs["shortest"]
    exact = not (dtype.is_floating or dtype.is_complex)
    if dtype is variant:
        raise InvalidArgumentError("a tensor list has no form as a string")
    if fill not in _FLAGS:
        raise InvalidArgumentError(f"fill {fill!r} is none of {', '.join(map(repr, _FLAGS))}")
    if max(width, precision) > _WIDEST:
        raise InvalidArgumentError(
            f"width and precision must be at most {_WIDEST}, got {width} and {precision}"
        )
    if scientific and shortest:
        raise InvalidArgumentError("numbers are written scientific or shortest, not both")
    if exact and dtype is not string and (scientific or shortest or precision > -1):
        raise InvalidArgumentError(
            f"scientific, shortest and precision are not for numbers of {dtype.name}"
        )
    if dtype is bool_:
        return lambda value: b"true" if value else b"false"
    size = f"{width}" if width > -1 else ""
    digits = f".{precision}" if precision > -1 else ""
    flag = fill.decode() if size else ""
    if dtype is string:
        plain = f"%{'-' if flag == '-' else ''}{size}{digits}s".encode()
        return lambda value: plain % value
    if exact:
        # C writes no sign before numbers that never have one
        flag = "" if dtype.is_unsigned and flag in (" ", "+") else flag
        whole = f"%{flag}{size}d"
        return lambda value: (whole % int(value)).encode()
    letter = "e" if scientific else "g" if shortest else "f"
    finite = f"%{flag}{size}{digits}{letter}"
    other = f"%{'' if flag in ('0', '#') else flag}{size}{digits}{letter}"

    def number(value: float) -> str:
        return (finite if math.isfinite(value) else other) % value

    if dtype.is_complex:
        return lambda value: f"({number(value.real)},{number(value.imag)})".encode()
    return lambda value: number(float(value)).encode()


@kernel("StringFormat")
def _format(node: Node) -> Callable[..., Any]:
    ends: int = node.attrs["summarize"]
    template, placeholder = node.attrs["template"], node.attrs["placeholder"]
    parts: list[bytes] = template.split(placeholder) if placeholder else [template]

    def call(*inputs: Array) -> Any:
        if len(inputs) != len(parts) - 1:
            raise InvalidArgumentError(
                f"the template takes {len(parts) - 1} tensors, got {len(inputs)}"
            )
        out = [parts[0]]
        for value, part in zip(inputs, parts[1:], strict=True):
            out += [formatted(value, ends).encode(), part]
        return as_strings(b"".join(out))

    return call


# ------------------------------------------------------------------------------------ one by one

_SPACE = b" \t\n\v\f\r"


def _characters(text: bytes) -> list[bytes]:
    """The characters of UTF-8: each byte that continues none begins one."""
    starts = [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80]
    return [text[a:b] for a, b in itertools.pairwise([*starts, len(text)])]


@kernel("StringLength")
def _length(node: Node) -> Callable[..., Any]:
    if node.attrs["unit"] == b"BYTE":
        return lambda x: mapped(len, x, np.int32)
    return lambda x: mapped(lambda text: len(_characters(text)), x, np.int32)


@kernel("StringLower", "StringUpper")
def _in_case(node: Node) -> Callable[..., Any]:
    encoding: bytes = node.attrs["encoding"]
    upper = node.op.name == "StringUpper"
    if encoding not in (b"", b"utf-8"):
        raise InvalidArgumentError(f"encoding must be '' or 'utf-8', got {encoding.decode()!r}")
    if not encoding:
        change = bytes.upper if upper else bytes.lower  # of ASCII alone
        return lambda x: mapped(change, x)
    method = str.upper if upper else str.lower
    return lambda x: mapped(lambda text: method(text.decode(errors="replace")).encode(), x)


plain("StringStrip", lambda x: mapped(lambda text: text.strip(_SPACE), x))


@kernel("StringToNumber")
def _to_number(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["out_type"]

    def read(text: bytes) -> Any:
        value = number(text, dtype)
        if value is None:
            raise InvalidArgumentError(f"{clipped(text)} is no number of {dtype.name}")
        return value

    return lambda x: mapped(read, x, dtype.numpy)


@kernel("Substr")
@refusing
def _substr(node: Node) -> Callable[..., Any]:
    parts: Callable[[Any], Any] = bytes if node.attrs["unit"] == b"BYTE" else _characters

    def call(texts: Any, starts: Any, lengths: Any) -> Any:
        inputs = np.broadcast_arrays(as_strings(texts), starts, lengths)
        out = np.empty(inputs[0].shape, object)
        for at in np.ndindex(out.shape):
            text: Any
            start: Any
            length: Any
            text, start, length = (x[at] for x in inputs)
            have: Any = parts(text)
            if not -len(have) <= start <= len(have):
                raise InvalidArgumentError(
                    f"pos must lie within the string, of {len(have)}, got {start}"
                )
            start = int(start) + (len(have) if start < 0 else 0)
            if length < 0:  # to the end of bytes, nothing of characters: as in TensorFlow
                length = len(have) if parts is bytes else 0
            out[at] = _joined(have[start : start + int(length)])
        return out

    return call


def _joined(parts: bytes | list[bytes]) -> bytes:
    return parts if isinstance(parts, bytes) else b"".join(parts)


# -------------------------------------------------------------------------- joining and splitting


@kernel("ReduceJoin")
def _reduce_join(node: Node) -> Callable[..., Any]:
    separator, keep = node.attrs["separator"], node.attrs["keep_dims"]

    def call(inputs: Any, axes: Any) -> Any:
        x = as_strings(inputs)
        joined = [int(a) % max(x.ndim, 1) for a in np.ravel(axes)]
        if len(set(joined)) != len(joined):
            raise InvalidArgumentError(f"axes must be different, got {np.ravel(axes).tolist()}")
        if not joined:
            return x.copy()
        left = [a for a in range(x.ndim) if a not in joined]
        size = math.prod(x.shape[a] for a in left)
        # the axis that is listed first runs fastest
        rows = x.transpose(left + joined[::-1]).reshape(size, -1 if x.size else 0)
        shape = [1 if a in joined else d for a, d in enumerate(x.shape) if keep or a in left]
        return vector([separator.join(row) for row in rows.tolist()]).reshape(shape)

    return call


@kernel("UnsortedSegmentJoin")
def _segment_join(node: Node) -> Callable[..., Any]:
    separator: bytes = node.attrs["separator"]

    def call(inputs: Any, ids: Any, count: Any) -> Any:
        x, ids, count = as_strings(inputs), np.asarray(ids), int(count)
        if not ids.ndim:
            raise InvalidArgumentError("segment_ids must have rank 1 or more, got a scalar")
        rest = x.shape[ids.ndim :]
        rows = x.reshape(ids.size, math.prod(rest))
        parts: list[list[list[bytes]]] = [[[] for _ in range(rows.shape[1])] for _ in range(count)]
        for segment, row in zip(ids.reshape(-1).tolist(), rows.tolist(), strict=True):
            if not 0 <= segment < count:
                raise InvalidArgumentError(f"segment_ids must be in [0, {count}), got {segment}")
            for place, text in zip(parts[segment], row, strict=True):
                place.append(text)
        flat = [separator.join(place) for row in parts for place in row]
        return vector(flat).reshape(count, *rest)

    return call


def ragged_as_sparse(rows: list[list[bytes]]) -> tuple[Array, Array, Array]:
    """Rows of strings as the indices, values and shape of a sparse matrix."""
    places = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    shape = [len(rows), max(map(len, rows), default=0)]
    return (
        np.array(places, np.int64).reshape(-1, 2),
        vector([text for row in rows for text in row]),
        np.array(shape, np.int64),
    )


@kernel("StringSplit")
@refusing
def _split(node: Node) -> Callable[..., Any]:
    skip: bool = node.attrs["skip_empty"]

    def call(texts: Any, delimiters: Any) -> Any:
        marks = as_strings(delimiters).item()
        between = re.compile(b"[" + re.escape(marks) + b"]") if marks else None

        def split(text: bytes) -> list[bytes]:
            if between is None or not text:
                return [text[i : i + 1] for i in range(len(text))]
            parts = between.split(text)
            return [p for p in parts if p] if skip else parts

        return ragged_as_sparse([split(text) for text in texts])

    return call


@kernel("StringSplitV2")
@refusing
def _split_at_most(node: Node) -> Callable[..., Any]:
    most: int = node.attrs["maxsplit"]

    def split(text: bytes, separator: bytes) -> list[bytes]:
        if most == 0:
            return [text]
        if separator:
            return text.split(separator, most)
        parts = text.split()
        if most < 0 or len(parts) < most:
            return parts
        out = text.split(None, most)  # TensorFlow gives what follows even where it is empty
        return out if len(out) > most else [*out, b""]

    def call(texts: Any, separator: Any) -> Any:
        mark = as_strings(separator).item()
        return ragged_as_sparse([split(text, mark) for text in texts])

    return call


@kernel("StringNGrams")
def _ngrams(node: Node) -> Callable[..., Any]:
    names = ("separator", "left_pad", "right_pad", "ngram_widths", "pad_width")
    separator, left, right, widths, most = (node.attrs[n] for n in names)
    short: bool = node.attrs["preserve_short_sequences"]
    if any(w <= 0 for w in widths):
        raise InvalidArgumentError(f"ngram_widths must be 1 or more, got {list(widths)}")

    def windows(row: list[bytes], width: int) -> list[bytes]:
        pad = max(0, min(width - 1, width - 1 if most < 0 else most))
        padded = [left] * pad + row + [right] * pad
        starts = range(len(padded) - width + 1)
        return [separator.join(padded[i : i + width]) for i in starts]

    def of_row(row: list[bytes]) -> list[bytes]:
        found = [gram for width in widths for gram in windows(row, width)]
        if found or not short or not row:
            return found
        if most < 0:
            raise InvalidArgumentError(
                f"pad_width must be 0 or more to keep short sequences, got {most}"
            )
        return windows(row, len(row) + 2 * most)

    def call(data: Any, splits: Any) -> Any:
        splits = np.asarray(splits)
        if not len(splits):
            return vector([b""] * len(data)), splits
        ends = splits.tolist()
        if ends[0] != 0 or ends[-1] != len(data) or (np.diff(splits) < 0).any():
            raise InvalidArgumentError(
                f"data_splits must rise from 0 to {len(data)}, the size of data, got {ends}"
            )
        rows = [of_row(data[a:b].tolist()) for a, b in itertools.pairwise(ends)]
        counts = np.cumsum([0, *map(len, rows)]).astype(splits.dtype)
        return vector([gram for row in rows for gram in row]), counts

    return call
