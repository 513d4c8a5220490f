"""Persistent lists of tensors: the values behind `TensorList*` ops."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime.dtypes import Array, DType, resource, string, variant
from graphvm_runtime.errors import InvalidArgumentError, ShapeError
from graphvm_runtime.shapes import Shape, is_compatible, merged, shape_text
from graphvm_runtime.values.handle_value import Variant

Element: TypeAlias = Any  # an array, a NumPy scalar, or a list where the lists are nested

_FAR = 16  # changes that a reader looks through before it takes a copy of its own
_JOURNAL = 64  # changes kept for older versions, or as many as the list has elements

# what undoes a change: the element that was at an index, or nothing where it was a push
_Undo: TypeAlias = "tuple[int, Element | None] | None"


class _Cells:
    """What the versions of a list share: the elements of the newest, the way back to older ones."""

    __slots__ = (
        "dtype", "element_shape", "elements", "journal", "limit", "lock", "numpy", "older",
        "serial",
    )  # fmt: skip

    def __init__(
        self,
        dtype: DType,
        element_shape: Shape,
        limit: int,
        elements: list[Element | None],
        lock: threading.Lock,
    ) -> None:
        self.dtype = dtype
        self.numpy = dtype.numpy
        self.element_shape = element_shape
        self.limit = limit
        self.elements = elements
        self.serial = 0  # of the newest version; each change counts one
        self.journal: list[_Undo] = []  # of the last changes, oldest first
        self.older: list[weakref.ref[TensorList]] = []  # versions that may need it
        self.lock = lock  # one for all that were ever one list


class TensorList(Variant):
    """A list that never changes; `pushed`, `popped` and `replaced` give new versions.

    The versions of a list share one Python list, which is as the newest has it, and a journal of
    what undoes the last changes for those older ones that somebody still holds. So a push, a pop
    and a write to the newest version take constant time on average, whoever holds older ones, and
    what nobody can reach is let go. Thread-safe.

    Args:
        dtype: type of the elements.
        element_shape: what is known of the shape of each of them.
        elements: what it has at first, None where an element is not set.
        limit: most elements, -1 for any number.

    Source: TF op family `TensorList*`.
    """

    __slots__ = ("__weakref__", "_cells", "_length", "_serial")

    kind = "a tensor list"

    def __init__(
        self,
        dtype: DType,
        element_shape: Shape,
        elements: Iterable[Element | None] = (),
        limit: int = -1,
    ) -> None:
        cells = list(elements)
        self._cells = _Cells(dtype, element_shape, limit, cells, threading.Lock())
        self._length = len(cells)
        self._serial = 0

    @property
    def dtype(self) -> DType:
        """Type of the elements."""
        return self._cells.dtype

    @property
    def element_shape(self) -> Shape:
        """What is known of the shape of each element."""
        return self._cells.element_shape

    @property
    def limit(self) -> int:
        """Most elements that it takes, -1 for any number."""
        return self._cells.limit

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"<TensorList of {self._length} {self.dtype}{shape_text(self.element_shape)}>"

    def pushed(self, element: Element) -> TensorList:
        """This list with one more element, which it keeps.

        Raises:
            InvalidArgumentError: the list is full, or the element does not fit.
        """
        cells = self._cells
        if self._length >= cells.limit >= 0:
            raise InvalidArgumentError(
                f"the list is full: it has {self._length} elements of {cells.limit}"
            )
        self._check(element)
        with cells.lock:
            if cells.serial != self._serial or cells is not self._cells:
                cells = self._newest()
            cells.elements.append(element)
            return self._succeeded(cells, None)

    def popped(self) -> tuple[TensorList, Element | None]:
        """This list without its last element, and the element, None where it was never set.

        Raises:
            InvalidArgumentError: the list is empty.
        """
        if not self._length:
            raise InvalidArgumentError("the list is empty: nothing to pop")
        with self._cells.lock:
            cells = self._newest()
            element = cells.elements.pop()
            return self._succeeded(cells, (self._length - 1, element)), element

    def replaced(self, index: int, element: Element, resize: bool = False) -> TensorList:
        """This list with another element at `index`, made longer for it where `resize` says so.

        Raises:
            InvalidArgumentError: there is no such index, or the element does not fit.
        """
        self._check(element)
        if resize and index >= self._length:
            longer = [*self._snapshot(), *[None] * (index + 1 - self._length)]
            longer[index] = element
            return TensorList(self.dtype, self.element_shape, longer, self.limit)
        self._check_index(index)
        with self._cells.lock:
            cells = self._newest()
            old, cells.elements[index] = cells.elements[index], element
            return self._succeeded(cells, (index, old))

    def resized(self, size: int) -> TensorList:
        """This list with elements left out at the end, or with some more that are not set."""
        if size == self._length:
            return self
        kept = self._snapshot()[:size]
        kept.extend([None] * (size - len(kept)))
        return TensorList(self.dtype, self.element_shape, kept, self.limit)

    def element(self, index: int) -> Element | None:
        """The element at `index`, None where it was never set.

        Raises:
            InvalidArgumentError: there is no such index.
        """
        self._check_index(index)
        with self._cells.lock:
            cells = self._cells
            behind = cells.serial - self._serial
            if not behind:
                return cells.elements[index]
            if behind > _FAR:
                cells = self._newest()
            else:
                for undo in cells.journal[-behind:]:
                    if undo is not None and undo[0] == index:
                        return undo[1]
            return cells.elements[index]

    def elements(self) -> list[Element | None]:
        """All elements, None where one was never set."""
        return self._snapshot()

    def zeros(self) -> TensorList:
        """A list of zeros of the same shapes. Source: TF op `ZerosLike`."""

        def zero(element: Element | None) -> Element | None:
            if element is None:
                return None
            if isinstance(element, TensorList):
                return element.zeros()
            return zeros_of(self.dtype, element.shape)

        return TensorList(self.dtype, self.element_shape, map(zero, self._snapshot()), self.limit)

    def added(self, other: TensorList) -> TensorList:
        """Sums of the elements of both. Source: TF op `AddN`.

        Raises:
            InvalidArgumentError: they differ in type or length.
        """
        if self.dtype is not other.dtype or self._length != len(other):
            raise InvalidArgumentError(f"cannot add {self!r} and {other!r}")

        def total(a: Element | None, b: Element | None) -> Element | None:
            if a is None or b is None:
                return b if a is None else a
            return a.added(b) if isinstance(a, TensorList) else np.add(a, b)

        pairs = zip(self._snapshot(), other._snapshot(), strict=True)
        shape = self.element_shape if self.element_shape is not None else other.element_shape
        return TensorList(self.dtype, shape, [total(a, b) for a, b in pairs], self.limit)

    # ------------------------------------------------------------------ versions, under the lock

    def _newest(self) -> _Cells:
        """The cells, this being their newest version; an older one takes a copy of its own."""
        cells = self._cells
        behind = cells.serial - self._serial
        if behind:
            elements = list(cells.elements)
            for undo in reversed(cells.journal[-behind:]):
                if undo is None:
                    elements.pop()
                elif undo[0] == len(elements):
                    elements.append(undo[1])
                else:
                    elements[undo[0]] = undo[1]
            cells = self._cells = _Cells(
                cells.dtype, cells.element_shape, cells.limit, elements, cells.lock
            )
            self._serial = 0
        return cells

    def _succeeded(self, cells: _Cells, undo: _Undo) -> TensorList:
        """The version after this one, which was the newest until the cells were changed."""
        older, journal = cells.older, cells.journal
        while older and older[-1]() is None:
            older.pop()
        if not older:
            journal.clear()
        journal.append(undo)
        older.append(weakref.ref(self))
        cells.serial += 1
        newer: TensorList = TensorList.__new__(TensorList)
        newer._cells = cells
        newer._length = len(cells.elements)
        newer._serial = cells.serial
        if len(journal) > max(_JOURNAL, len(cells.elements)):
            for reference in older:
                version = reference()
                if version is not None:
                    version._newest()
            older.clear()
            journal.clear()
        return newer

    def _snapshot(self) -> list[Element | None]:
        with self._cells.lock:
            return list(self._newest().elements)

    # ------------------------------------------------------------------------------------ checks

    def _check_index(self, index: int) -> None:
        if not 0 <= index < self._length:
            raise InvalidArgumentError(f"element {index} of a list that has {self._length}")

    def _check(self, element: Element) -> None:
        cells = self._cells
        if type(element) is TensorList:
            if self.dtype is not variant:
                raise InvalidArgumentError(f"a list in a list of {self.dtype.name}")
            return
        if self.dtype is resource:
            return
        if element.dtype is not cells.numpy and element.dtype != cells.numpy:
            raise InvalidArgumentError(
                f"an element of {element.dtype} in a list of {self.dtype.name}"
            )
        shape = cells.element_shape
        if shape is not None and shape != element.shape and not is_compatible(shape, element.shape):
            raise InvalidArgumentError(
                f"an element of shape {list(element.shape)} in a list of elements "
                f"{shape_text(shape)}"
            )


def zeros_of(dtype: DType, shape: tuple[int, ...]) -> Array:
    """An array of zeros, or of empty strings."""
    if dtype is string:
        empty = np.empty(shape, object)
        empty[...] = b""
        return empty
    return np.zeros(shape, dtype.numpy)


def shape_of_elements(held: Shape, asked: Shape, elements: Iterable[Element | None]) -> Shape:
    """What the list, the reader and the elements together say of the shape of each element.

    Raises:
        InvalidArgumentError: they contradict each other.
    """
    try:
        shape = merged(held, asked)
        for element in elements:
            if element is not None:
                shape = merged(shape, element.shape)
    except ShapeError as error:
        raise InvalidArgumentError(f"elements of a list differ: {error.what}") from None
    return shape


def stacked(elements: list[Element | None], dtype: DType, shape: Shape) -> Array:
    """All elements as one array with a new first axis, zeros where one was never set.

    Raises:
        InvalidArgumentError: the shape of an element is needed and not known.
    """
    given = [e for e in elements if e is not None]
    if len(given) < len(elements) or not given:
        if shape is None or None in shape:
            raise InvalidArgumentError(
                f"elements that were never set have the unknown shape {shape_text(shape)}",
                do="give the list an element shape",
            )
        known = tuple(d for d in shape if d is not None)
        if not given:
            return zeros_of(dtype, (len(elements), *known))
        zero = zeros_of(dtype, known)
        given = [zero if e is None else e for e in elements]
    if dtype is not string and (not shape or given[0].size < 64):
        return np.array(given, dtype.numpy)
    return np.stack(given)
