"""TensorShape and Dimension: partially known shapes as TensorFlow 1 shows them.

Inside the runtime a shape is a plain tuple; these classes are its face to the user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from graphvm_runtime import shapes
from graphvm_runtime.errors import ShapeError, clipped
from graphvm_runtime.shapes import Shape

if TYPE_CHECKING:
    from graphvm_runtime.protos.tensor_shape_pb2 import TensorShapeProto

_Known: TypeAlias = tuple[int | None, ...]
_Rebuilt: TypeAlias = tuple[Any, tuple[Any]]
DimLike: TypeAlias = "Dimension | int | None"


class Dimension:
    """One dimension of a shape; `value` is None where it is not known.

    Arithmetic and comparison with an unknown dimension give unknown (`Dimension(None)`, `None`).

    Source: `tf.compat.v1.Dimension`.
    """

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value: int | None
        if value is None or isinstance(value, Dimension):
            self._value = value.value if isinstance(value, Dimension) else None
            return
        try:
            self._value = int(value.__index__())
        except AttributeError:
            raise TypeError(
                f"a dimension must be an integer or None, not {clipped(value)}"
            ) from None
        if self._value < 0:
            raise ShapeError(f"dimension {self._value} must be >= 0")

    @property
    def value(self) -> int | None:
        """The length, None where it is not known."""
        return self._value

    def __repr__(self) -> str:
        return f"Dimension({self._value})"

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __eq__(self, other: object) -> Any:
        """Whether both are equal; None where one is unknown."""
        theirs = _dim_or_missing(other)
        if theirs is NotImplemented:
            return NotImplemented
        if self._value is None or theirs is None:
            return None
        return self._value == theirs

    def __ne__(self, other: object) -> Any:
        """Whether both differ; None where one is unknown."""
        equal = self.__eq__(other)
        return equal if equal is NotImplemented or equal is None else not equal

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        if self._value is None:
            raise TypeError("the dimension is not known while the graph is built")
        return self._value

    __index__ = __int__

    def is_compatible_with(self, other: DimLike) -> bool:
        """Whether both could be the same length."""
        theirs = as_dimension(other)._value
        return self._value is None or theirs is None or self._value == theirs

    def assert_is_compatible_with(self, other: DimLike) -> None:
        """Raises ShapeError unless both could be the same length."""
        if not self.is_compatible_with(other):
            raise ShapeError(f"dimensions {self} and {as_dimension(other)} are not compatible")

    def merge_with(self, other: DimLike) -> Dimension:
        """What both say. Raises ShapeError when they differ."""
        return Dimension(shapes.merged_dim(self._value, as_dimension(other)._value))

    def _binary(self, other: Any, how: str, swap: bool = False) -> Any:
        theirs = _dim_or_missing(other)
        if theirs is NotImplemented:
            return NotImplemented
        if self._value is None or theirs is None:
            return Dimension(None)
        a, b = (theirs, self._value) if swap else (self._value, theirs)
        return Dimension(getattr(a, how)(b))

    def __add__(self, other: Any) -> Any:
        return self._binary(other, "__add__")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._binary(other, "__sub__")

    def __rsub__(self, other: Any) -> Any:
        return self._binary(other, "__sub__", swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._binary(other, "__mul__")

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self._binary(other, "__floordiv__")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._binary(other, "__floordiv__", swap=True)

    def __truediv__(self, other: Any) -> Any:
        raise TypeError("a dimension does not divide with /; use //")

    __rtruediv__ = __truediv__

    def __mod__(self, other: Any) -> Any:
        return self._binary(other, "__mod__")

    def __rmod__(self, other: Any) -> Any:
        return self._binary(other, "__mod__", swap=True)

    def _compare(self, other: Any, how: str) -> Any:
        theirs = _dim_or_missing(other)
        if theirs is NotImplemented:
            return NotImplemented
        if self._value is None or theirs is None:
            return None
        return getattr(self._value, how)(theirs)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "__le__")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "__ge__")

    def __reduce__(self) -> tuple[Any, tuple[int | None]]:
        return Dimension, (self._value,)


def _dim_or_missing(value: Any) -> Any:
    """The length that `value` stands for, NotImplemented where it stands for none."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, Dimension):
        return value.value
    if hasattr(value, "__index__") and not hasattr(value, "graph"):
        return int(value.__index__())
    return NotImplemented


def as_dimension(value: Any) -> Dimension:
    """`value` as a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


class TensorShape:
    """Static shape of a tensor: unknown, known in rank, or known whole.

    Args:
        dims: None for an unknown rank; an integer, a Dimension or a sequence of them and None;
            a TensorShape; a TensorShapeProto.

    Source: `tf.TensorShape` with the behaviour of TensorFlow 1 (items are Dimensions).
    """

    __slots__ = ("_shape",)

    def __init__(self, dims: Any = None) -> None:
        self._shape: Shape = _shape_of(dims)

    @classmethod
    def of(cls, shape: Shape) -> TensorShape:
        """The face of a shape of the runtime."""
        made = cls.__new__(cls)
        made._shape = shape
        return made

    @property
    def tuple(self) -> Shape:
        """The shape as the runtime holds it."""
        return self._shape

    @property
    def rank(self) -> int | None:
        """Number of dimensions, None where it is not known."""
        return None if self._shape is None else len(self._shape)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions, None for an unknown rank."""
        return None if self._shape is None else [Dimension(d) for d in self._shape]

    def __repr__(self) -> str:
        if self._shape is None:
            return "TensorShape(None)"
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        if self._shape is None:
            return "<unknown>"
        inside = ", ".join("?" if d is None else str(d) for d in self._shape)
        return f"({inside},)" if len(self._shape) == 1 else f"({inside})"

    def _known(self) -> _Known:
        if self._shape is None:
            raise ShapeError("the rank of the shape is not known")
        return self._shape

    def __len__(self) -> int:
        return len(self._known())

    def __bool__(self) -> bool:
        """Whether the rank is known."""
        return self._shape is not None

    def __iter__(self) -> Iterator[Dimension]:
        return iter([Dimension(d) for d in self._known()])

    def __getitem__(self, key: Any) -> Any:
        """A Dimension for an index, a TensorShape for a slice."""
        if self._shape is not None:
            if isinstance(key, slice):
                return TensorShape.of(self._shape[key])
            return Dimension(self._shape[key])
        if not isinstance(key, slice):
            return Dimension(None)
        start, stop = key.start or 0, key.stop
        if key.step is not None or stop is None or start < 0 or stop < 0:
            return TensorShape.of(None)
        return TensorShape.of((None,) * max(stop - start, 0))

    def __eq__(self, other: object) -> bool:
        try:
            theirs = _shape_of(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._shape == theirs

    def __hash__(self) -> int:
        return hash(self._shape)

    def __reduce__(self) -> _Rebuilt:
        return TensorShape, (self._shape,)

    def num_elements(self) -> int | None:
        """Number of elements, None where it is not known."""
        return shapes.size_of(self._shape)

    def merge_with(self, other: Any) -> TensorShape:
        """What both say. Raises ShapeError when they contradict each other."""
        return TensorShape.of(shapes.merged(self._shape, _shape_of(other)))

    def concatenate(self, other: Any) -> TensorShape:
        """The dimensions of this shape, then those of `other`."""
        return TensorShape.of(shapes.concatenated([self._shape, _shape_of(other)]))

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return as_shape(other).concatenate(self)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether one concrete shape could satisfy both."""
        return shapes.is_compatible(self._shape, _shape_of(other))

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raises ShapeError unless one concrete shape could satisfy both."""
        if not self.is_compatible_with(other):
            raise ShapeError(f"shapes {self} and {as_shape(other)} are not compatible")

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The most precise shape that covers both: unknown wherever they differ."""
        return TensorShape.of(shapes.widened(self._shape, _shape_of(other)))

    def is_subtype_of(self, other: Any) -> bool:
        """Whether every concrete shape of this one is one of `other`."""
        return shapes.is_subshape(self._shape, _shape_of(other))

    def is_fully_defined(self) -> bool:
        """Whether rank and every dimension are known."""
        return shapes.is_known(self._shape)

    def assert_is_fully_defined(self) -> None:
        """Raises ShapeError unless rank and every dimension are known."""
        if not self.is_fully_defined():
            raise ShapeError(f"shape {self} is not fully defined")

    def assert_has_rank(self, rank: int) -> None:
        """Raises ShapeError unless the rank could be `rank`."""
        if self.rank not in (None, rank):
            raise ShapeError(f"shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """Raises ShapeError when both ranks are known and differ."""
        theirs = as_shape(other)
        if None not in (self.rank, theirs.rank) and self.rank != theirs.rank:
            raise ShapeError(f"shapes {self} and {theirs} must have the same rank")

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, of that rank. Raises ShapeError when it has another one."""
        try:
            return self.merge_with((None,) * rank)
        except ShapeError:
            raise ShapeError(f"shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. Raises ShapeError when its rank is known and less."""
        if self._shape is not None and len(self._shape) < rank:
            raise ShapeError(f"shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape. Raises ShapeError when its rank is known and greater."""
        if self._shape is not None and len(self._shape) > rank:
            raise ShapeError(f"shape {self} must have rank at most {rank}")
        return self

    def as_list(self) -> list[int | None]:
        """The dimensions as integers and None. Raises ShapeError for an unknown rank."""
        return list(self._known())

    def as_proto(self) -> TensorShapeProto:
        """The message of this shape."""
        from graphvm_runtime.ir.graphdef.tensor_proto import shape_proto

        return shape_proto(self._shape)


def _shape_of(dims: Any) -> Shape:
    if dims is None:
        return None
    if isinstance(dims, TensorShape):
        return dims._shape
    if type(dims).__name__ == "TensorShapeProto":  # loads no messages to ask what is none
        from graphvm_runtime.ir.graphdef.tensor_proto import shape_of_proto

        return shape_of_proto(dims)
    if isinstance(dims, (Dimension, int)):
        return (Dimension(dims).value,)
    if isinstance(dims, (str, bytes)) or not isinstance(dims, Iterable):
        if hasattr(dims, "__index__"):
            return (Dimension(dims).value,)
        raise TypeError(f"{clipped(dims)} is no shape")
    return tuple(None if d is None else Dimension(d).value for d in dims)


def as_shape(value: Any) -> TensorShape:
    """`value` as a TensorShape.

    Source: `tf.TensorShape`.
    """
    return value if isinstance(value, TensorShape) else TensorShape(value)


def as_plain_shape(value: Any) -> Shape:
    """Anything that means a static shape, as the runtime's tuple."""
    return _shape_of(value)
