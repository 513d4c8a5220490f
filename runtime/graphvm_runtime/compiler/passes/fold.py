"""Constant folding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.graph import Graph, Node
from graphvm_runtime.kernels.registry import has_kernel, made
from graphvm_runtime.ops.registry import Effects, ShapeContext, Trait
from graphvm_runtime.shapes import Shape, TensorType

_LARGEST = 1 << 16  # elements; larger results cost more to keep than to compute


@dataclass(frozen=True, slots=True)
class Fold:
    """Replaces pure nodes whose inputs are constants, and shapes that are known, by constants.

    The shape of what an op that changes state gives is left alone: that op has to run.
    """

    name: str = "fold"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The folded graph, bodies included."""
        return graph.map_bodies(_folded), request


def _folded(nodes: Sequence[Node]) -> list[Node]:
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
    if node.op.traits & Trait.TYPE_ONLY and all(e.node in types for e in node.inputs):
        shapes = [types[e.node][e.index].shape for e in node.inputs]
        said = node.op.value(ShapeContext(node.op, shapes, node.attrs)) if node.op.value else None
        if said is not None and (isinstance(said, int) or None not in said):
            return _const(node, np.array(said, np.int64).astype(dtype.numpy))
    if not _is_small(node.outputs[0].shape):
        return None
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


def _is_small(shape: Shape) -> bool:
    return shape is None or None in shape or math.prod(d or 0 for d in shape) <= _LARGEST


def _const(node: Node, value: Any) -> Node:
    return constant(node.name, value, node.outputs[0].dtype, (), node.device, node.source)
