"""Graphs cut down and frozen for inference.

Source: `tf.compat.v1.graph_util`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from graphvm.graph.graph import Graph
from graphvm.graphdef.freezing import frozen
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.names import named_node
from graphvm_runtime.ops.registry import Trait, has_trait, known, lookup
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.protos.node_def_pb2 import NodeDef

__all__ = ["convert_variables_to_constants", "extract_sub_graph", "remove_training_nodes"]


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> GraphDef:
    """The nodes that some nodes need, and those themselves.

    Args:
        graph_def: a GraphDef.
        dest_nodes: names of nodes.

    Returns:
        A GraphDef of those nodes in the order in which they were, with the whole library.

    Raises:
        GraphError: there is no such node.
        TypeError: `dest_nodes` is one name.

    Source: `tf.compat.v1.graph_util.extract_sub_graph`.
    """
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes is a list of names")
    given = _ours(graph_def)
    by_name = {node.name: node for node in given.node}
    needed: set[str] = set()
    pending = list(dest_nodes)
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        if name not in by_name:
            raise GraphError(f"the graph has no node {name!r}")
        needed.add(name)
        pending.extend(named_node(text) for text in by_name[name].input)
    out = GraphDef(versions=given.versions, library=given.library)
    out.node.extend(node for node in given.node if node.name in needed)
    return out


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Sequence[str] | None = None,
    variable_names_blacklist: Sequence[str] | None = None,
) -> GraphDef:
    """The nodes that some nodes need, with variables as constants of their present values.

    Variables in the bodies of `cond` and `while_loop` are frozen too.

    Args:
        sess: the session that holds the variables.
        input_graph_def: a GraphDef of its graph.
        output_node_names: names of the nodes that are wanted.
        variable_names_whitelist: names of the variables to freeze; all otherwise.
        variable_names_blacklist: names of variables to leave as they are.

    Returns:
        A new GraphDef.

    Raises:
        GraphError: there is no such node, or one that is wanted writes to a variable.
        OpError: a variable has no value.

    Source: `tf.compat.v1.graph_util.convert_variables_to_constants`.
    """
    wanted = extract_sub_graph(input_graph_def, output_node_names)
    names = dict.fromkeys(
        node.name
        for node in [*wanted.node, *_body_nodes(wanted)]
        if has_trait(node.op, Trait.VARIABLE)
    )
    for node in _body_nodes(wanted):
        if has_trait(node.op, Trait.VARIABLE) and node.attr["shared_name"].s:
            # a reference in a body is found by the name of the variable outside
            names.setdefault(node.attr["shared_name"].s.decode(errors="backslashreplace"))
    known = [
        name
        for name in names
        if name in sess.graph
        and (variable_names_whitelist is None or name in variable_names_whitelist)
        and name not in (variable_names_blacklist or ())
    ]
    values = sess.run([_value(sess.graph, name) for name in known])
    return frozen(wanted, dict(zip(known, values, strict=True)))


def _value(graph: Graph, name: str) -> Any:
    """A tensor of a graph that holds the value of a variable."""
    operation = graph.get_operation_by_name(name)
    tensor = operation.outputs[0]
    if operation.type != "VarHandleOp":
        return tensor
    for reader in tensor.consumers():
        if reader.type == "ReadVariableOp" and not reader.control_inputs:
            return reader.outputs[0]
    dtype = operation.node.attrs["dtype"]
    return graph.add_node("ReadVariableOp", (tensor,), {"dtype": dtype}).outputs[0]


def remove_training_nodes(
    input_graph: Any, protected_nodes: Iterable[str] | None = None
) -> GraphDef:
    """A graph without checks and identities, which inference does not need.

    Args:
        input_graph: a GraphDef.
        protected_nodes: names of nodes to keep.

    Returns:
        A new GraphDef that gives the same values.

    Source: `tf.compat.v1.graph_util.remove_training_nodes`.
    """
    given = _ours(input_graph)
    keep = set(protected_nodes or ())
    by_name = {node.name: node for node in given.node}
    # a node that others wait for, or that waits itself, orders something: it stays
    waited = {named_node(t) for n in given.node for t in n.input if t.startswith("^")}
    through: dict[str, str] = {}
    for node in given.node:
        if node.op not in ("Identity", "CheckNumerics") or node.name in keep | waited:
            continue
        if len(node.input) != 1 or _reads_reference(by_name, node):
            continue
        through[node.name] = node.input[0]
    out = GraphDef(versions=given.versions, library=given.library)
    for node in given.node:
        if node.name in through:
            continue
        copy = out.node.add()
        copy.CopyFrom(node)
        copy.ClearField("input")
        copy.input.extend(_followed(text, through) for text in node.input)
    return out


def _reads_reference(by_name: dict[str, NodeDef], node: NodeDef) -> bool:
    """Whether an identity is the read of a reference, which happens when it runs."""
    below = by_name.get(named_node(node.input[0]))
    return below is None or (known(below.op) and any(o.is_ref for o in lookup(below.op).outputs))


def _followed(text: str, through: dict[str, str]) -> str:
    while (name := named_node(text)) in through and not text.startswith("^"):
        text = through[name]
    return text


def _body_nodes(message: GraphDef) -> list[NodeDef]:
    return [node for function in message.library.function for node in function.node_def]


def _ours(message: Any) -> GraphDef:
    if isinstance(message, GraphDef):
        return message
    if not hasattr(message, "SerializeToString"):
        raise TypeError(f"a GraphDef is wanted, not {type(message).__name__}")
    return GraphDef.FromString(message.SerializeToString())
