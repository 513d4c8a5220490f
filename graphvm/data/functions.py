"""Functions of users, traced into functions of the graph that datasets call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphvm.data.structure import Structure, flatten
from graphvm.function import FuncGraph
from graphvm.graph import Operation, Tensor
from graphvm.ops.control_flow.bodies import result_of
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ops.registry import FuncRef

__all__ = ["Traced", "copied_by_value"]

# what may be copied into a function that shall give the same dataset whenever it is called
_SOURCES = ("TensorDataset", "TensorSliceDataset", "RangeDataset", "ShuffleDataset")


class Traced:
    """A user's function as a function of the graph.

    Args:
        function: takes an element, the parts of a tuple as arguments of their own.
        structure: of the element.
        name: of the function.

    Attributes:
        ref: names it in attributes.
        captured: tensors of the graph around that it takes besides.
        control: operations that whoever calls it runs after.
        result: what the user's function gave.
        tensors: the results, tensors of the body.
    """

    def __init__(self, function: Callable[..., Any], structure: Structure, name: str) -> None:
        graph = FuncGraph(name)
        with graph.as_default():
            args = [
                graph.add_arg(dtype, shape, f"args_{place}")
                for place, (dtype, shape) in enumerate(
                    zip(structure.dtypes, structure.flat_shapes, strict=True)
                )
            ]
            element = structure.pack(args)
            is_tuple = isinstance(element, tuple) and not hasattr(element, "_fields")
            given = function(*element) if is_tuple else function(element)
            self.result = tuple(given) if isinstance(given, list) else given
            dataset = getattr(given, "_variant_tensor", None)
            leaves = flatten(self.result) if dataset is None else [dataset]
            if any(leaf is None for leaf in leaves):
                raise GraphError("the function of a dataset gives None")
            self.tensors: list[Tensor] = [result_of(graph, leaf) for leaf in leaves]
        self.ref = FuncRef(graph.finish(self.tensors).name)
        self.captured = [outer for outer, _ in graph.captures]
        self.control: list[Operation] = list(graph.control_captures)

    @property
    def structure(self) -> Structure:
        """Structure of its results."""
        return Structure.of(self.result, self.tensors)


def copied_by_value(tensor: Tensor, name: str) -> FuncRef:
    """A function without inputs that gives what a tensor is, with copies of all that it needs.

    Raises:
        GraphError: that is fed, or is a variable or other state.
    """
    graph = FuncGraph(name, tensor.graph)
    copies: dict[Tensor, Tensor] = {}
    pending: list[tuple[Operation, bool]] = [(tensor.op, False)]
    seen: set[Operation] = set()
    with graph.as_default():
        while pending:
            op, ready = pending.pop()
            if ready:
                _check_copied(op)
                made = graph.add_node(
                    op.type,
                    op._node.op.grouped([copies[t] for t in op.inputs], op._node.attrs),
                    {k: v for k, v in op._node.attrs.items() if k != "_class"},
                    op.name,
                )
                copies.update(zip(op.outputs, made.outputs, strict=True))
            elif op not in seen:
                seen.add(op)
                pending.append((op, True))
                pending.extend((t.op, False) for t in reversed(op.inputs))
        return FuncRef(graph.finish([copies[tensor]]).name)


def _check_copied(op: Operation) -> None:
    if op.type in ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg"):
        raise GraphError(
            f"a one-shot iterator cannot depend on what is fed: {op.name!r}",
            do="use make_initializable_iterator",
        )
    if op._node.op.is_stateful and op.type not in _SOURCES:
        raise GraphError(
            f"a one-shot iterator cannot depend on state: {op.name!r}, a {op.type}",
            do="use make_initializable_iterator",
        )
