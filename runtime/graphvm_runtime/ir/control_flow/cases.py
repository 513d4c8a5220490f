"""A choice among many bodies as choices among two, for which there are primitives."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from graphvm_runtime.dtypes import int32
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, unused
from graphvm_runtime.ops.functional import CASES
from graphvm_runtime.ops.registry import lookup
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.shapes import TensorType

_INDEX = TensorType(int32, ())


def without_cases(graph: Graph, only: Collection[str] | None = None) -> Graph:
    """The graph with `Case` nodes written as `If` nodes inside each other.

    Args:
        graph: any graph.
        only: names of the nodes to write so, besides those in functions; None: all.
    """
    made: dict[str, Function] = dict(graph.library)
    for name, function in graph.library.items():
        nodes = _rewritten(function.body.nodes, made, None)
        if nodes is not None:
            made[name] = replace(function, body=function.body.with_nodes(nodes))
    nodes = _rewritten(graph.nodes, made, only)
    if nodes is None and made == graph.library:
        return graph
    return replace(graph.with_nodes(nodes or graph.nodes), library=made)


def _rewritten(
    nodes: Sequence[Node], library: dict[str, Function], only: Collection[str] | None
) -> list[Node] | None:
    if not any(n.op.name in CASES and (only is None or n.name in only) for n in nodes):
        return None
    return [
        _choice(n, n.attrs["branches"], n.inputs[0], n.inputs[1:], library)
        if n.op.name in CASES and (only is None or n.name in only) else n
        for n in nodes
    ]  # fmt: skip


def _choice(
    node: Node,
    branches: Sequence[FuncRef],
    index: Endpoint,
    inputs: Sequence[Endpoint],
    library: dict[str, Function],
) -> Node:
    """A node that runs the branch of that index, the last where there is no such."""
    prefix = node.op.name.removesuffix("Case")  # Stateless, or nothing
    attrs: dict[str, AttrValue] = {k: v for k, v in node.attrs.items() if k != "branches"}
    if len(branches) == 1:
        op = "PartitionedCall" if prefix else "StatefulPartitionedCall"
        attrs |= {"f": branches[0], "_output_shapes": attrs.pop("output_shapes")}
        return _changed(node, op, attrs, inputs)
    first, *others = branches
    attrs["Tcond"] = int32  # a number holds where it is not 0
    attrs["else_branch"], attrs["then_branch"] = first, others[0]
    if len(others) > 1:
        inputs = (index, *inputs)
        attrs["Tin"] = (int32, *node.attrs["Tin"])
        attrs["else_branch"] = _indexed(library[first.name], library)
        attrs["then_branch"] = _rest(node, others, library)
    return _changed(node, f"{prefix}If", attrs, (index, *inputs))


def _changed(
    node: Node, op: str, attrs: Mapping[str, AttrValue], inputs: Sequence[Endpoint]
) -> Node:
    declared = lookup(op)
    defaults = {n: a.default for n, a in declared.attrs.items() if n not in attrs}
    return node.changed(op=declared, inputs=inputs, attrs=MappingProxyType({**defaults, **attrs}))


def _args(function: Function, index: str) -> list[Node]:
    """The parameters of a function behind an index."""
    first = Node(index, lookup("_Arg"), (), (), {"T": int32, "index": 0}, (_INDEX,))
    rest = [
        function.body.by_name[p.node].with_attrs(index=i) for i, p in enumerate(function.params, 1)
    ]
    return [first, *rest]


def _indexed(function: Function, library: dict[str, Function]) -> FuncRef:
    """The function with another parameter before the others, which it does not look at."""
    index = unused("branch_index", function.body.by_name)
    args = _args(function, index)
    own = {p.node for p in function.params}
    nodes = [*args, *(n for n in function.body.nodes if n.name not in own)]
    name = unused(f"{function.name}_indexed", library)
    library[name] = replace(
        function,
        name=name,
        params=(Endpoint(index), *function.params),
        body=function.body.with_nodes(nodes),
    )
    return FuncRef(name)


def _rest(node: Node, branches: Sequence[FuncRef], library: dict[str, Function]) -> FuncRef:
    """A function of the index and the inputs that chooses among the branches behind the first."""
    like = library[branches[0].name]
    params = {p.node for p in like.params}
    index, one, less = (unused(n, params) for n in ("branch_index", "one", "index"))
    args = _args(like, index)
    choice = _choice(
        node.changed(name=unused("choice", params), after=()),
        branches,
        Endpoint(less),
        [Endpoint(a.name) for a in args[1:]],
        library,
    )
    nodes = [
        *args,
        constant(one, 1, int32),
        Node(less, lookup("Sub"), (Endpoint(index), Endpoint(one)), (), {"T": int32}, (_INDEX,)),
        choice,
    ]
    name = unused(f"{like.name}_or_later", library)
    library[name] = Function(
        name,
        tuple(Endpoint(a.name) for a in args),
        tuple(Endpoint(choice.name, i) for i in range(len(choice.outputs))),
        tuple(f"output_{i}" for i in range(len(choice.outputs))),
        Graph(tuple(nodes)),
        (choice.name,) if node.op.is_stateful else (),
    )
    return FuncRef(name)
