"""Checks and messages that run with the graph."""

from __future__ import annotations

import pprint
import sys
from collections.abc import Sequence
from typing import Any

from graphvm import logging as messages
from graphvm import nest
from graphvm.graph.conversion import TensorLike, apply, convert_to_tensor, op_scope, output
from graphvm.graph.graph import Operation, Tensor
from graphvm.ops.string import string_format
from graphvm_runtime.dtypes import string
from graphvm_runtime.errors import GraphError

__all__ = ["Assert", "Print", "print"]

_PLACEHOLDERS = ("{}", "%s", "{!}", "{?}", "<#>", "<@>")


def Assert(
    condition: TensorLike,
    data: Sequence[TensorLike],
    summarize: int | None = None,
    name: str | None = None,
) -> Operation:
    """Stops the step with an InvalidArgumentError where a condition does not hold.

    It runs where something that is fetched comes after it (`control_dependencies`).

    Args:
        condition: bool; all of it must hold.
        data: tensors that the error shows.
        summarize: how many elements of each; 3 by default, -1 means all.
        name: name of the operation.

    Returns:
        The operation.

    Raises:
        DTypeError: `condition` is not bool.

    Source: TF op `Assert`, without the branch that TensorFlow builds around it.
    """
    return apply(
        "Assert",
        (condition, list(data)),
        {"summarize": 3 if summarize is None else summarize},
        name,
    )


def Print(
    input_: TensorLike,
    data: Sequence[TensorLike],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """A tensor that prints others to stderr when it runs.

    Args:
        input_: any type and shape.
        data: what is printed, each in brackets.
        message: what is printed before.
        first_n: print only the first so many times in a session; always by default.
        summarize: how many elements of each tensor; 3 by default, -1 means all.
        name: name of the operation.

    Returns:
        `input_`, unchanged. Only what depends on it makes it print. Derivatives pass it.

    Source: TF op `Print`, `tf.compat.v1.Print`.
    """
    attrs = {
        "message": (message or "").encode(),
        "first_n": -1 if first_n is None else first_n,
        "summarize": 3 if summarize is None else summarize,
    }
    return output("Print", (input_, list(data)), attrs, name)


def print(
    *inputs: Any,
    output_stream: Any = None,
    summarize: int = 3,
    sep: str = " ",
    end: str = "\n",
    name: str | None = None,
) -> Operation:
    """Prints tensors and Python values in one line when it runs.

    It runs where something that is fetched comes after it (`control_dependencies`).

    Args:
        *inputs: tensors, Python values, or nested structures of both.
        output_stream: `sys.stderr`, `sys.stdout`, `logging.info`, `logging.warning` or
            `logging.error`, or a string `file://path` to append to. Default: stderr.
        summarize: how many elements to show at both ends of each axis; 3 by default, -1 means
            all.
        sep: what stands between the inputs, a space by default.
        end: what ends the text, a line's end by default.
        name: name of the operation.

    Returns:
        The operation.

    Raises:
        GraphError: the stream is none of these.

    Source: TF ops `PrintV2` and `StringFormat`, `tf.print`.
    """
    attrs = {"output_stream": _stream(output_stream).encode(), "end": end.encode()}
    with op_scope(name or "print", ()) as scope:
        if len(inputs) == 1 and _is_text(inputs[0]):
            text = inputs[0]  # alone it stands without quotes
        else:
            text = _text(inputs, sep, summarize)
        return apply("PrintV2", (text,), attrs, scope)


def _is_text(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dtype.base is string and value.shape.rank == 0


def _text(inputs: Sequence[Any], sep: str, summarize: int) -> Tensor:
    """Inputs as one string, tensors by a template."""
    tensors: list[Tensor] = []
    plain = repr(nest.map_structure(lambda x: "" if _is_tensor(x) else x, list(inputs))) + sep
    placeholder = next((p for p in _PLACEHOLDERS if p not in plain), "")
    while not placeholder or placeholder in plain:
        placeholder += "#{}"

    def written(value: Any) -> Any:
        if not _is_tensor(value):
            return value
        tensors.append(convert_to_tensor(value))
        return placeholder

    parts = []
    for each in inputs:
        filled = nest.map_structure(written, each)
        parts.append(filled if isinstance(filled, str) else pprint.pformat(filled))
    template = sep.join(parts).replace(f"'{placeholder}'", placeholder)
    return string_format(template, tensors, placeholder, summarize)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "_as_graph_element")


def _stream(given: Any) -> str:
    """The name of an output stream."""
    if given is sys.stdout:
        return "stdout"
    if given is None or given is sys.stderr:
        return "stderr"
    for level in ("info", "warning", "error"):
        if given == getattr(messages, level) or given == f"log({level})":
            return f"log({level})"
    if isinstance(given, str) and (given in ("stdout", "stderr") or given.startswith("file://")):
        return given
    raise GraphError(
        f"print has no output stream {given!r}",
        do="use sys.stdout, sys.stderr, logging.info, logging.warning, logging.error or "
        "'file://' and a path",
    )
