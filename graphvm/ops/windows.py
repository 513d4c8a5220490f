"""How users describe windows that slide over images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphvm.graph.source import user_line
from graphvm_runtime.errors import GraphError

__all__ = ["ONES", "four", "layout_of", "padding_attrs"]

ONES = (1, 1, 1, 1)


def four(given: Any, name: str, channels_first: bool) -> tuple[int, ...]:
    """Sizes of windows for all four axes, from 1, 2 or 4 numbers."""
    if given is None:
        return ONES
    values = tuple(int(v) for v in given) if isinstance(given, Sequence) else (int(given),)
    if len(values) == 4:
        return values
    if len(values) not in (1, 2):
        raise GraphError(f"{name} are 1, 2 or 4 numbers, got {list(values)}", made=user_line())
    rows, columns = values * 2 if len(values) == 1 else values
    return (1, 1, rows, columns) if channels_first else (1, rows, columns, 1)


def padding_attrs(given: Any) -> dict[str, Any]:
    """Attributes of a padding: its name, or pairs of numbers for all four axes."""
    if isinstance(given, str | bytes):
        name = given.encode() if isinstance(given, str) else given
        if name == b"EXPLICIT":
            raise GraphError("padding EXPLICIT is given as a list of pairs", made=user_line())
        return {"padding": name}
    if not isinstance(given, Sequence):
        raise GraphError(
            f"padding is SAME, VALID or a list of pairs, got {given!r}", made=user_line()
        )
    pairs = [tuple(int(v) for v in pair) for pair in given]
    if [len(p) for p in pairs] != [2] * 4:
        raise GraphError(f"padding is four pairs of numbers, got {list(given)}", made=user_line())
    flat = tuple(v for pair in pairs for v in pair)
    if not any(flat):
        return {"padding": b"VALID"}
    return {"padding": b"EXPLICIT", "explicit_paddings": flat}


def layout_of(given: str | None) -> bytes:
    """The attribute of a layout; channels come last unless the user says otherwise."""
    return b"NHWC" if given is None else given.encode()
