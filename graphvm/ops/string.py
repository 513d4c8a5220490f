"""Strings of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphvm.graph.conversion import TensorLike, output
from graphvm.graph.graph import Tensor

__all__ = ["as_string", "string_format", "string_join"]


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


def string_format(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> Tensor:
    """A text with tensors written into it.

    Args:
        template: the text.
        inputs: a tensor, or several in a list or tuple: one for each placeholder.
        placeholder: what stands in the template for a tensor.
        summarize: how many elements to show at both ends of each axis; -1 means all.
        name: name of the operation.

    Returns:
        Scalar string.

    Raises:
        ShapeError: there are more or fewer tensors than placeholders.

    Source: TF op `StringFormat`, `tf.strings.format`.
    """
    tensors = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    attrs = {
        "template": template.encode(), "placeholder": placeholder.encode(),
        "summarize": summarize,
    }  # fmt: skip
    return output("StringFormat", (tensors,), attrs, name)


def string_join(
    inputs: Sequence[TensorLike], separator: str = "", name: str | None = None
) -> Tensor:
    """Strings put together, element by element.

    Args:
        inputs: string, all of one shape; scalars go with any.
        separator: what stands between them.
        name: name of the operation.

    Returns:
        string, of that shape.

    Raises:
        ShapeError: the shapes differ.

    Source: TF op `StringJoin`, `tf.strings.join`.
    """
    return output("StringJoin", (list(inputs),), {"separator": separator.encode()}, name)
