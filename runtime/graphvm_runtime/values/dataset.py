"""Datasets: descriptions of sequences of elements.

A dataset never changes. Starting it gives a source, a function of the step that gives the next
element, or None at the end; the step is that of whoever asks, since elements may be computed by
functions of the graph. An element is a tuple of arrays, one a component.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import (
    DataLossError,
    InvalidArgumentError,
    OutOfRangeError,
)
from graphvm_runtime.shapes import TensorType, is_compatible
from graphvm_runtime.values.handle_value import Variant
from graphvm_runtime.values.resources import Step

Element: TypeAlias = "tuple[Any, ...]"
Source: TypeAlias = "Callable[[Step], Element | None]"
Start: TypeAlias = "Callable[[Step], Source]"


class Run(Protocol):
    """A function of the graph."""

    @property
    def waits(self) -> bool:
        """Whether it may wait for another op, step or process."""

    def __call__(self, step: Step, *inputs: Any) -> Sequence[Any]:
        """Its results."""


class Dataset(Variant):
    """A sequence of elements that can be gone through any number of times.

    Args:
        name: what it is, for messages.
        types: of the components.
        start: `start(step)` begins to go through it, without waiting for anything.
        waits: whether the next element may have to wait for another op, step or process.
    """

    __slots__ = ("name", "start", "types", "waits")

    kind = "a dataset"

    def __init__(
        self, name: str, types: tuple[TensorType, ...], start: Start, waits: bool = False
    ) -> None:
        self.name = name
        self.types = types
        self.start = start
        self.waits = waits

    def __repr__(self) -> str:
        return f"<{self.name} of {', '.join(map(str, self.types))}>"


def given(components: Element) -> Start:
    """One element."""
    return lambda step: _listed(iter([components]))


def _listed(elements: Any) -> Source:
    return lambda step: next(elements, None)


def slices(components: Sequence[Array]) -> Start:
    """The parts of arrays along their first axis."""
    count = len(components[0])
    return lambda step: _listed(tuple(c[i, ...] for c in components) for i in range(count))


def counted(first: int, end: int, by: int, dtype: Any) -> Start:
    """Numbers as those of `range`."""
    return lambda step: _listed((dtype(i),) for i in range(first, end, by))


def mapped(parent: Dataset, function: Run, captured: Element, keeps_count: bool = False) -> Start:
    """What a function gives for each element.

    Args:
        parent: where elements come from.
        function: may end the sequence early, by OutOfRangeError.
        captured: further inputs of the function.
        keeps_count: the function must not do that.
    """

    def start(step: Step) -> Source:
        source = parent.start(step)

        def following(step: Step) -> Element | None:
            element = source(step)
            if element is None:
                return None
            try:
                return tuple(function(step, *element, *captured))
            except OutOfRangeError as error:
                if keeps_count:
                    raise InvalidArgumentError(
                        f"the function ended a sequence whose length is known: {error.what}"
                    ) from error
                return None

        return following

    return start


def filtered(parent: Dataset, function: Run, captured: Element) -> Start:
    """The elements for which a function gives true."""

    def start(step: Step) -> Source:
        source = parent.start(step)

        def following(step: Step) -> Element | None:
            while True:
                step.cancel.check()
                element = source(step)
                if element is None:
                    return None
                (keep,) = function(step, *element, *captured)
                if np.ndim(keep):
                    raise InvalidArgumentError("a predicate gives one bool")
                if keep:
                    return element

        return following

    return start


def flat_mapped(parent: Dataset, function: Run, captured: Element) -> Start:
    """The elements of the datasets that a function gives, one dataset after the other."""

    def start(step: Step) -> Source:
        source = parent.start(step)
        inner: Source | None = None

        def following(step: Step) -> Element | None:
            nonlocal inner
            while True:
                step.cancel.check()
                if inner is None:
                    element = source(step)
                    if element is None:
                        return None
                    inner = dataset_of(function(step, *element, *captured)).start(step)
                found = inner(step)
                if found is not None:
                    return found
                inner = None

        return following

    return start


def interleaved(
    parent: Dataset, function: Run, captured: Element, width: int, length: int
) -> Start:
    """The elements of the datasets that a function gives, taking turns.

    Args:
        parent: its elements make the datasets.
        function: makes a dataset of an element.
        captured: further inputs of the function.
        width: how many datasets take turns.
        length: how many elements each gives in its turn.
    """

    def start(step: Step) -> Source:
        source = parent.start(step)
        open_: list[Source | None] = [None] * width
        at = taken = 0
        ended = False

        def following(step: Step) -> Element | None:
            nonlocal at, taken, ended
            while not ended or any(each is not None for each in open_):
                step.cancel.check()
                inner = open_[at]
                if inner is not None:
                    found = inner(step)
                    if found is not None:
                        taken += 1
                        if taken == length:
                            at, taken = (at + 1) % width, 0
                        return found
                    open_[at] = None
                elif not ended:
                    element = source(step)
                    if element is None:
                        ended = True
                    else:
                        open_[at] = dataset_of(function(step, *element, *captured)).start(step)
                        continue
                at, taken = (at + 1) % width, 0
            return None

        return following

    return start


def batched(parent: Dataset, size: int, whole: bool) -> Start:
    """Elements put together, `size` at a time; a last one of fewer is left out if `whole`."""
    return _in_rows(parent, size, whole, _stacked)


def _in_rows(
    parent: Dataset, size: int, whole: bool, together: Callable[[int, Sequence[Any]], Array]
) -> Start:
    """Batches, each component of which `together(place, parts)` makes of those of elements."""

    def start(step: Step) -> Source:
        source = parent.start(step)
        ended = False

        def following(step: Step) -> Element | None:
            nonlocal ended
            rows: list[Element] = []
            while len(rows) < size and not ended:
                element = source(step)
                if element is None:
                    ended = True
                else:
                    rows.append(element)
            if not rows or (whole and len(rows) < size):
                return None
            return tuple(together(i, part) for i, part in enumerate(zip(*rows, strict=True)))

        return following

    return start


def _stacked(place: int, parts: Sequence[Any]) -> Array:
    first = np.shape(parts[0])
    for part in parts:
        if np.shape(part) != first:
            raise InvalidArgumentError(
                f"component {place} of a batch has the shape {list(first)} in its first element "
                f"and {list(np.shape(part))} in another"
            )
        if not hasattr(part, "dtype"):
            raise InvalidArgumentError(f"component {place} of a batch is no array")
    return np.stack(parts)


def padded_batches(
    parent: Dataset, size: int, whole: bool, shapes: Sequence[Array], fillers: Sequence[Any]
) -> Start:
    """Elements put together, each component filled up to a shape.

    Args:
        parent: where elements come from.
        size: of a batch.
        whole: leave a last one of fewer out.
        shapes: of each component; -1 for as much as the largest in the batch needs.
        fillers: what each component is filled up with.
    """

    def together(place: int, parts: Sequence[Any]) -> Array:
        return _padded(place, parts, shapes[place], fillers[place])

    return _in_rows(parent, size, whole, together)


def _padded(place: int, parts: Sequence[Any], shape: Array, filler: Any) -> Array:
    rank = len(shape)
    for part in parts:
        if np.ndim(part) != rank:
            raise InvalidArgumentError(
                f"component {place} has rank {np.ndim(part)}, and is to be filled up to rank {rank}"
            )
    full = []
    for axis, size in enumerate(np.asarray(shape).tolist()):
        most = max(part.shape[axis] for part in parts)
        if size >= 0 and most > size:
            raise DataLossError(
                f"component {place} has {most} elements on axis {axis}, and is to be filled up "
                f"to {size}"
            )
        full.append(most if size < 0 else size)
    out = np.empty((len(parts), *full), np.asarray(parts[0]).dtype)
    out[...] = filler.item() if isinstance(filler, np.ndarray) else filler
    for row, part in zip(out, parts, strict=True):
        if rank:
            row[tuple(slice(0, n) for n in part.shape)] = part
    if not rank:
        out[...] = np.stack(parts)
    return out


def repeated(parent: Dataset, count: int) -> Start:
    """All elements again and again; for ever where the count is negative."""

    def start(step: Step) -> Source:
        source: Source | None = None
        left = count

        def following(step: Step) -> Element | None:
            nonlocal source, left
            while left:
                step.cancel.check()
                fresh = source is None
                if source is None:
                    source = parent.start(step)
                element = source(step)
                if element is not None:
                    return element
                source = None
                if count >= 0:
                    left -= 1
                elif fresh:  # nothing, for ever
                    left = 0
            return None

        return following

    return start


def first(parent: Dataset, count: int) -> Start:
    """The first elements; all of them where the count is negative."""

    def start(step: Step) -> Source:
        source = parent.start(step)
        left = count

        def following(step: Step) -> Element | None:
            nonlocal left
            if not left:
                return None
            element = source(step)
            left = 0 if element is None else left - 1 if left > 0 else left
            return element

        return following

    return start


def rest(parent: Dataset, count: int) -> Start:
    """All but the first elements; none where the count is negative."""

    def start(step: Step) -> Source:
        if count < 0:
            return lambda step: None
        source = parent.start(step)
        left = count

        def following(step: Step) -> Element | None:
            nonlocal left
            while left:
                step.cancel.check()
                if source(step) is None:
                    return None
                left -= 1
            return source(step)

        return following

    return start


def sharded(parent: Dataset, count: int, index: int) -> Start:
    """Every `count`th element, beginning with the one at `index`."""

    def start(step: Step) -> Source:
        source = rest(parent, index)(step)
        begun = False

        def following(step: Step) -> Element | None:
            nonlocal begun
            if begun:
                for _ in range(count - 1):
                    if source(step) is None:
                        return None
            begun = True
            return source(step)

        return following

    return start


def zipped(parents: Sequence[Dataset]) -> Start:
    """Elements side by side, as long as each has one."""

    def start(step: Step) -> Source:
        sources = [parent.start(step) for parent in parents]
        ended = False

        def following(step: Step) -> Element | None:
            nonlocal ended
            out: list[Any] = []
            for source in sources:
                element = None if ended else source(step)
                if element is None:
                    ended = True
                    return None
                out.extend(element)
            return tuple(out)

        return following

    return start


def joined(one: Dataset, other: Dataset) -> Start:
    """The elements of one, then those of the other."""

    def start(step: Step) -> Source:
        waiting = [other]
        source = one.start(step)

        def following(step: Step) -> Element | None:
            nonlocal source
            while True:
                element = source(step)
                if element is not None or not waiting:
                    return element
                source = waiting.pop().start(step)

        return following

    return start


def shuffled(parent: Dataset, room: int, draw: Callable[[], Callable[[], int]]) -> Start:
    """Elements in another order: each is drawn from as many as there is room for.

    Args:
        parent: where elements come from.
        room: how many elements wait to be drawn; as in TensorFlow, they lie in a ring.
        draw: gives, each time the dataset is begun, what gives numbers of 32 bits.
    """

    def start(step: Step) -> Source:
        source = parent.start(step)
        number = draw()
        ring: list[Element | None] = []
        begin = end = 0
        ended = False

        def following(step: Step) -> Element | None:
            nonlocal begin, end, ended
            while not ended and end - begin < room:
                step.cancel.check()
                element = source(step)
                if element is None:
                    ended = True
                elif len(ring) < room:
                    ring.append(element)
                    end += 1
                else:
                    ring[end % room] = element
                    end += 1
            if begin == end:
                return None
            at, front = (begin + number() % (end - begin)) % room, begin % room
            found = ring[at]
            ring[at], ring[front] = ring[front], None
            begin += 1
            return found

        return following

    return start


def dataset_of(results: Sequence[Any]) -> Dataset:
    """The dataset that a function gave. Raises InvalidArgumentError where it gave another."""
    (found,) = results
    return Dataset.of(found)


def check_types(what: str, want: Sequence[TensorType], given: Sequence[TensorType]) -> None:
    """Raises InvalidArgumentError where components differ in number, type or shape."""
    if not want:
        return
    if len(want) != len(given):
        raise InvalidArgumentError(f"{what} has {len(want)} components, not {len(given)}")
    for place, (w, g) in enumerate(zip(want, given, strict=True)):
        if w.dtype is not g.dtype or not is_compatible(w.shape, g.shape):
            raise InvalidArgumentError(f"component {place} of {what} is {w}, not {g}")
