"""Names of operations, and the texts that name them: `node`, `node:1`, `^node`.

A file, a user and a pass write the same texts, so one grammar reads them all.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from graphvm_runtime.errors import GraphError, clipped

# The rule for a whole name, and for the part of one that stands behind a scope. Bound methods:
# every node that is made asks once.
legal_name = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*").fullmatch
legal_in_scope = re.compile(r"[A-Za-z0-9_.\\/>-]*").fullmatch

# ASCII digits: what Python takes for a number is wider, and has a limit of its own beyond which
# it raises an error of its own.
_number = re.compile(r"[0-9]{1,18}").fullmatch


def as_text(name: Any) -> str:
    """A name given as text or bytes; bytes that are no UTF-8 keep their place, and name nothing.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(name, str):
        return name
    if not isinstance(name, bytes):
        raise TypeError(f"a name must be text or bytes, got {clipped(name)}")
    return name.decode(errors="surrogateescape")


def split_output(text: str) -> tuple[str, int | None]:
    """`node:k` as its two parts; all of the text and None where no number stands at its end."""
    name, _, number = text.rpartition(":")
    if name and _number(number):
        return name, int(number)
    return text, None


def parse_output(text: str) -> tuple[str, int]:
    """The node and the number that `node` or `node:k` names.

    Raises:
        GraphError: it is written in another way.
    """
    name, number = split_output(text)
    if ":" in name:
        raise GraphError(f"an output must be named node or node:k, got {text!r}")
    return name, number or 0


def parse_body_output(text: str) -> tuple[str, int | str]:
    """As `parse_output`, inside a body: `argument`, `argument:k`, `node:output`, `node:output:k`.

    Returns:
        The node or argument, and the number, or `output:k` where an output is named.
    """
    name, _, rest = text.partition(":")
    if not rest:
        return name, 0
    if _number(rest):
        return name, int(rest)
    output, number = split_output(rest)
    return name, f"{output}:{number or 0}"


def named_node(text: str) -> str:
    """The node that an input names, in a graph or in a body, as a control input or not."""
    return text.removeprefix("^").partition(":")[0]


def unused_prefix(prefix: str, names: Collection[str]) -> str:
    """The prefix, with underscores behind it until no name begins with it."""
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix
