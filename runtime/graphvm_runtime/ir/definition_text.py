"""The messages of a file as text, for files that hold ops that are not known here.

Without the declaration of every op no types can be worked out, so a node is printed as the file has
it: `%y = Sort(x) {T=f32}`; one whose op is not known has a `?` before the op.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from graphvm_runtime.errors import GraphvmError
from graphvm_runtime.ir.graphdef.attrs import read_attr
from graphvm_runtime.ir.text import print_value
from graphvm_runtime.ops.registry import known
from graphvm_runtime.protos.attr_value_pb2 import AttrValue
from graphvm_runtime.protos.function_pb2 import FunctionDef
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.protos.node_def_pb2 import NodeDef


def counted_ops(message: GraphDef) -> Counter[str]:
    """How many nodes of each op a graph and its functions have."""
    count = Counter(n.op for n in message.node)
    for function in message.library.function:
        count.update(n.op for n in function.node_def)
    return count


def unknown_ops(message: GraphDef) -> list[str]:
    """Ops of a graph that are neither known here nor functions of it, sorted."""
    functions = {f.signature.name for f in message.library.function}
    return sorted(op for op in counted_ops(message) if not known(op) and op not in functions)


def print_definition(message: GraphDef, limit: int | None = None) -> str:
    """The nodes of a file as text, also those whose ops are not known.

    Args:
        message: what to print.
        limit: elements of a tensor to show at most. None shows all.
    """
    unknown = frozenset(unknown_ops(message))
    lines = [f"graph producer={message.versions.producer}", ""]
    lines += [_node(n, unknown, limit) for n in message.node]
    for function in message.library.function:
        lines += ["", *_function(function, unknown, limit)]
    return "\n".join(lines) + "\n"


def _function(function: FunctionDef, unknown: frozenset[str], limit: int | None) -> Iterator[str]:
    takes = ", ".join(a.name for a in function.signature.input_arg)
    gives = ", ".join(
        f"{a.name}={function.ret.get(a.name, '')}" for a in function.signature.output_arg
    )
    yield f"function {function.signature.name}({takes}) -> ({gives}) {{"
    for node in function.node_def:
        yield "  " + _node(node, unknown, limit)
    yield "}"


def _node(node: NodeDef, unknown: frozenset[str], limit: int | None) -> str:
    mark = "? " if node.op in unknown else ""
    line = f"%{node.name} = {mark}{node.op}({', '.join(node.input)})"
    if node.attr:
        inner = (f"{k}={_value(node.attr[k], limit)}" for k in sorted(node.attr))
        line += " {" + ", ".join(inner) + "}"
    if node.device:
        line += f" @{node.device}"
    return line


def _value(value: AttrValue, limit: int | None) -> str:
    if value.WhichOneof("value") == "placeholder":
        return f"${value.placeholder}"
    try:
        return print_value(read_attr(value), "", limit)
    except GraphvmError as error:
        return f"<unreadable: {error.what}>"
