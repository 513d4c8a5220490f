"""Types of a node's outputs, and what is known of values and handles before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import ShapeError
from graphvm_runtime.ir.graph import Endpoint, Node
from graphvm_runtime.ops.control_flow import MERGES
from graphvm_runtime.ops.registry import (
    LONGEST_VALUE,
    NOTHING,
    OpDef,
    Resolver,
    ShapeContext,
    Value,
    as_value,
)
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import Shape, TensorType

Lookup: TypeAlias = Callable[[str], Node]
# For an endpoint that stands for one of another graph: that graph's resolution, and that endpoint.
OuterResolver: TypeAlias = "Callable[[Endpoint], tuple[Resolution, Endpoint] | None]"


def infer(
    op: OpDef, inputs: Sequence[TensorType], attrs: Attrs, resolver: Resolver = NOTHING
) -> tuple[TensorType, ...]:
    """Types of the outputs of a node.

    Args:
        op: its op.
        inputs: types of its inputs, lists laid out flat.
        attrs: all its attributes.
        resolver: what is known of the values of its inputs.

    Raises:
        ShapeError: the shapes break a rule of the op.
        DTypeError: a variable or list holds other elements than the node says.
    """
    shapes = op.shape(ShapeContext(op, [t.shape for t in inputs], attrs, resolver))
    if len(shapes) == 1 and len(op.outputs) == 1:
        arg = op.outputs[0]
        if not arg.is_list:
            dtype = arg.dtype or attrs[arg.type_attr]
            shape = shapes[0]
            if arg.is_ref:
                dtype = dtype.ref
            elif inputs:
                first = inputs[0]
                if first.shape is shape and first.dtype is dtype:
                    return (first,)
            return (TensorType(dtype, shape),)
    dtypes = op.output_dtypes(attrs)
    return tuple(TensorType(d, s) for d, s in zip(dtypes, shapes, strict=True))


class Resolution:
    """What is known of the values and handles in one graph, worked out on demand and kept.

    The graph may grow; `forget` after nodes that were there have changed. Chains of any length
    are followed without recursion.

    Args:
        lookup: the node of that name.
        beyond: what a parameter of a body stands for, where it is a capture.
    """

    def __init__(self, lookup: Lookup, beyond: OuterResolver | None = None) -> None:
        self._lookup = lookup
        self.beyond = beyond
        self._values: dict[Endpoint, Value | None] = {}
        self._handles: dict[Endpoint, TensorType | None] = {}

    def of(self, inputs: Sequence[Endpoint]) -> Resolver:
        """The resolver of a node with these inputs."""
        return _Inputs(self, inputs)

    def forget(self) -> None:
        """Drops what was worked out."""
        self._values.clear()
        self._handles.clear()

    def value(self, end: Endpoint) -> Value | None:
        """Partial value of a small integer tensor, None when nothing is known."""
        if end in self._values:
            return self._values[end]
        node = self._lookup(end.node)
        if node.op.name == "Const":  # most of them, no captures, and cheap to ask again
            return as_value(node.attrs["value"])
        self._follow(end, self._values, _value_of)
        return self._values[end]

    def handle(self, end: Endpoint) -> TensorType | None:
        """Type of what a resource or list holds, None when it is not known."""
        if end not in self._handles:
            self._follow(end, self._handles, _handle_of)
        return self._handles[end]

    def constant(self, end: Endpoint) -> Array | None:
        """The whole value of a constant tensor, None where it is not known."""
        node = self._lookup(end.node)
        while node.op.forwards:
            end = node.inputs[end.index]
            node = self._lookup(end.node)
        far = self.beyond(end) if self.beyond is not None else None
        if far is not None:
            return far[0].constant(far[1])
        if node.op.name == "Const":
            array = node.attrs["value"]
            return array if isinstance(array, np.ndarray) else None
        if end.index < len(node.outputs) and node.outputs[end.index].dtype.is_integer:
            value = self.value(end)
            if value is not None and not (isinstance(value, tuple) and None in value):
                return np.array(value, node.outputs[end.index].dtype.numpy)
        return None

    def _follow(
        self,
        end: Endpoint,
        known: dict[Endpoint, Any],
        compute: Callable[[Node, int, ShapeContext], Any],
    ) -> None:
        """Works out `end` and whatever it asks for, innermost first."""
        stack: list[Endpoint] = [end]
        begun: set[Endpoint] = set()
        while stack:
            current = stack[-1]
            if current in known:
                stack.pop()
                continue
            begun.add(current)
            far = self.beyond(current) if self.beyond is not None else None
            if far is not None:
                asks_values = known is self._values
                known[current] = far[0].value(far[1]) if asks_values else far[0].handle(far[1])
                stack.pop()
                continue
            node = self._lookup(current.node)
            asked = _Asking(self, node.inputs, known, begun)
            if node.op.name in MERGES:
                # a back edge leads from a node that is perhaps not read yet
                types = [node.outputs[0]] * len(node.inputs)
            else:
                types = [self._type(e) for e in node.inputs]
            ctx = ShapeContext(
                node.op, [t.shape for t in types], node.attrs, asked, [t.dtype for t in types]
            )
            try:
                found = compute(node, current.index, ctx)
            except ShapeError:
                found = None  # said where the node is made; here it only means not known
            if asked.missing:
                stack += asked.missing
                continue
            known[current] = found
            stack.pop()

    def _type(self, end: Endpoint) -> TensorType:
        return self._lookup(end.node).outputs[end.index]


class _Inputs:
    """Resolver of one node."""

    __slots__ = ("inputs", "resolution")

    def __init__(self, resolution: Resolution, inputs: Sequence[Endpoint]) -> None:
        self.resolution = resolution
        self.inputs = inputs

    def value(self, index: int) -> Value | None:
        return self.resolution.value(self.inputs[index])

    def constant(self, index: int) -> Array | None:
        return self.resolution.constant(self.inputs[index])

    def handle(self, index: int) -> TensorType | None:
        return self.resolution.handle(self.inputs[index])


class _Asking(_Inputs):
    """Resolver that answers from what is known and notes what is not yet."""

    __slots__ = ("begun", "known", "missing")

    def __init__(
        self,
        resolution: Resolution,
        inputs: Sequence[Endpoint],
        known: dict[Endpoint, Any],
        begun: set[Endpoint],
    ) -> None:
        super().__init__(resolution, inputs)
        self.known = known
        self.begun = begun  # asked for again, these close a circle
        self.missing: list[Endpoint] = []

    def value(self, index: int) -> Value | None:
        if self.known is not self.resolution._values:
            return super().value(index)
        found: Value | None = self._ask(index)
        return found

    def handle(self, index: int) -> TensorType | None:
        if self.known is not self.resolution._handles:
            return super().handle(index)
        found: TensorType | None = self._ask(index)
        return found

    def _ask(self, index: int) -> Any:
        end = self.inputs[index]
        if end not in self.known and end not in self.begun and end not in self.missing:
            self.missing.append(end)
        return self.known.get(end)


def _value_of(node: Node, index: int, ctx: ShapeContext) -> Value | None:
    if index or node.op.value is None or not _is_short(node.outputs[0].shape):
        return None
    found: Any = node.op.value(ctx)
    if isinstance(found, np.ndarray):  # of a user's own op, whose rule gives what comes easily
        return as_value(found)
    return tuple(found) if isinstance(found, list) else found


def _is_short(shape: Shape) -> bool:
    """Whether the value of a tensor may be worked out: of rank 0 or 1, and not long."""
    if shape is None or shape == ():
        return True
    return len(shape) == 1 and (shape[0] is None or shape[0] <= LONGEST_VALUE)


def _handle_of(node: Node, index: int, ctx: ShapeContext) -> TensorType | None:
    return None if node.op.handle is None else node.op.handle(ctx, index)
