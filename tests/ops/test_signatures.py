"""Our declarations are TensorFlow's: names, types, attributes, defaults and flags of each op."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from graphvm_runtime.dtypes import DType
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.signature import REQUIRED, Arg, AttrDef

TEXT = (Path(__file__).parent.parent / "data" / "op-signatures.txt").read_text()
LINE = re.compile(
    r"(?P<name>\w+)\((?P<inputs>.*?)\) -> \((?P<outputs>.*?)\)"
    r"(?: attrs (?P<attrs>.*?))?(?: \[(?P<flags>[a-z][a-z ,0-9-]*)\])?"
)
LINES = [m for m in map(LINE.fullmatch, TEXT.splitlines()) if m is not None]
every = pytest.mark.parametrize("line", LINES, ids=lambda line: line["name"])

# an op that changes what a reference holds is stateful here; TensorFlow's
# runtime knows references by their type
BY_REFERENCE = "ref "
# stateful here, so that passes leave in place what draws from, or runs, what is stateful
HANDS_ON = {"RefEnter", "RefExit", "RefMerge", "RefNextIteration", "RefSwitch"}
STATEFUL_HERE = {"For", "ShuffleDataset", "BarrierIncompleteSize", "BarrierReadySize"}
# files that TensorFlow's own older versions wrote lack these
DEFAULT_HERE = {"output_shapes", "dilations"}
# TensorFlow's kernel refuses other values
ALLOWED_HERE = {"bad_indices_policy"}
SHORT = {"float16": "half", "float32": "float", "float64": "double"}


class Attr(NamedTuple):
    """One attribute: its kind, its default where it has one, and what it may be."""

    kind: str
    default: str | None
    allowed: frozenset[str] | None
    minimum: int | None


def test_the_table_is_read_whole() -> None:
    assert len(LINES) == sum(not line.startswith("#") for line in TEXT.splitlines())


@every
def test_inputs_and_outputs_are_those_of_tensorflow(line: re.Match[str]) -> None:
    op = lookup(line["name"])
    assert ", ".join(map(arg_text, op.inputs)) == line["inputs"]
    assert ", ".join(map(arg_text, op.outputs)) == line["outputs"]


@every
def test_attributes_are_those_of_tensorflow(line: re.Match[str]) -> None:
    ours = {name: ours_of(attr) for name, attr in lookup(line["name"]).attrs.items()}
    theirs = {}
    for text in (line["attrs"] or "").split("; ") if line["attrs"] else ():
        name, _, rest = text.partition(": ")
        theirs[name] = theirs_of(rest)
        if name in DEFAULT_HERE and theirs[name].default is None:
            theirs[name] = theirs[name]._replace(default=ours[name].default)
        if name in ALLOWED_HERE and theirs[name].allowed is None:
            theirs[name] = theirs[name]._replace(allowed=ours[name].allowed)
    assert ours == theirs


@every
def test_flags_are_those_of_tensorflow(line: re.Match[str]) -> None:
    op, flags = lookup(line["name"]), line["flags"] or ""
    assert op.commutative == ("commutative" in flags)
    changes = BY_REFERENCE in line["inputs"] and op.name not in HANDS_ON
    stateful = "stateful" in flags or changes or op.name in STATEFUL_HERE
    assert op.is_stateful == stateful


def arg_text(arg: Arg) -> str:
    kind = f"*{arg.list_attr}" if arg.list_attr else arg.type_attr
    if arg.dtype is not None:
        kind = value_text(arg.dtype)
    number = f"{arg.number_attr}*" if arg.number_attr else ""
    return f"{arg.name}: {BY_REFERENCE if arg.is_ref else ''}{number}{kind}"


def value_text(value: Any) -> str:
    match value:
        case None:
            return "?"
        case bool():
            return str(value).lower()
        case bytes():
            return repr(value)[1:]
        case float():
            return f"{value:.9g}" if value % 1 else str(value)
        case tuple():
            return f"[{','.join(map(value_text, value))}]"
        case DType():
            return SHORT.get(value.name, value.name)
    return str(value)


def ours_of(attr: AttrDef) -> Attr:
    default = None if attr.default is REQUIRED else value_text(attr.default)
    allowed = None if attr.allowed is None else frozenset(map(value_text, attr.allowed))
    return Attr(attr.kind, default, allowed, attr.minimum or None)


def theirs_of(text: str) -> Attr:
    found = re.fullmatch(
        r"(?P<kind>[\w()]+)(?: in \{(?P<allowed>.*?)\})?(?: >= (?P<minimum>-?\d+))?"
        r"(?: = (?P<default>.*))?",
        text,
    )
    assert found is not None, text
    allowed, least = found["allowed"], found["minimum"]
    return Attr(
        found["kind"],
        found["default"],
        None if allowed is None else frozenset(allowed.split(",")),
        int(least or 0) or None,  # a list is never shorter than 0
    )
