r"""Graphs as text, and back: one line a node.

    graph producer=2474

    %x = Placeholder() {dtype=f32, shape=[2,?]} : f32[2,?]
    %y = MatMul(x:0, w:0, ^init) {T=f32, transpose_b=true} : f32[2,2] @/device:CPU:0 # model.py:3

    function body(x) -> (y=neg:0) {
      %x = _Arg() {T=f32, index=0} : f32[]
      %neg = Neg(x:0) {T=f32} : f32[]
    }

Attributes that have their default are left out. Values: `3 1.5 true "text" f32` (an element type)
`[2,?]` (a shape) `(1, 2)` (a list) `@f{T=f32}` (a function) `f32[2]{1.0, 2.0}` (a tensor;
`f32[2]0x0000803f00000040` where it is long) `type f32[2]` (a tensor type).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from graphvm_runtime import dtypes
from graphvm_runtime.device_spec import ANY, parsed
from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, endpoint, source_text
from graphvm_runtime.ir.graphdef.attrs import (
    UnreadableTensor,
    checked_constant,
    kind_of,
    read_tensor,
)
from graphvm_runtime.ops.registry import OpDef, lookup
from graphvm_runtime.ops.signature import REQUIRED, Attrs, AttrValue, FuncRef
from graphvm_runtime.protos.tensor_pb2 import TensorProto
from graphvm_runtime.shapes import Shape, TensorType, shape_text

_LISTED = 64  # tensors of more elements are written as hexadecimal digits

# -- printing ----------------------------------------------------------------------------------


def print_graph(graph: Graph, limit: int | None = None) -> str:
    """The graph as text.

    Args:
        graph: what to print.
        limit: elements of a tensor to show at most; the rest is cut, and the text cannot be read
            back. None shows all.
    """
    head = f"graph producer={graph.producer}"
    if graph.min_consumer:
        head += f" min_consumer={graph.min_consumer}"
    lines = [head, ""]
    lines += [print_node(n, limit) for n in graph.nodes]
    for function in graph.library.values():
        lines += ["", *_function_lines(function, limit)]
    return "\n".join(lines) + "\n"


def _function_lines(function: Function, limit: int | None) -> Iterator[str]:
    params = ", ".join(e.node for e in function.params)
    results = ", ".join(
        f"{n}={e}" for n, e in zip(function.result_names, function.results, strict=True)
    )
    head = f"function {function.name}({params}) -> ({results})"
    if function.control:
        head += f" after ({', '.join(function.control)})"
    if function.attrs:
        head += f" with {_attrs_text(function.attrs, None, limit)}"
    versions = f" producer={function.body.producer}" if function.body.producer else ""
    if function.body.min_consumer:
        versions += f" min_consumer={function.body.min_consumer}"
    yield head + versions + " {"
    for node in function.body.nodes:
        yield "  " + print_node(node, limit)
    yield "}"


def print_node(node: Node, limit: int | None = None) -> str:
    """One node as a line of text."""
    inputs = [str(e) for e in node.inputs] + ["^" + n for n in node.after]
    line = f"%{node.name} = {node.op.name}({', '.join(inputs)})"
    attrs = _attrs_text(node.attrs, node.op, limit)
    if attrs != "{}":
        line += " " + attrs
    if node.outputs:
        line += " : " + ", ".join(map(str, node.outputs))
    if node.device != ANY:
        line += f" @{node.device}"
    source = source_text(node.source)
    if source:
        line += " # " + " ".join(source.splitlines())
    return line


def _attrs_text(attrs: Attrs, op: OpDef | None, limit: int | None) -> str:
    parts = []
    for name in sorted(attrs):
        declared = None if op is None else op.attrs.get(name)
        value = attrs[name]
        if (
            declared is not None
            and declared.default is not REQUIRED
            and _same(value, declared.default)
        ):
            continue
        kind = declared.kind if declared is not None else ""
        parts.append(f"{name}={print_value(value, kind, limit)}")
    return "{" + ", ".join(parts) + "}"


def _same(value: AttrValue, default: AttrValue) -> bool:
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return False
    return type(value) is type(default) and repr(value) == repr(default)


def print_value(value: AttrValue, kind: str = "", limit: int | None = None) -> str:
    """The value of an attribute as text.

    Args:
        value: in the runtime's form.
        kind: of the declared attribute; empty for one that is not declared.
        limit: see `print_graph`.
    """
    kind = kind or kind_of(value)
    if kind == "bool":
        return "true" if value else "false"
    if kind == "int":
        return str(int(value))
    if kind == "float":
        return repr(float(value))
    if kind == "string":
        return _quoted(value)
    if kind == "type":
        return str(value)
    if kind == "shape":
        return shape_text(value)
    if kind == "tensor type":
        return f"type {value}"
    if kind == "func":
        inner = ", ".join(f"{k}={print_value(v, '', limit)}" for k, v in value.attrs)
        return "@" + _quoted_name(value.name) + ("{" + inner + "}" if value.attrs else "")
    if kind == "tensor":
        return _tensor_text(value, limit)
    return "(" + ", ".join(print_value(v, kind[5:-1], limit) for v in value) + ")"


def _quoted(value: bytes | str) -> str:
    data = value.encode() if isinstance(value, str) else value
    out = []
    for byte in data:
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif 32 <= byte < 127:
            out.append(char)
        else:
            out.append(f"\\x{byte:02x}")
    return '"' + "".join(out) + '"'


def _quoted_name(name: str) -> str:
    return name if re.fullmatch(r"[\w.\-/]+", name, re.ASCII) else _quoted(name)


def _tensor_text(value: Any, limit: int | None) -> str:
    if isinstance(value, UnreadableTensor):
        return f"unreadable 0x{value.proto.SerializeToString(deterministic=True).hex()}"
    array = np.asarray(value)
    dtype = dtypes.from_numpy(array.dtype)
    head = f"{dtype}{shape_text(array.shape)}"
    flat = array.ravel()
    if limit is not None and flat.size > limit:
        shown = ", ".join(map(_element_text, flat[:limit]))
        return head + "{" + shown + ", ...}"
    if dtype is dtypes.string:
        return head + "{" + ", ".join(map(_quoted, flat)) + "}"
    native = np.ascontiguousarray(flat, dtype.numpy)
    if flat.size <= _LISTED or limit is not None:
        words = [_element_text(x) for x in native]
        if limit is not None or _elements(words, dtype).tobytes() == native.tobytes():
            return head + "{" + ", ".join(words) + "}"
    little = native.astype(dtype.numpy.newbyteorder("<"), copy=False)
    return head + "0x" + little.tobytes().hex()


def _element_text(x: Any) -> str:
    if isinstance(x, (bytes, str)):
        return _quoted(x)
    if isinstance(x, np.bool_):
        return "true" if x else "false"
    if isinstance(x, (np.complexfloating, np.integer)):
        return str(x.item()).strip("()")
    return str(x)


def _elements(words: list[str], dtype: DType) -> Array:
    if dtype is dtypes.bool_:
        return np.array([w == "true" for w in words], bool)
    if dtype.is_complex:
        return np.array([complex(w) for w in words], dtype.numpy)
    if dtype.is_integer:
        return np.array([int(w) for w in words], dtype.numpy)
    if dtype.numpy.kind == "f":
        return np.array([dtype.numpy.type(w) for w in words], dtype.numpy)
    return np.array([float(w) for w in words], np.float32).astype(dtype.numpy)


# -- parsing -----------------------------------------------------------------------------------

_DTYPES = {
    str(d): d
    for e in [*range(1, 26), 29, 30]
    for d in (dtypes.from_enum(e), dtypes.from_enum(e + dtypes.REF_OFFSET))
}
_TOKEN = re.compile(
    r'\s*(?:(?P<string>"(?:[^"\\]|\\.)*")|(?P<shape>\[[^\]]*\])|(?P<hex>0x[0-9a-fA-F]*)'
    r"|(?P<word>[\w.+\-/&]+)|(?P<mark>[(){}=,@]))"
)
_LINE = re.compile(r"%(?P<name>\S+) = (?P<op>\w+)\((?P<inputs>[^)]*)\)(?P<rest>.*)")
_FUNCTION = re.compile(
    r"function (?P<name>\S+)\((?P<params>[^)]*)\) -> \((?P<results>[^)]*)\)"
    r"(?: after \((?P<after>[^)]*)\))?(?: with (?P<attrs>\{.*\}))?"
    r"(?: producer=(?P<producer>\d+))?(?: min_consumer=(?P<consumer>\d+))? \{"
)
_HEAD = re.compile(r"graph producer=(\d+)(?: min_consumer=(\d+))?")


class _Tokens:
    """The tokens of a value, with one to look ahead."""

    def __init__(self, text: str, at: int = 0) -> None:
        self.text = text
        self.at = at

    def peek(self) -> tuple[str, str]:
        found = _TOKEN.match(self.text, self.at)
        if found is None or found.lastgroup is None:
            return "end", ""
        return found.lastgroup, found[found.lastgroup]

    def next(self) -> tuple[str, str]:
        found = _TOKEN.match(self.text, self.at)
        if found is None or found.lastgroup is None:
            raise GraphError(
                f"the text ends or breaks off at {self.text[self.at : self.at + 40]!r}"
            )
        self.at = found.end()
        return found.lastgroup, found[found.lastgroup]

    def take(self, mark: str) -> bool:
        if self.peek() == ("mark", mark):
            self.next()
            return True
        return False

    def need(self, mark: str) -> None:
        kind, word = self.next()
        if (kind, word) != ("mark", mark):
            raise GraphError(f"{mark!r} is expected, not {word!r}, in {self.text!r}")


def parse_graph(text: str) -> Graph:
    """The graph that a text says.

    Raises:
        GraphError: it is not in the form of `print_graph`, or an op is not known.
    """
    lines = _Lines(text)
    head = _HEAD.fullmatch(lines.next())
    if head is None:
        raise lines.wrong("the text of a graph begins with `graph producer=...`")
    nodes: list[Node] = []
    library: dict[str, Function] = {}
    while (line := lines.next()) != "":
        if line.startswith("function "):
            function = _parse_function(line, lines)
            library[function.name] = function
        else:
            nodes.append(_parse_node(line, lines))
    return Graph(tuple(nodes), library, int(head[1]), int(head[2] or 0))


class _Lines:
    """Lines that say something, counted for errors."""

    def __init__(self, text: str) -> None:
        self._lines = enumerate(text.split("\n"), 1)
        self.number = 0

    def next(self) -> str:
        for number, line in self._lines:
            self.number = number
            if line.strip():
                return line.strip()
        return ""

    def wrong(self, what: str) -> GraphError:
        return GraphError(f"line {self.number}: {what}")


def _parse_function(line: str, lines: _Lines) -> Function:
    head = _FUNCTION.fullmatch(line)
    if head is None:
        raise lines.wrong(f"{line!r} is no function")
    nodes: list[Node] = []
    while (line := lines.next()) != "}":
        if not line:
            raise lines.wrong(f"function {head['name']} does not end")
        nodes.append(_parse_node(line, lines))
    results = [r.partition("=") for r in _split(head["results"])]
    attrs = _parse_attrs(_Tokens(head["attrs"])) if head["attrs"] else {}
    return Function(
        head["name"],
        tuple(Endpoint(p) for p in _split(head["params"])),
        tuple(endpoint(r[2]) for r in results),
        tuple(r[0] for r in results),
        Graph(tuple(nodes), {}, int(head["producer"] or 0), int(head["consumer"] or 0)),
        tuple(_split(head["after"] or "")),
        MappingProxyType(attrs),
    )


def _split(text: str) -> list[str]:
    return [p.strip() for p in text.split(",") if p.strip()]


def _parse_node(line: str, lines: _Lines) -> Node:
    found = _LINE.fullmatch(line)
    if found is None:
        raise lines.wrong(f"{line!r} is no node")
    op = lookup(found["op"])
    tokens = _Tokens(found["rest"])
    given = _parse_attrs(tokens, op) if tokens.peek() == ("mark", "{") else {}
    attrs = {n: d.default for n, d in op.attrs.items() if d.default is not REQUIRED} | given
    if op.name == "Const" and "value" in attrs and "dtype" in attrs:
        attrs["value"] = checked_constant(attrs["value"], attrs["dtype"])
    rest, comment, source = tokens.text[tokens.at :].partition(" # ")
    types, device = rest, ""
    if " @" in rest:
        types, _, device = rest.rpartition(" @")
    types = types.strip().removeprefix(":").strip()
    inputs = _split(found["inputs"])
    return Node(
        found["name"],
        op,
        tuple(endpoint(i) for i in inputs if not i.startswith("^")),
        tuple(i[1:] for i in inputs if i.startswith("^")),
        MappingProxyType(attrs),
        tuple(_parse_types(types, lines)),
        parsed(device.strip()),
        source if comment else "",
    )


_TYPE = re.compile(r"(?P<dtype>[\w&]+)\[(?P<shape>[^\]]*)\]")


def _parse_types(text: str, lines: _Lines) -> Iterable[TensorType]:
    at = 0
    while at < len(text):
        found = _TYPE.match(text, at)
        if found is None or found["dtype"] not in _DTYPES:
            raise lines.wrong(f"{text[at:]!r} is no type")
        yield TensorType(_DTYPES[found["dtype"]], _parse_shape(found["shape"]))
        at = found.end()
        at += len(text[at:]) - len(text[at:].lstrip(", "))


def _parse_shape(inside: str) -> Shape:
    if inside.strip() == "*":
        return None
    return tuple(None if d == "?" else int(d) for d in _split(inside))


def _parse_attrs(tokens: _Tokens, op: OpDef | None = None) -> dict[str, AttrValue]:
    tokens.need("{")
    out: dict[str, AttrValue] = {}
    while not tokens.take("}"):
        _, name = tokens.next()
        tokens.need("=")
        declared = None if op is None else op.attrs.get(name)
        out[name] = _parse_value(tokens, declared.kind if declared is not None else "")
        tokens.take(",")
    return out


_WORDS: Mapping[str, AttrValue] = {"true": True, "false": False}


def _parse_value(tokens: _Tokens, kind: str = "") -> AttrValue:
    form, word = tokens.next()
    if form == "string":
        return _unquoted(word)
    if form == "shape":
        return _parse_shape(word[1:-1])
    if (form, word) == ("mark", "("):
        items = []
        while not tokens.take(")"):
            items.append(_parse_value(tokens, kind[5:-1] if kind.startswith("list(") else ""))
            tokens.take(",")
        return tuple(items)
    if (form, word) == ("mark", "@"):
        form, name = tokens.next()
        if form == "string":
            name = _unquoted(name).decode()
        inner = _parse_attrs(tokens) if tokens.peek() == ("mark", "{") else {}
        return FuncRef(name, tuple(inner.items()))
    if form != "word":
        raise GraphError(f"{word!r} is no value, in {tokens.text!r}")
    if word in _WORDS:
        return _WORDS[word]
    if word == "unreadable":
        return read_tensor(TensorProto.FromString(bytes.fromhex(tokens.next()[1][2:])))
    if word == "type":
        dtype = _DTYPES[tokens.next()[1]]
        return TensorType(dtype, _parse_shape(tokens.next()[1][1:-1]))
    if word in _DTYPES:
        if tokens.peek()[0] == "shape":
            return _parse_tensor(_DTYPES[word], tokens)
        return _DTYPES[word]
    try:
        return int(word) if kind != "float" and re.fullmatch(r"[+-]?\d+", word) else float(word)
    except ValueError:
        raise GraphError(f"{word!r} is no value, in {tokens.text!r}") from None


def _parse_tensor(dtype: DType, tokens: _Tokens) -> Array:
    shape = _parse_shape(tokens.next()[1][1:-1])
    assert shape is not None
    form, word = tokens.peek()
    if form == "hex":
        tokens.next()
        data = np.frombuffer(bytes.fromhex(word[2:]), dtype.numpy.newbyteorder("<"))
        array = data.astype(dtype.numpy, copy=False)
    else:
        tokens.need("{")
        words: list[Any] = []
        while not tokens.take("}"):
            form, word = tokens.next()
            words.append(_unquoted(word) if form == "string" else word)
            tokens.take(",")
        if dtype is dtypes.string:
            array = np.empty(len(words), object)
            array[:] = words
        else:
            array = _elements(words, dtype)
    array = array.reshape([d or 0 for d in shape])
    array.flags.writeable = False
    return array


_ESCAPE: Callable[[re.Match[bytes]], bytes] = lambda m: (  # noqa: E731 (a table of one line)
    bytes([int(m[1], 16)]) if m[1] else m[2]
)


def _unquoted(word: str) -> bytes:
    return re.sub(rb"\\x([0-9a-f]{2})|\\(.)", _ESCAPE, word[1:-1].encode())
