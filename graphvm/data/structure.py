"""Elements of datasets as users see them: tuples, named tuples and dictionaries of tensors.

A list is no structure here but what becomes one tensor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Tensor
from graphvm.graph.source import user_line
from graphvm.graph.tensor_shape import TensorShape, as_shape
from graphvm_runtime.dtypes import DType, as_dtype
from graphvm_runtime.errors import GraphError, clipped

__all__ = ["AsVariant", "Structure", "flatten", "pack", "tensors_of"]


def _is_structure(value: Any) -> bool:
    return isinstance(value, tuple | Mapping) and not isinstance(value, TensorShape)


def flatten(value: Any) -> list[Any]:
    """The leaves, dictionaries by their sorted keys."""
    if not _is_structure(value):
        return [value]
    children = [value[k] for k in sorted(value)] if isinstance(value, Mapping) else list(value)
    return [leaf for child in children for leaf in flatten(child)]


def pack(like: Any, leaves: Sequence[Any]) -> Any:
    """The leaves in the form of another structure."""
    return _packed(like, iter(leaves))


def _packed(like: Any, leaves: Iterator[Any]) -> Any:
    if isinstance(like, Mapping):
        made = {k: _packed(like[k], leaves) for k in sorted(like)}
        ordered = {k: made[k] for k in like}
        return ordered if type(like) is dict else type(like)(ordered)  # type: ignore[call-arg]  # a Mapping of the user's
    if _is_structure(like):
        children = [_packed(child, leaves) for child in like]
        return type(like)(*children) if hasattr(like, "_fields") else tuple(children)
    return next(leaves)


class Structure:
    """Form of an element, with type and static shape of each component.

    Args:
        types: element types, in the form of the element.
        shapes: shapes in the same form.
    """

    def __init__(self, types: Any, shapes: Any) -> None:
        self.types = types
        self.shapes = shapes
        self.dtypes: tuple[DType, ...] = tuple(as_dtype(t).base for t in flatten(types))
        self.flat_shapes: tuple[TensorShape, ...] = tuple(as_shape(s) for s in flatten(shapes))
        if len(self.dtypes) != len(self.flat_shapes):
            raise GraphError(
                f"{len(self.flat_shapes)} shapes for {len(self.dtypes)} types: {clipped(shapes)}",
                made=user_line(),
            )

    @classmethod
    def given(cls, types: Any, shapes: Any) -> Structure:
        """From what a user gives; no shapes at all means that none is known."""
        leaves = [as_dtype(t) for t in flatten(types)]
        if shapes is None:
            known = [TensorShape(None) for _ in leaves]
        else:
            known = [as_shape(s) for s in _shapes_like(types, shapes)]
        return cls(pack(types, leaves), pack(types, known))

    @classmethod
    def of(cls, form: Any, tensors: Sequence[Tensor]) -> Structure:
        """The structure of these tensors in a form."""
        return cls(
            pack(form, [t.dtype.base for t in tensors]), pack(form, [t.shape for t in tensors])
        )

    @property
    def classes(self) -> Any:
        """The class of each component: Tensor."""
        return pack(self.types, [Tensor] * len(self.dtypes))

    def pack(self, leaves: Sequence[Any]) -> Any:
        """Components in the form of the element."""
        return pack(self.types, leaves)

    def with_shapes(self, change: Callable[[TensorShape], TensorShape]) -> Structure:
        """The same types with each shape changed."""
        return Structure(self.types, self.pack([change(s) for s in self.flat_shapes]))

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of an op that gives such elements."""
        return {
            "output_types": self.dtypes,
            "output_shapes": tuple(_plain(s) for s in self.flat_shapes),
        }


def _plain(shape: TensorShape) -> tuple[int | None, ...] | None:
    return None if shape.rank is None else tuple(shape.as_list())


def _shapes_like(types: Any, shapes: Any) -> list[Any]:
    """The shapes that stand where types are leaves; a tuple of numbers may be one of them."""
    if not _is_structure(types):
        return [shapes]
    keys = sorted(types) if isinstance(types, Mapping) else range(len(types))
    if not isinstance(shapes, Mapping | list | tuple) or len(shapes) != len(types):
        raise GraphError(f"{clipped(shapes)} are no shapes for {clipped(types)}", made=user_line())
    pairs = [(types[k], shapes[k]) for k in keys]
    return [leaf for t, s in pairs for leaf in _shapes_like(t, s)]


class AsVariant(ABC):
    """A dataset, to those that are there before it.

    Attributes:
        structure: of an element.
    """

    structure: Structure

    @abstractmethod
    def as_variant(self) -> Tensor:
        """The dataset as a tensor, which ops take."""


def tensors_of(value: Any, stem: str = "component") -> list[Tensor]:
    """The components of an element as tensors."""
    return [
        convert_to_tensor(leaf, name=f"{stem}_{place}") for place, leaf in enumerate(flatten(value))
    ]
