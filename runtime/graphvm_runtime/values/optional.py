"""Optionals: the values behind `Optional*` ops."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.values.handle_value import Variant
from graphvm_runtime.values.tensor_list import Element, TensorList, zeros_of


class Optional(Variant):
    """Some tensors, or none, as one value; it never changes.

    Args:
        types: of the tensors.
        values: the tensors; None where there are none.

    Source: TF op family `Optional*`.
    """

    __slots__ = ("types", "values")

    kind = "an optional"

    def __init__(self, types: Sequence[DType], values: Sequence[Element] | None) -> None:
        self.types = tuple(types)
        self.values = None if values is None else tuple(values)

    def zeros(self) -> Optional:
        """Zeros of the same types and shapes; nothing where there is nothing."""
        if self.values is None:
            return self
        return Optional(self.types, [
            v.zeros() if isinstance(v, TensorList | Optional) else zeros_of(t, v.shape)
            for t, v in zip(self.types, self.values, strict=True)
        ])  # fmt: skip

    def added(self, other: Optional) -> Optional:
        """The sums of the tensors of two optionals; nothing where both have nothing.

        Raises:
            InvalidArgumentError: only one has tensors, or they differ in types or shapes.
        """
        if self.values is None and other.values is None:
            return self
        if self.values is None or other.values is None or self.types != other.types:
            raise InvalidArgumentError("optionals with different components cannot be added")
        return Optional(self.types, [
            a.added(b) if isinstance(a, TensorList | Optional) else a + b
            for a, b in zip(self.values, other.values, strict=True)
        ])  # fmt: skip

    def __repr__(self) -> str:
        return f"<Optional of {', '.join(t.name for t in self.types) or 'nothing'}>"
