"""Forward mode: `jvp`."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Graph, Tensor
from graphvm.transforms.arguments import listed, some, tensors_of, values_of
from graphvm.transforms.derivation import Derivation
from graphvm.transforms.reverse import between
from graphvm.transforms.scopes import has_derivative
from graphvm_runtime.errors import DTypeError, GraphError
from graphvm_runtime.ir.graph import Endpoint


def jvp(ys: Any, xs: Any, tangents: Any, name: str = "jvp") -> list[Tensor | None]:
    """Derivatives of `ys` along a direction in `xs`: each is the Jacobian times a vector.

    Args:
        ys: a tensor or several.
        xs: tensors or variables, one or several.
        tangents: the direction, one tensor for each x, of its shape and type.
        name: name scope of the new nodes.

    Returns:
        For each y a tensor of its shape and type, None where it depends on no x.

    Raises:
        RuleError: a node on the way has no derivative rule.
        DTypeError: a tangent has another type than its x.
        GraphError: the numbers of `xs` and `tangents` differ.
    """
    targets, sources = values_of(ys, "ys"), tensors_of(some(xs, "xs"))
    given = listed(tangents)
    if len(given) != len(sources):
        raise GraphError(f"{len(given)} tangents for {len(sources)} xs")
    if not targets:
        return []
    graph: Graph = targets[0].graph
    known: dict[Endpoint, Tensor] = {}
    with graph.as_default(), graph.name_scope(name):
        here = [graph.capture(x) for x in sources]
        for x, inner, t in zip(sources, here, given, strict=True):
            held = graph.handle_of(inner) or inner.type
            dtype = held.dtype.base
            tangent = convert_to_tensor(t, None if isinstance(t, Tensor) else dtype)
            if tangent.dtype.base is not dtype:
                raise DTypeError(
                    f"the tangent of {x.name!r} has {tangent.dtype.base.name}, not {dtype.name}",
                    node=x.op.node.signature(),
                )
            if has_derivative(inner.type):
                known[inner.endpoint] = tangent
        root, library, nodes = between(graph, targets, here)
        Derivation(root, library, nodes, list(known)).push(root, nodes, known)
        return [known.get(y.endpoint) for y in targets]
