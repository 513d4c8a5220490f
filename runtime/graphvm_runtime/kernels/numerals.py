"""Numbers written as text, as TensorFlow reads them: spaces around, one sign, C's forms."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType

_SPACE = b" \t\n\v\f\r"
_WHOLE = re.compile(rb"[+-]?[0-9]+")
_DECIMAL = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEX = re.compile(rb"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?")
_OTHER = re.compile(rb"[+-]?(?:inf|infinity|nan)", re.IGNORECASE)


def number(text: bytes, dtype: DType) -> Any:
    """The number of that type that a text is, or None where it is none.

    Args:
        text: the text.
        dtype: float32, float64 or an integer type, whose limits count.
    """
    text = text.strip(_SPACE)
    if dtype.is_integer:
        return _integer(text, dtype)
    if _DECIMAL.fullmatch(text) or _OTHER.fullmatch(text):
        value = float(text)
    elif _HEX.fullmatch(text):
        try:
            value = float.fromhex(text.decode())
        except OverflowError:
            value = -np.inf if text.startswith(b"-") else np.inf
    else:
        return None
    return value if dtype.numpy == np.float64 else _single(text, value)


def _integer(text: bytes, dtype: DType) -> int | None:
    if not _WHOLE.fullmatch(text) or (dtype.is_unsigned and text.startswith(b"-")):
        return None
    digits = text.lstrip(b"+-0")
    if len(digits) > 20:  # more than any type holds; Python refuses to read very long ones
        return None
    info = np.iinfo(dtype.numpy)
    value = int(text)
    return value if info.min <= value <= info.max else None


def _single(text: bytes, value: float) -> Any:
    """The float32 nearest to the text, of which `value` is the nearest float64.

    Where that lies in the middle between two, the text itself decides.
    """
    with np.errstate(over="ignore"):
        near = np.float32(value)
    if not np.isfinite(near) or near == value or _HEX.fullmatch(text):
        return near
    other = np.nextafter(near, np.float32(np.copysign(np.inf, value - float(near))))
    if not np.isfinite(other) or Fraction(value) * 2 != Fraction(float(near)) + Fraction(
        float(other)
    ):
        return near
    exact = Fraction(Decimal(text.decode()))
    if exact == Fraction(value):
        return near
    return max(near, other) if exact > Fraction(value) else min(near, other)
