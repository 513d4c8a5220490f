"""Arrays of tensors that change in place: what is behind the handles of `TensorArray*` ops."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.shapes import Shape, is_compatible, shape_text
from graphvm_runtime.values.handle_value import HandleValue
from graphvm_runtime.values.tensor_list import zeros_of


class _Place:
    """An element: what it holds, and what happened to it."""

    __slots__ = ("read", "shape", "value", "written")

    def __init__(self) -> None:
        self.value: Any = None
        self.shape: tuple[int, ...] | None = None  # stays when the value is let go
        self.written = False
        self.read = False


class TensorArray(HandleValue):
    """An array of one step. Elements are written once, except of arrays of gradients, which add.

    Args:
        name: what errors call it.
        dtype: type of the elements.
        size: how many there are.
        element_shape: what is known of the shape of each of them.
        dynamic: a write behind the end makes it longer.
        clears: an element is let go once it is read.
        identical: all elements have the shape of the first one.
        primal: the array of whose elements it holds gradients or tangents.

    Source: TF op `TensorArrayV3`.
    """

    kind = "a tensor array"

    def __init__(
        self,
        name: str,
        dtype: DType,
        size: int,
        element_shape: Shape = None,
        *,
        dynamic: bool = False,
        clears: bool = True,
        identical: bool = False,
        primal: TensorArray | None = None,
    ) -> None:
        if size < 0:
            raise InvalidArgumentError(f"an array cannot have {size} elements")
        self.name = name
        self.dtype = dtype
        self.element_shape = element_shape
        self.dynamic = dynamic
        self.primal = primal
        self._clears = clears
        self._identical = identical
        self._places = [_Place() for _ in range(size)]
        self._derived: dict[bytes, TensorArray] = {}
        self._closed = False
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<TensorArray {self.name}: {len(self)} {self.dtype}>"

    def __len__(self) -> int:
        own = len(self._places)
        return own if self.primal is None else max(own, len(self.primal))

    def derived(self, source: bytes) -> TensorArray:
        """The array for gradients of its elements: one for each source."""
        self._check_open()
        with self._lock:
            found = self._derived.get(source)
            if found is None:
                found = self._derived[source] = TensorArray(
                    f"{self.name}@{source.decode()}", self.dtype, 0, self.element_shape,
                    dynamic=True, clears=False, primal=self,
                )  # fmt: skip
            return found

    def write(self, index: int, value: Any) -> None:
        """Sets an element; of gradients, adds to it.

        Raises:
            InvalidArgumentError: there is no such index, it has been written or read, or the
                element does not fit.
        """
        self._check_open()
        if index < 0 or (index >= len(self) and not self.dynamic):
            raise InvalidArgumentError(
                f"{self.name!r} has {len(self)} elements and cannot grow: there is none at {index}"
            )
        if value.dtype != self.dtype.numpy:
            raise InvalidArgumentError(
                f"an element of {value.dtype} for {self.name!r} of {self.dtype.name}"
            )
        if not is_compatible(self.element_shape, value.shape):
            raise InvalidArgumentError(
                f"an element of shape {list(value.shape)} for {self.name!r} of elements "
                f"{shape_text(self.element_shape)}"
            )
        with self._lock:
            while index >= len(self._places):
                self._places.append(_Place())
            place = self._places[index]
            if self.primal is not None:
                if place.written:
                    if place.shape != value.shape:
                        raise InvalidArgumentError(
                            f"{list(value.shape)} cannot be added to element {index} of "
                            f"{self.name!r}, which has the shape {list(place.shape or ())}"
                        )
                    value = np.add(place.value, value)
            elif place.read or place.written:
                done = "read" if place.read else "written"
                raise InvalidArgumentError(
                    f"element {index} of {self.name!r} has been {done} already: write it once, "
                    "before it is read"
                )
            place.value, place.shape, place.written = value, value.shape, True
            if self._identical:
                self.element_shape = value.shape

    def read(self, index: int) -> Any:
        """An element; zeros where it was never written and its shape is known.

        Raises:
            InvalidArgumentError: there is no such index, or it has been read and is let go.
        """
        self._check_open()
        if not 0 <= index < len(self):
            raise InvalidArgumentError(
                f"{self.name!r} has {len(self)} elements: none is read at {index}"
            )
        with self._lock:
            place = self._places[index] if index < len(self._places) else _Place()
            if not place.written:
                return zeros_of(self.dtype, self._shape_at(index))
            if place.value is None:
                raise InvalidArgumentError(
                    f"element {index} of {self.name!r} has been read already and was let go",
                    do="make the array with clear_after_read=False",
                )
            value, place.read = place.value, True
            if self._clears:
                place.value = None
            return value

    def _shape_at(self, index: int) -> tuple[int, ...]:
        """The shape of an element that was never written."""
        array: TensorArray | None = self
        while array is not None:
            if index < len(array._places):
                found = array._places[index].shape
                if found is not None:
                    return found
            shape = array.element_shape
            if shape is not None and None not in shape:
                return tuple(d for d in shape if d is not None)
            array = array.primal
        raise InvalidArgumentError(
            f"element {index} of {self.name!r} was never written and its shape is not known",
            do="give the array an element_shape, or write the element first",
        )

    def close(self) -> None:
        """Lets all elements go; nothing can be done with the array any more."""
        with self._lock:
            self._closed = True
            self._places.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidArgumentError(f"{self.name!r} is closed")
