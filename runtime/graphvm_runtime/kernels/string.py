"""Kernels of strings."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType, bool_, string, variant
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.registry import kernel
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
