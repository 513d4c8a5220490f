"""Reverse mode: `gradients` and `vjp`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Graph, Tensor, get_default_graph
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.rules.cotangents import Cotangent, dense, shown
from graphvm.rules.nodes import constant, node, shape_of, zeros_like
from graphvm.transforms.arguments import listed, some, tensors_of, values_of
from graphvm.transforms.calls import in_calls, with_derived_calls
from graphvm.transforms.derivation import PASSING, Derivation
from graphvm.transforms.enclosing import Levels, innermost
from graphvm.transforms.scopes import RaisedRoot, Root, has_derivative
from graphvm_runtime.errors import DTypeError, GraphError, ShapeError
from graphvm_runtime.ir import graph as ir
from graphvm_runtime.ir.control_flow.raise_ import raise_
from graphvm_runtime.ir.derivatives.saved import FAMILY
from graphvm_runtime.ir.graph import Endpoint, Function, Node
from graphvm_runtime.ops.control_flow import EXITS, MERGES, PRIMITIVES
from graphvm_runtime.shapes import is_compatible, shape_text


class UnconnectedGradients(Enum):
    """What stands for the gradient in a tensor that nothing depends on.

    Source: `tf.UnconnectedGradients`.
    """

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """Ways to add gradients; all are taken, and give `AddN`.

    Source: `tf.compat.v1.AggregationMethod`.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


_AGGREGATION_METHODS = (
    AggregationMethod.ADD_N,
    AggregationMethod.EXPERIMENTAL_TREE,
    AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
)


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:
    """Derivatives of the sum of `ys` by each of `xs`, as new nodes of the graph.

    Args:
        ys: a tensor or several.
        xs: tensors or variables, one or several.
        grad_ys: cotangents of `ys`, each of its shape and type or None for ones.
        name: name scope of the new nodes.
        colocate_gradients_with_ops: put new nodes on the devices of the nodes that they derive.
        gate_gradients: let all gradients of a node be there before one of them is used.
        aggregation_method: one of `AggregationMethod`.
        stop_gradients: tensors that count as constant: what makes them is not differentiated.
        unconnected_gradients: what to give for an x that no y depends on.

    Returns:
        For each x a tensor of its shape and type, `IndexedSlices` of it, or None where no y
        depends on it.

    Raises:
        RuleError: a node on the way has no derivative rule.
        DTypeError: a complex y without its cotangent, a cotangent of another type, or None.
        ShapeError: a cotangent of another shape.
        GraphError: the numbers of `ys` and `grad_ys` differ, tensors are of another graph, or
            there is no such aggregation method.
        TypeError: text in place of a tensor.

    Source: `tf.gradients`.
    """
    if aggregation_method not in (None, *_AGGREGATION_METHODS):
        raise GraphError(
            f"aggregation_method must be one of {list(_AGGREGATION_METHODS)}, "
            f"got {aggregation_method!r}"
        )
    targets, sources = values_of(ys, "ys"), tensors_of(some(xs, "xs"))
    stops = tensors_of(stop_gradients)
    given = [None] * len(targets) if grad_ys is None else listed(grad_ys)
    if len(given) != len(targets):
        raise GraphError(f"{len(given)} grad_ys for {len(targets)} ys")
    if isinstance(unconnected_gradients, str):
        unconnected_gradients = UnconnectedGradients(unconnected_gradients)
    if not targets:
        return [None] * len(sources)
    parts = [g.values if isinstance(g, IndexedSlices) else g for g in given]
    graph = innermost([*targets, *(g for g in parts if isinstance(g, Tensor))])
    with graph.as_default(), graph.name_scope(name):
        found = _pulled(
            graph,
            targets,
            sources,
            [_cotangent(y, g, i) for i, (y, g) in enumerate(zip(targets, given, strict=True))],
            stops,
            colocate_gradients_with_ops,
            gate_gradients,
        )
        if unconnected_gradients is UnconnectedGradients.ZERO:
            return [zeros_like(x) if g is None else g for x, g in zip(sources, found, strict=True)]
        return list(found)


def vjp(ys: Any, xs: Any, cotangents: Any, name: str = "vjp") -> list[Tensor | None]:
    """Cotangents of `xs` from those of `ys`: each is the transposed Jacobian times a vector.

    Args:
        ys: a tensor or several.
        xs: tensors or variables, one or several.
        cotangents: one for each y, of its shape and type.
        name: name scope of the new nodes.

    Returns:
        For each x a tensor of its shape and type, None where no y depends on it.

    Raises:
        RuleError: a node on the way has no derivative rule.
    """
    targets = values_of(ys, "ys")
    found = gradients(targets, xs, cotangents, name)
    if not targets:
        return found
    with targets[0].graph.as_default():
        return [None if g is None else dense(g) for g in found]


def cotangents_of(
    ys: Sequence[Tensor], xs: Sequence[Tensor], cotangents: Sequence[Tensor]
) -> list[Tensor]:
    """Cotangents of `xs` from those of `ys`, in the default graph; zeros where there are none."""
    pairs = [(y, g) for y, g in zip(ys, cotangents, strict=True) if has_derivative(y.type)]
    found = gradients([y for y, _ in pairs], list(xs), [g for _, g in pairs])
    return [zeros_like(x) if g is None else dense(g) for x, g in zip(xs, found, strict=True)]


def as_sent(
    graph: Graph, nodes: Sequence[Node], functions: Mapping[str, Function]
) -> tuple[Sequence[Node], dict[str, Function]]:
    """New nodes and functions of a graph as a session sends them: no symbolic gradients.

    Functions that are made for this are in the graph's library, not among those given back.
    """
    return with_derived_calls(graph, nodes, functions, cotangents_of)


def _pulled(
    graph: Graph,
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    cotangents: Sequence[Tensor | IndexedSlices | None],
    stops: Sequence[Tensor],
    colocate: bool,
    gate: bool,
) -> list[Tensor | IndexedSlices | None]:
    levels = Levels(graph, ys, xs, stops)
    root, library, nodes = between(graph, levels, ys, [*xs, *stops])
    ends = [levels.end(x) for x in xs]
    walk = Derivation(
        root,
        library,
        nodes,
        [e for x, e in zip(xs, ends, strict=True) if has_derivative(x.type)],
        frozenset(levels.end(t) for t in stops),
        colocate=colocate,
        gate=gate,
    )
    parts: dict[Endpoint, list[Cotangent]] = {}
    for y, g in zip(ys, cotangents, strict=True):
        if g is not None:
            parts.setdefault(levels.end(y), []).append(g)
    walk.pull(root, nodes, parts)
    reached = walk.reached[()]
    return [
        shown(walk.total(root, x.op.node.changed(name=end.node), parts.get(end, ())))
        if end in reached
        else None
        for x, end in zip(xs, ends, strict=True)
    ]


def between(
    graph: Graph, levels: Levels, ys: Sequence[Tensor], xs: Sequence[Tensor]
) -> tuple[Root, Mapping[str, Function], list[Node]]:
    """The nodes that lead to `ys`, in order, in functional form; and what to see them by."""
    ends = [levels.end(y) for y in ys]
    all_nodes: Sequence[Node] = levels.nodes
    library: Mapping[str, Function] = graph.library
    by_name = {n.name: n for n in all_nodes}
    found = _above(by_name, ends)
    called = in_calls(graph, all_nodes, found, cotangents_of)
    if called is not None:
        all_nodes, library = called
        by_name = {n.name: n for n in all_nodes}
    root = levels.root(by_name)
    if any(by_name[n].op.name in PRIMITIVES for n in found):
        given = graph.ir()
        if called is not None:
            given = replace(given, nodes=tuple(all_nodes), library=library)
        raised = _functional(given, {levels.end(t).node for t in (*ys, *xs)})
        by_name, all_nodes, library = dict(raised.by_name), list(raised.nodes), raised.library
        found = _above(by_name, ends)
        root = RaisedRoot(graph, by_name, library)
    return root, library, [n for n in all_nodes if n.name in found]


def _functional(given: ir.Graph, names: set[str]) -> ir.Graph:
    """The graph in functional form; regions with one of the nodes inside stay as they are."""
    raised = raise_(given)
    if all(n in raised.by_name for n in names):
        return raised
    keep = {n.name for n in given.nodes if n.op.name in MERGES or n.op.name in EXITS}
    return raise_(given, keep | names)


def _above(by_name: Mapping[str, Node], ends: Iterable[Endpoint]) -> set[str]:
    """Names of the nodes that values depend on."""
    found: set[str] = set()
    pending = [e.node for e in ends]
    while pending:
        name = pending.pop()
        if name in found or name not in by_name:  # constant, in a graph around
            continue
        found.add(name)
        node = by_name[name]
        pending.extend(e.node for e in node.inputs if e.node not in found)
        if node.op.name == "StackV2":
            # What is pushed reaches what is popped by no edge.
            pending.extend(_holders(by_name, name))
        if FAMILY in node.attrs:
            # It names values inside the nodes that it comes after.
            pending.extend(node.after)
    return found


def _holders(by_name: Mapping[str, Node], handle: str) -> set[str]:
    """Names of the nodes that take a handle, or what passes it on."""
    passing, found = {handle}, set[str]()
    while passing:
        users = {n.name for n in by_name.values() if any(e.node in passing for e in n.inputs)}
        passing = {n for n in users - found if by_name[n].op.name in PASSING}
        found |= users
    return found


def _cotangent(y: Tensor, given: Any, index: int) -> Tensor | IndexedSlices | None:
    """The cotangent of a y: the one that is given, or ones."""
    dtype = y.type.dtype.base
    if given is None:
        if dtype.is_complex:
            raise DTypeError(
                f"the gradient of the complex tensor {y.name!r} needs its cotangent",
                node=y.op.node.signature(),
                do="pass grad_ys",
            )
        if not has_derivative(y.type):
            return None
        if not dtype.is_numpy_compatible:
            raise DTypeError(
                f"{y.name!r} has no ones of its kind to start from",
                node=y.op.node.signature(),
                do="pass grad_ys",
            )
        with get_default_graph().name_scope(f"grad_ys_{index}"):
            if y.type.shape == ():
                return constant(1, dtype)
            return node("Fill", (shape_of(y), constant(1, dtype)))
    if isinstance(given, IndexedSlices):
        found: Tensor | IndexedSlices = given
    else:
        found = convert_to_tensor(given, dtype if not isinstance(given, Tensor) else None)
    if found.dtype.base is not dtype:
        raise DTypeError(
            f"the cotangent of {y.name!r} has {found.dtype.base.name}, not {dtype.name}",
            node=y.op.node.signature(),
        )
    if isinstance(found, Tensor) and not is_compatible(found.type.shape, y.type.shape):
        raise ShapeError(
            f"the cotangent of {y.name!r} has the shape {shape_text(found.type.shape)}, "
            f"not {shape_text(y.type.shape)}",
            node=y.op.node.signature(),
        )
    return found if has_derivative(y.type) else None
