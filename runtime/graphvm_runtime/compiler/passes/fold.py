"""Computes what depends on constants alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.dtypes import DType
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.graph import Graph, Node
from graphvm_runtime.kernels.registry import has_kernel, made
from graphvm_runtime.ops.registry import Effects
from graphvm_runtime.shapes import TensorType, is_known

_LARGEST = 1 << 16  # elements; larger results cost more to keep than to compute
_FROM_TYPES = frozenset({"Shape", "Size", "Rank", "ShapeN"})


@dataclass(frozen=True, slots=True)
class Fold:
    """Replaces pure nodes whose inputs are constants, and shapes that are known, by constants.

    The shape of what an op that changes state gives is left alone: that op has to run.
    """

    name: str = "fold"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The folded graph, bodies included."""
        nodes = _folded(graph.nodes, request.names())
        library = {
            name: replace(f, body=replace(f.body, nodes=tuple(_folded(f.body.nodes, frozenset()))))
            for name, f in graph.library.items()
        }
        return replace(graph, nodes=tuple(nodes), library=library), request


def _folded(nodes: tuple[Node, ...], keep: frozenset[str]) -> list[Node]:
    known: dict[str, Any] = {}
    types: dict[str, tuple[TensorType, ...]] = {}  # of nodes above which nothing changes state
    changing: set[str] = set()
    out = []
    for node in nodes:
        folded = _constant_of(node, known, types)
        if folded is not None:
            node = folded
        if node.op.name == "Const" and not node.after:
            value = node.attrs["value"]
            if isinstance(value, np.ndarray) and value.size <= _LARGEST:
                known[node.name] = value
        if _changes_state(node) or any(e.node in changing for e in node.inputs):
            changing.add(node.name)
        else:
            types[node.name] = node.outputs
        out.append(node)
    return out


def _changes_state(node: Node) -> bool:
    return node.op.is_stateful and not node.op.effects & Effects.READS


def _constant_of(
    node: Node, known: dict[str, Any], types: dict[str, tuple[TensorType, ...]]
) -> Node | None:
    if node.op.is_stateful or node.op.internal or len(node.outputs) != 1 or node.after:
        return None
    dtype = node.outputs[0].dtype
    if dtype.numpy.kind == "O" or not has_kernel(node.op.name) or node.op.name == "Const":
        return None
    if node.op.name in _FROM_TYPES and node.inputs[0].node in types:
        shape = types[node.inputs[0].node][node.inputs[0].index].shape
        if shape is not None and (node.op.name == "Rank" or is_known(shape)):
            return _const(node, _shape_value(node, shape, dtype))
    if not node.inputs or any(e.node not in known or e.index for e in node.inputs):
        return None
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(made(node).call(*(known[e.node] for e in node.inputs)))
    except Exception:  # the run will raise it, and name the node, if it is ever reached
        return None
    if value.size > _LARGEST or value.dtype != dtype.numpy:
        return None
    return _const(node, value.copy())


def _shape_value(node: Node, shape: Any, dtype: DType) -> Any:
    if node.op.name == "Rank":
        return np.asarray(len(shape), dtype.numpy)
    if node.op.name == "Size":
        return np.asarray(np.prod(shape, dtype=np.int64), dtype.numpy)
    return np.asarray(shape, dtype.numpy).reshape(len(shape))


def _const(node: Node, value: Any) -> Node:
    return constant(node.name, value, node.outputs[0].dtype, (), node.device, node.source)
