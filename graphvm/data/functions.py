"""Functions of users, traced into functions of the graph that datasets call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphvm.data.structure import AsVariant, Structure, flatten
from graphvm.functions.function import FuncGraph, copied
from graphvm.graph.graph import Operation, Tensor
from graphvm.graph.source import user_line
from graphvm.ops.control_flow.bodies import result_of
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ops.signature import FuncRef

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
            is_dataset = isinstance(given, AsVariant)
            leaves = [given.as_variant()] if is_dataset else flatten(self.result)
            if any(leaf is None for leaf in leaves):
                raise GraphError("the function of a dataset gives None", made=user_line())
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
    with graph.as_default():
        made = copied(tensor, graph, {}, allowed=_SOURCES, do="use make_initializable_iterator")
        return FuncRef(graph.finish([made]).name)
