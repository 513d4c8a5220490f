"""Type inference with a cache: output types by attributes, input types and input values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.ir.graph import Endpoint
from graphvm_runtime.ir.infer import Resolution, infer
from graphvm_runtime.ops.registry import OpDef, Resolver, Value
from graphvm_runtime.ops.signature import Attrs
from graphvm_runtime.shapes import Shape, TensorType


class Types:
    """Infers output types; equal types become one object, so identities can be keys.

    Args:
        resolution: what is known of the values of inputs.
    """

    def __init__(self, resolution: Resolution) -> None:
        self.resolution = resolution
        self._shared: dict[TensorType, TensorType] = {}
        # By the identities of attributes and input types, where nothing else counts.
        self._known: dict[tuple[int, ...], tuple[TensorType, ...]] = {}
        # By the same, where values of inputs count too: which ones a rule asked for last.
        self._asked: dict[tuple[int, ...], tuple[int, ...]] = {}
        # By the same, what was asked for, and the values. A rule's first question is always the
        # same, and so is the next one after the same answers: who asked as much and was told as
        # much says the same.
        self._answered: dict[tuple[Any, ...], tuple[TensorType, ...]] = {}
        self._constants: dict[tuple[int, Shape], tuple[TensorType, ...]] = {}
        self._kept: list[object] = []  # keeps alive what is a key by its identity

    def shared(self, type_: TensorType) -> TensorType:
        """The one object for a type."""
        return self._shared.setdefault(type_, type_)

    def of(
        self, op: OpDef, attrs: Attrs, types: Sequence[TensorType], inputs: Sequence[Endpoint]
    ) -> tuple[tuple[TensorType, ...], bool]:
        """Types of the outputs of a node whose attributes other nodes share; see `infer`.

        Returns:
            The types, and whether they follow from the types of the inputs.
        """
        key = (id(attrs), *[id(t) for t in types])
        found = self._known.get(key)
        if found is not None:
            return found, True
        asked = self._asked.get(key)
        if asked is not None:
            values = tuple([self.resolution.value(inputs[index]) for index in asked])
            found = self._answered.get((key, asked, values))
            if found is not None:
                return found, False
        resolver = _Noting(self.resolution.of(inputs))
        found = self._inferred(op, attrs, types, resolver)
        if resolver.is_more or not types:  # what has no inputs has its attributes for itself
            return found, False
        if asked is None:
            self.keep(attrs, *types)
        if not resolver.values:
            self._known[key] = found
            return found, True
        asked = self._asked[key] = tuple(resolver.values)
        self._answered[key, asked, tuple(resolver.values.values())] = found
        return found, False

    def fresh(
        self, op: OpDef, attrs: Attrs, types: Sequence[TensorType], inputs: Sequence[Endpoint]
    ) -> tuple[TensorType, ...]:
        """Types of the outputs of a node, worked out and not remembered; see `infer`."""
        return self._inferred(op, attrs, types, self.resolution.of(inputs))

    def _inferred(
        self, op: OpDef, attrs: Attrs, types: Sequence[TensorType], resolver: Resolver
    ) -> tuple[TensorType, ...]:
        share = self._shared.setdefault
        return tuple([share(t, t) for t in infer(op, types, attrs, resolver)])

    def constant(self, dtype: DType, shape: Shape) -> tuple[TensorType, ...]:
        """Types of the outputs of a `Const` whose value has that shape."""
        found = self._constants.get((dtype.enum, shape))
        if found is None:
            found = (self.shared(TensorType(dtype, shape)),)
            self._constants[dtype.enum, shape] = found
        return found

    def keep(self, *objects: object) -> None:
        """Keeps alive what is a key by its identity."""
        self._kept += objects


class _Noting:
    """Resolver that notes what it was asked.

    Attributes:
        values: answers about values, by index of the input.
        is_more: whether it was asked for more than values.
    """

    __slots__ = ("is_more", "resolver", "values")

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.values: dict[int, Value | None] = {}
        self.is_more = False

    def value(self, index: int) -> Value | None:
        found = self.values[index] = self.resolver.value(index)
        return found

    def constant(self, index: int) -> Array | None:
        self.is_more = True
        return self.resolver.constant(index)

    def handle(self, index: int) -> TensorType | None:
        self.is_more = True
        return self.resolver.handle(index)
