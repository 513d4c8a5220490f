"""Counted loops and symbolic gradients as what they stand for: calls of functions.

The nodes stay in the graph, and in its files, as they are. Derivatives and sessions see the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from graphvm.functions.function import FuncGraph
from graphvm.graph.graph import Graph, Tensor
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.calls import COUNTED, SYMBOLIC, as_calls, call_op, symbolic_call
from graphvm_runtime.ir.graph import GRADIENT, Function, Node
from graphvm_runtime.ops.signature import FuncRef

# builds, in the default graph, the cotangents of tensors from those of others; zeros, not None
Pull = Callable[[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]], Sequence[Tensor]]


def in_calls(
    graph: Graph, nodes: Sequence[Node], names: Collection[str], pull: Pull
) -> tuple[Sequence[Node], Mapping[str, Function]] | None:
    """The nodes, and the graph's functions, with calls in place of what stands for them.

    Args:
        graph: its library gets the derived functions.
        nodes: all nodes of the graph.
        names: of those that matter, with the functions that they reach; the others stay.
        pull: how to derive a function.

    Returns:
        Nodes and library; None where nothing changes.
    """
    changed: dict[str, Function] = {}
    found = False
    pending = [n for n in nodes if n.name in names]
    above = {n.name: _derived(graph, n, pull) for n in pending if n.op.name == SYMBOLIC}
    pending = [above.get(n.name, n) for n in pending]
    while pending:
        node = pending.pop()
        found = found or node.op.name == COUNTED
        for ref in node.functions():
            function = graph.library.get(ref.name)
            if function is None or ref.name in changed:
                continue
            changed[ref.name] = function
            body = function.body.nodes
            if any(n.op.name == SYMBOLIC for n in body):
                found = True
                body = tuple(_derived(graph, n, pull) for n in body)
                changed[ref.name] = function.with_nodes(body)
            pending.extend(body)
    if not found and not above:
        return None
    library = {**graph.library, **changed}
    for name in changed:
        function = library[name]
        called = as_calls(function.body.nodes, library)
        if called is not function.body.nodes:
            library[name] = function.with_nodes(called)
    mine = [above.get(n.name, n) if n.name in names else n for n in nodes]
    return as_calls(mine, library), library


def with_derived_calls(
    graph: Graph, nodes: Sequence[Node], functions: Mapping[str, Function], pull: Pull
) -> tuple[Sequence[Node], dict[str, Function]]:
    """Some nodes and functions of the graph with calls in place of symbolic gradients.

    Args:
        graph: its library gets the derived functions, which are not among those given back.
        nodes: of the graph.
        functions: of its library.
        pull: how to derive a function.
    """
    changed = {}
    for name, function in functions.items():
        body = function.body
        if any(n.op.name == SYMBOLIC for n in body.nodes):
            made = tuple(_derived(graph, n, pull) for n in body.nodes)
            function = function.with_nodes(made)
        changed[name] = function
    return [_derived(graph, n, pull) for n in nodes], changed


def _derived(graph: Graph, node: Node, pull: Pull) -> Node:
    """A symbolic gradient as a call of the derived function; any other node as it is."""
    if node.op.name != SYMBOLIC:
        return node
    ref: FuncRef = node.attrs["f"]
    function = graph.library.get(ref.name)
    if function is None:
        raise GraphError(f"the library has no function {ref.name!r}", node=node.signature())
    takes, gives = len(function.params), len(function.results)
    if (len(node.attrs["Tin"]), len(node.attrs["Tout"])) != (takes + gives, takes):
        raise GraphError(
            f"the gradient of {ref.name!r} takes {takes + gives} inputs and gives {takes}, "
            f"not {len(node.attrs['Tin'])} and {len(node.attrs['Tout'])}",
            node=node.signature(),
        )
    derived = graph.functions.derived
    if ref.name not in derived:
        derived[ref.name] = ""  # begun
        try:
            derived[ref.name] = _derived_function(graph, function, pull)
        finally:
            if not derived[ref.name]:
                del derived[ref.name]
    name = derived[ref.name]
    if not name:
        raise GraphError(
            f"the gradient of {ref.name!r} is made of itself without end", node=node.signature()
        )
    return symbolic_call(node, graph.library[name])


def _derived_function(graph: Graph, function: Function, pull: Pull) -> str:
    """Name of the function that takes arguments and cotangents, and gives cotangents."""
    declared = function.attrs.get(GRADIENT)
    if declared is not None:
        return str(declared.name)
    around = graph.outermost
    body = FuncGraph(f"{function.name}_gradient", around)
    with body.as_default():
        names = [e.node for e in function.params]
        xs = [
            body.add_arg(t.dtype, t.shape, n, function.body.by_name[n].attrs.get("_handle_type"))
            for t, n in zip(function.param_types, names, strict=True)
        ]
        given = [
            body.add_arg(t.dtype, t.shape, f"grad_{n}")
            for t, n in zip(function.result_types, function.result_names, strict=True)
        ]
        made = body.add_node(
            call_op(function),
            (xs,),
            {
                "f": FuncRef(function.name),
                "Tout": tuple(t.dtype for t in function.result_types),
                "_output_shapes": tuple(t.shape for t in function.result_types),
            },
            function.name,
        )
        found = pull(made.outputs, xs, given)
    return body.finish(found).name
