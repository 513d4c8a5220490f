"""What `cond` and `while_loop` share: tracing bodies and giving them the same parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from graphvm import nest
from graphvm.functions.function import FuncGraph
from graphvm.graph.conversion import convert_to_tensor, output
from graphvm.graph.graph import Operation, Tensor, get_default_graph
from graphvm.graph.source import user_line
from graphvm.ops.tensor_array import TensorArray
from graphvm_runtime.errors import DTypeError, ShapeError
from graphvm_runtime.shapes import shape_text

__all__ = [
    "aligned", "body_name", "check_callable", "control_of", "flat", "identities", "is_stateful",
    "like", "result_of", "scalar_of",
]  # fmt: skip


def flat(structure: Any) -> Any:
    """A structure with the values of arrays in their place."""
    return nest.map_structure(lambda x: x.flow if isinstance(x, TensorArray) else x, structure)


def like(structure: Any, tensors: Any) -> Any:
    """A structure of tensors as another one is: arrays where that one has arrays."""
    leaves = [
        a.with_flow(t) if isinstance(a, TensorArray) else t
        for a, t in zip(nest.flatten(structure), nest.flatten(tensors), strict=True)
    ]
    return nest.pack_sequence_as(structure, leaves)


def body_name(scope: str, role: str) -> str:
    """Name of a body of the node in a name scope, `layer_cond_true`."""
    return f"{scope[:-1]}_{role}".replace("/", "_")


def result_of(graph: FuncGraph, value: Any, dtype: object = None) -> Tensor:
    """What a body gives, as a tensor of the body."""
    tensor = graph.capture(convert_to_tensor(value, dtype))
    # a reference is read here: what leaves a body is a value
    return output("Identity", (tensor,)) if tensor.dtype.is_ref else tensor


def scalar_of(value: Any, name: str) -> Tensor:
    """A predicate as a scalar; other shapes must have one element.

    Raises:
        ShapeError: it has another number of them. Where that is not known yet, running it raises
            InvalidArgumentError.
    """
    tensor = convert_to_tensor(value, name=name)
    if tensor.dtype.is_ref:
        tensor = output("Identity", (tensor,))
    if tensor.shape.rank == 0:
        return tensor
    count = tensor.shape.num_elements()
    if count is None:
        return output("Reshape", (tensor, np.zeros(0, np.int32)))
    if count != 1:
        raise ShapeError(
            f"a condition is one bool, not a tensor of shape {shape_text(tensor.type.shape)}",
            node=tensor.op.node.signature(),
            made=user_line(),
            do="use reduce_all, or pick one element",
        )
    return output("Squeeze", (tensor,))


def aligned(bodies: Iterable[tuple[FuncGraph, Sequence[Tensor]]]) -> list[Tensor]:
    """Gives bodies the same captures in the same order: those that some body needs.

    Args:
        bodies: each with its results; what none of them needs is left out of the body.

    Returns:
        The captured tensors of the graph around.
    """
    graphs = []
    for graph, results in bodies:
        graph.keep_only(results)
        graphs.append(graph)
    order = dict.fromkeys(outer for graph in graphs for outer, _ in graph.captures)
    place = {outer: index for index, outer in enumerate(order)}
    for graph in graphs:
        for outer in order:
            graph.capture(outer)
        graph.captures.sort(key=lambda pair: place[pair[0]])
    return list(order)


def is_stateful(graphs: Iterable[FuncGraph]) -> bool:
    """Whether running a body does more than giving its results."""
    return any(node.is_stateful for graph in graphs for node in graph.kept_nodes())


def control_of(graphs: Iterable[FuncGraph]) -> list[Operation]:
    """Operations of the graph around that something in a body runs after."""
    return list(dict.fromkeys(op for graph in graphs for op in graph.control_captures))


def identities(tensors: Sequence[Tensor], scope: str, first: int = 0) -> list[Tensor]:
    """The results of a node under the names that TensorFlow gives them."""
    graph = get_default_graph()
    with graph.name_scope(scope):
        return [
            graph.add_node("Identity", (t,), {}, f"Identity_{n}" if n else "Identity").outputs[0]
            for n, t in enumerate(tensors, first)
        ]


def check_callable(function: str, **given: Any) -> None:
    """Raises DTypeError where an argument cannot be called."""
    for name, value in given.items():
        if not callable(value):
            raise DTypeError(
                f"{function} takes a function for {name!r}, not {value!r}", made=user_line()
            )
