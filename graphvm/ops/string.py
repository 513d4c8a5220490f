"""Strings of bytes."""

from __future__ import annotations

from graphvm.conversion import TensorLike, output
from graphvm.graph import Tensor

__all__ = ["as_string"]


def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Each element as text, as C's `printf` writes it.

    Args:
        input: numbers, bool or string, any shape.
        precision: digits after the point of floating and complex numbers; 6 by default.
        scientific: floating numbers with an exponent.
        shortest: floating numbers in the shorter of both forms.
        width: least number of characters.
        fill: `printf`'s flag for a number shorter than that: `0`, `-` (to the left), `+`, `#` or
            a space.
        name: name of the operation.

    Returns:
        string, shape of `input`. A format that does not suit the element type is an
        `InvalidArgumentError` when it runs.

    Source: TF op `AsString`.
    """
    attrs = {
        "precision": precision, "scientific": scientific, "shortest": shortest, "width": width,
        "fill": fill.encode(),
    }  # fmt: skip
    return output("AsString", (input,), attrs, name)
