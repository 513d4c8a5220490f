"""Output types, shared between nodes and remembered by the types that go in."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.ir.graph import Endpoint
from graphvm_runtime.ir.infer import Resolution, infer
from graphvm_runtime.ops.registry import Attrs, OpDef, Resolver, Value
from graphvm_runtime.shapes import Shape, TensorType


class Types:
    """Infers output types; equal types become one object, so identities can be keys.

    Args:
        resolution: what is known of the values of inputs.
    """

    def __init__(self, resolution: Resolution) -> None:
        self.resolution = resolution
        self._shared: dict[TensorType, TensorType] = {}
        # (identity of the attributes, identities of the input types) -> output types
        self._known: dict[tuple[int, ...], tuple[TensorType, ...]] = {}
        self._constants: dict[tuple[DType, Shape], tuple[TensorType, ...]] = {}
        self._kept: list[object] = []  # keeps alive what is a key by its identity

    def shared(self, type_: TensorType) -> TensorType:
        """The one object for a type."""
        return self._shared.setdefault(type_, type_)

    def of(
        self, op: OpDef, attrs: Attrs, types: Sequence[TensorType], inputs: Sequence[Endpoint]
    ) -> tuple[TensorType, ...]:
        """Types of the outputs of a node whose attributes other nodes share; see `infer`."""
        key = (id(attrs), *[id(t) for t in types])
        found = self._known.get(key)
        if found is None:
            found, follows = self.fresh(op, attrs, types, inputs)
            if follows:
                self.keep(attrs, *types)
                self._known[key] = found
        return found

    def fresh(
        self, op: OpDef, attrs: Attrs, types: Sequence[TensorType], inputs: Sequence[Endpoint]
    ) -> tuple[tuple[TensorType, ...], bool]:
        """Types of the outputs of a node, and whether they follow from the types of its inputs."""
        resolver = _Noting(self.resolution.of(inputs))
        share = self._shared.setdefault
        found = tuple([share(t, t) for t in infer(op, types, attrs, resolver)])
        return found, bool(types) and not resolver.asked

    def constant(self, dtype: DType, shape: Shape) -> tuple[TensorType, ...]:
        """Types of the outputs of a `Const` whose value has that shape."""
        found = self._constants.get((dtype, shape))
        if found is None:
            found = (self.shared(TensorType(dtype, shape)),)
            self._constants[dtype, shape] = found
        return found

    def keep(self, *objects: object) -> None:
        """Keeps alive what is a key by its identity."""
        self._kept += objects


class _Noting:
    """Resolver that notes whether it was asked."""

    __slots__ = ("asked", "resolver")

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.asked = False

    def value(self, index: int) -> Value | None:
        self.asked = True
        return self.resolver.value(index)

    def constant(self, index: int) -> Array | None:
        self.asked = True
        return self.resolver.constant(index)

    def handle(self, index: int) -> TensorType | None:
        self.asked = True
        return self.resolver.handle(index)
