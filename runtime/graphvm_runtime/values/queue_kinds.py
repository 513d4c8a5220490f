"""Kinds of queue besides the one that is first in, first out."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any

from graphvm_runtime.dtypes import Array
from graphvm_runtime.shapes import TensorType
from graphvm_runtime.values.resources import Queue


class PaddingQueue(Queue):
    """A queue whose elements may differ in size. Source: TF op `PaddingFIFOQueueV2`."""


class ShuffleQueue(Queue):
    """A queue that gives elements at random. Source: TF op `RandomShuffleQueueV2`.

    Args:
        name: of the resource.
        types: element type and shape of each component.
        capacity: how many elements fit in; less than one for any number.
        least: how many elements must stay in it while it is open.
        draw: gives the next random number of 32 bits.
    """

    def __init__(
        self,
        name: str,
        types: tuple[TensorType, ...],
        capacity: int,
        least: int,
        draw: Callable[[], int],
    ) -> None:
        super().__init__(name, types, capacity)
        self.least = least
        self._draw = draw

    def _pop(self) -> tuple[Array, ...]:
        place = self._draw() % len(self.items)
        self.items[place], self.items[-1] = self.items[-1], self.items[place]
        found: tuple[Array, ...] = self.items.pop()
        return found

    def _put_back(self, elements: list[tuple[Array, ...]]) -> None:
        self.items += elements

    def _available(self) -> int:
        return len(self.items) - (0 if self.closed else self.least)


class PriorityQueue(Queue):
    """A queue that gives elements by the number in front. Source: TF op `PriorityQueueV2`."""

    gathers = False  # of several, a later one may come before those that are there

    def __init__(self, name: str, types: tuple[TensorType, ...], capacity: int) -> None:
        super().__init__(name, types, capacity)
        self._serial = itertools.count()

    def _add(self, element: tuple[Array, ...]) -> None:
        heapq.heappush(self.items, (int(element[0]), next(self._serial), element))

    def _pop(self) -> tuple[Array, ...]:
        found: tuple[Array, ...] = heapq.heappop(self.items)[2]
        return found

    def _put_back(self, elements: list[tuple[Array, ...]]) -> None:
        for element in elements:
            self._add(element)


class StagingArea(Queue):
    """A queue that is limited in bytes too. Source: TF op `Stage`.

    Args:
        name: of the resource.
        capacity: how many elements fit in; 0 for any number.
        limit: how many bytes fit in; 0 for any number.
    """

    kind = "a staging area"

    def __init__(self, name: str, capacity: int, limit: int) -> None:
        super().__init__(name, (), capacity)
        self.limit = limit
        self._bytes = 0

    def _add(self, element: tuple[Array, ...]) -> None:
        self._bytes += size_of(element)
        super()._add(element)

    def _pop(self) -> tuple[Array, ...]:
        element = super()._pop()
        self._bytes -= size_of(element)
        return element

    def _put_back(self, elements: list[tuple[Array, ...]]) -> None:
        super()._put_back(elements)
        self._bytes += sum(map(size_of, elements))

    def _has_room(self, element: tuple[Array, ...]) -> bool:
        fits = not self.limit or self._bytes + size_of(element) <= self.limit
        return fits and super()._has_room(element)


def size_of(element: tuple[Any, ...]) -> int:
    """Bytes of all components."""
    return sum(component.nbytes for component in element)
