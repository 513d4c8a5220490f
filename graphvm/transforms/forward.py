"""Forward mode: `jvp`."""

from __future__ import annotations

from typing import Any

from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Tensor
from graphvm.transforms.arguments import listed, some, tensors_of, values_of
from graphvm.transforms.derivation import Derivation
from graphvm.transforms.enclosing import Levels, innermost
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
    graph = innermost([*targets, *(t for t in given if isinstance(t, Tensor))])
    known: dict[Endpoint, Tensor] = {}
    with graph.as_default(), graph.name_scope(name):
        levels = Levels(graph, targets, sources)
        for x, t in zip(sources, given, strict=True):
            held = x.graph.handle_of(x) or x.type
            dtype = held.dtype.base
            tangent = convert_to_tensor(t, None if isinstance(t, Tensor) else dtype)
            if tangent.dtype.base is not dtype:
                raise DTypeError(
                    f"the tangent of {x.name!r} has {tangent.dtype.base.name}, not {dtype.name}",
                    node=x.op.node.signature(),
                )
            if has_derivative(x.type):
                known[levels.end(x)] = tangent
        root, library, nodes = between(graph, levels, targets, sources)
        Derivation(root, library, nodes, list(known)).push(root, nodes, known)
        return [known.get(levels.end(y)) for y in targets]
