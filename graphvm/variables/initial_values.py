"""Initial values that depend on other variables, in whatever order those are initialised."""

from __future__ import annotations

from typing import Any

from graphvm.graph.collections import GraphKeys
from graphvm.graph.graph import Graph, Tensor
from graphvm_runtime.ir.graph import Endpoint, Node

__all__ = ["guarded"]

# What these give is meant for variables that may not be initialised, so it is left alone.
_GUARDS = frozenset({"IsVariableInitialized", "VarIsInitializedOp", "If", "StatelessIf"})


def guarded(value: Tensor) -> Tensor:
    """An initial value that reads no variable before that one has a value.

    Args:
        value: the initial value that the user gave.

    Returns:
        `value` itself where it depends on no variable; otherwise a copy of what depends on
        variables, in which `initialized_value` stands for each of them.

    Source: `tf.compat.v1.Variable`, which guards reference variables in this way.
    """
    graph = value.graph
    variables: dict[str, Any] = {
        variable.op.name: variable
        for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
        for variable in graph.get_collection(key)
        if hasattr(variable, "initialized_value")
    }
    if not variables:
        return value
    order = _depending(graph, value, variables)
    if not order:
        return value
    with graph.name_scope(None):
        return _copied(graph, value, order, variables)


def _depending(graph: Graph, value: Tensor, variables: dict[str, Any]) -> list[Node]:
    """Nodes above `value`, and its own, that depend on a variable, in topological order."""
    depends: dict[str, bool] = {}
    order: list[Node] = []
    stack = [(graph.node(value.op.name), False)]
    while stack:
        node, visited = stack.pop()
        if visited:
            depends[node.name] = any(depends[e.node] for e in node.inputs)
            if depends[node.name]:
                order.append(node)
        elif node.name not in depends:
            depends[node.name] = node.name in variables
            if node.name in variables or node.op.name in _GUARDS:
                continue
            stack.append((node, True))
            stack.extend((graph.node(e.node), False) for e in node.inputs)
    return order


def _copied(graph: Graph, value: Tensor, order: list[Node], variables: dict[str, Any]) -> Tensor:
    copies: dict[Endpoint, Tensor] = {}
    for node in order:
        above = [e.node for e in node.inputs if e.node in variables]
        if above and node.op.name in ("ReadVariableOp", "Identity"):
            copies[Endpoint(node.name)] = variables[above[0]].initialized_value()
            continue
        flat = []
        for end in node.inputs:
            if end not in copies:
                known = variables.get(end.node)
                copies[end] = graph.tensor_at(end) if known is None else known.initialized_value()
            flat.append(copies[end])
        groups = node.op.grouped(flat, node.attrs)
        inputs: list[Any] = [
            list(group) if arg.is_list else group[0]
            for arg, group in zip(node.op.inputs, groups, strict=True)
        ]
        made = graph.add_node(node.op, inputs, node.attrs, node.name, _after(graph, node))
        copies.update((Endpoint(node.name, i), t) for i, t in enumerate(made.outputs))
    return copies.get(value.endpoint, value)


def _after(graph: Graph, node: Node) -> list[Any]:
    """The operations that a node runs after."""
    return [graph.operation_named(name) for name in node.after]
