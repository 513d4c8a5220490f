"""Kernels of datasets and iterators."""

from __future__ import annotations

import itertools
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime.dtypes import Array, variant
from graphvm_runtime.errors import InvalidArgumentError, NotFoundError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.random import Stream, philox
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.kernels.state import resource_name
from graphvm_runtime.shapes import TensorType, is_compatible
from graphvm_runtime.values import dataset as datasets
from graphvm_runtime.values.dataset import Dataset, Run, Start, check_types
from graphvm_runtime.values.iterator import Iterator
from graphvm_runtime.values.resources import Step, wait_for

Done: TypeAlias = "Callable[[Any, Any], None]"

_HANDLE = b"iterator"


def types_of(node: Node) -> tuple[TensorType, ...]:
    """Types of the components of a node's elements."""
    types = node.attrs.get("output_types", node.attrs.get("Toutput_types"))
    return tuple(map(TensorType, types, node.attrs["output_shapes"]))


def _dataset(
    *ops: str, calls: str = "", nests: bool = False
) -> Callable[[Callable[..., Start]], Callable[..., Start]]:
    """Registers what begins the datasets of one or more ops, `start(node, *inputs)`.

    Args:
        *ops: the ops.
        calls: attribute with a function, which `start` gets before the inputs.
        nests: the function gives datasets; what they wait for is known only then.
    """

    def register(start: Callable[..., Start]) -> Callable[..., Start]:
        @kernel(*ops)
        def maker(node: Node) -> Kernel:
            types = types_of(node)
            places = _parents(node)

            keeps = tuple(range(len(node.inputs)))

            def dataset(inputs: tuple[Any, ...], functions: tuple[Run, ...] = ()) -> Dataset:
                parents = [Dataset.of(inputs[at]).waits for at in places]
                waits = nests or any(parents) or any(f.waits for f in functions)
                return Dataset(node.op.name, types, start(node, *functions, *inputs), waits)

            if not calls:
                return Kernel(lambda *inputs: dataset(inputs), keeps=keeps)

            def call(functions: tuple[Run], step: Step, *inputs: Any) -> Dataset:
                return dataset(inputs, functions)

            return Kernel(call, keeps=keeps, step=True, calls=(calls,))

        return start

    return register


def _parents(node: Node) -> tuple[int, ...]:
    """Which inputs are the datasets that elements come from; others are kept as they are."""
    groups = node.op.grouped(range(len(node.inputs)), node.attrs)
    pairs = zip(node.op.inputs, groups, strict=True)
    return tuple(at for arg, group in pairs if arg.dtype is variant for at in group)


@_dataset("TensorDataset")
def _tensors(node: Node, *parts: Any) -> Start:
    return datasets.given(parts)


@_dataset("TensorSliceDataset")
def _slices(node: Node, *parts: Array) -> Start:
    counts = {len(p) for p in parts if p.ndim}
    if len(counts) != 1 or any(not p.ndim for p in parts):
        shapes = ", ".join(str(list(p.shape)) for p in parts)
        raise InvalidArgumentError(f"components of shapes {shapes} have no slices in common")
    return datasets.slices(parts)


@_dataset("RangeDataset")
def _range(node: Node, start: Any, stop: Any, by: Any) -> Start:
    if not by:
        raise InvalidArgumentError("a range has a step other than zero")
    kind = types_of(node)[0].dtype.numpy.type
    return datasets.counted(int(start), int(stop), int(by), kind)


@_dataset("MapDataset", calls="f")
def _map(node: Node, function: Run, parent: Dataset, *captured: Any) -> Start:
    return datasets.mapped(parent, function, captured, node.attrs["preserve_cardinality"])


@_dataset("ParallelMapDataset", "ParallelMapDatasetV2", calls="f")
def _parallel_map(node: Node, function: Run, parent: Dataset, *more: Any) -> Start:
    *captured, calls = more
    if calls < 1 and calls != -1:
        raise InvalidArgumentError(f"num_parallel_calls is 1 or more, or -1, got {calls}")
    return _map(node, function, parent, *captured)


@_dataset("FilterDataset", calls="predicate")
def _filter(node: Node, function: Run, parent: Dataset, *captured: Any) -> Start:
    return datasets.filtered(parent, function, captured)


@_dataset("FlatMapDataset", calls="f", nests=True)
def _flat_map(node: Node, function: Run, parent: Dataset, *captured: Any) -> Start:
    return datasets.flat_mapped(parent, function, captured)


@_dataset("InterleaveDataset", calls="f", nests=True)
def _interleave(node: Node, function: Run, parent: Dataset, *more: Any) -> Start:
    *captured, width, length = more
    if width == -1:  # as many as this machine can do at a time
        width = os.cpu_count() or 1
    if width < 1 or length < 1:
        raise InvalidArgumentError(
            f"cycle_length and block_length are 1 or more, got {width} and {length}"
        )
    return datasets.interleaved(parent, function, tuple(captured), int(width), int(length))


def _batch_size(size: Any) -> int:
    if size < 1:
        raise InvalidArgumentError(f"a batch has one element or more, not {size}")
    return int(size)


@_dataset("BatchDataset", "BatchDatasetV2")
def _batch(node: Node, parent: Dataset, size: Any, whole: Any = False) -> Start:
    return datasets.batched(parent, _batch_size(size), bool(whole))


@_dataset("PaddedBatchDatasetV2")
def _padded_batch(node: Node, parent: Dataset, size: Any, *more: Any) -> Start:
    *inner, whole = more
    count = node.attrs["N"]
    shapes, fillers = inner[:count], inner[count:]
    if len(fillers) != count or len(parent.types) != count:
        raise InvalidArgumentError(
            f"{len(parent.types)} components, {count} shapes and {len(fillers)} values to fill "
            "up with"
        )
    return datasets.padded_batches(parent, _batch_size(size), bool(whole), shapes, fillers)


@_dataset("RepeatDataset")
def _repeat(node: Node, parent: Dataset, count: Any) -> Start:
    return datasets.repeated(parent, int(count))


@_dataset("TakeDataset")
def _take(node: Node, parent: Dataset, count: Any) -> Start:
    return datasets.first(parent, int(count))


@_dataset("SkipDataset")
def _skip(node: Node, parent: Dataset, count: Any) -> Start:
    return datasets.rest(parent, int(count))


@_dataset("ShardDataset")
def _shard(node: Node, parent: Dataset, count: Any, index: Any) -> Start:
    if count < 1 or not 0 <= index < count:
        raise InvalidArgumentError(f"there is no shard {index} of {count}")
    return datasets.sharded(parent, int(count), int(index))


def _numbers(seed: int, seed2: int) -> Callable[[], int]:
    """One after the other the words of a stream of random bits."""
    stream = Stream(seed, seed2)
    blocks = itertools.count()
    waiting: list[int] = []

    def following() -> int:
        if not waiting:
            words = philox(stream.key, stream.first, np.arange(1) + next(blocks))
            waiting.extend(words[0].tolist()[::-1])
        return waiting.pop()

    return following


@_dataset("ShuffleDataset")
def _shuffle(node: Node, parent: Dataset, room: Any, seed: Any, seed2: Any) -> Start:
    if room < 1:
        raise InvalidArgumentError(f"buffer_size is 1 or more, got {room}")
    given = int(seed), int(seed2)
    if given == (0, 0):
        given = secrets.randbits(63), secrets.randbits(63)
    seeds, lock = _numbers(*given), threading.Lock()
    anew: bool = node.attrs["reshuffle_each_iteration"]

    def draw() -> Callable[[], int]:
        if not anew:
            return _numbers(*given)
        with lock:
            return _numbers(seeds(), seeds())

    return datasets.shuffled(parent, int(room), draw)


@_dataset("ZipDataset")
def _zip(node: Node, *parents: Dataset) -> Start:
    return datasets.zipped(parents)


@_dataset("ConcatenateDataset")
def _concatenate(node: Node, one: Dataset, other: Dataset) -> Start:
    for each in (one, other):
        check_types("the joined dataset", types_of(node), each.types)
    return datasets.joined(one, other)


@_dataset("PrefetchDataset")
def _prefetch(node: Node, parent: Dataset, size: Any) -> Start:
    if size < -1:
        raise InvalidArgumentError(f"buffer_size is 0 or more, or -1, got {size}")
    return parent.start  # what it gives does not depend on when it is computed


@kernel("Iterator", "IteratorV2")
def _iterator(node: Node) -> Kernel:
    container, name = resource_name(node)
    types = types_of(node)

    def call(step: Step) -> Iterator:
        made = step.resources.find_or_make(
            Iterator, container, name, lambda: Iterator(container, name, types)
        )
        check_types(f"iterator {name!r}", made.types, types)
        return made

    return Kernel(call, step=True)


@kernel("OneShotIterator")
def _one_shot(node: Node) -> Kernel:
    container, name = resource_name(node)
    types = types_of(node)

    def call(functions: tuple[Run], step: Step) -> Iterator:
        made = step.resources.find_or_make(
            Iterator, container, name, lambda: Iterator(container, name, types)
        )
        made.begin_once(step, lambda: functions[0](step))
        return made

    return Kernel(call, step=True, calls=("dataset_factory",))


@kernel("MakeIterator")
def _make_iterator(node: Node) -> Kernel:
    def call(step: Step, dataset: Any, iterator: Iterator) -> None:
        iterator.begin(step, Dataset.of(dataset))

    return Kernel(call, step=True)


@kernel("IteratorGetNext", "IteratorGetNextSync")
def _get_next(node: Node) -> Kernel:
    types = types_of(node)

    def ask(step: Step, done: Done, iterator: Iterator, apart: bool) -> None:
        def found(element: Any, error: Exception | None) -> None:
            if error is None:
                try:
                    _check_element(element, types)
                except InvalidArgumentError as wrong:
                    error = wrong
                element = element[0] if len(types) == 1 else element
            done(element, error)

        check_types(f"iterator {iterator.name!r}", types, iterator.types)
        iterator.ask(step, found, apart)

    def start(step: Step, done: Done, iterator: Iterator) -> None:
        ask(step, done, iterator, apart=True)

    def call(step: Step, iterator: Iterator) -> Any:
        # this thread waits in any case
        return wait_for(step, lambda done: ask(step, done, iterator, apart=False))

    return Kernel(call, step=True, borrowed=True, start=start)


def _check_element(element: Sequence[Any], types: Sequence[TensorType]) -> None:
    if len(element) != len(types):
        raise InvalidArgumentError(
            f"the next element has {len(element)} components, not {len(types)}"
        )
    for place, (value, want) in enumerate(zip(element, types, strict=True)):
        if not is_compatible(want.shape, np.shape(value)):
            raise InvalidArgumentError(
                f"component {place} of the next element is of shape {list(np.shape(value))}, "
                f"not {want}"
            )


@kernel("IteratorToStringHandle")
def _to_string(node: Node) -> Callable[..., Any]:
    return lambda iterator: as_strings(
        b"\0".join((_HANDLE, iterator.container.encode(), iterator.name.encode()))
    )


@kernel("IteratorFromStringHandle", "IteratorFromStringHandleV2")
def _from_string(node: Node) -> Kernel:
    types: tuple[TensorType, ...] = ()
    if node.attrs["output_types"]:
        shapes = node.attrs["output_shapes"] or (None,) * len(node.attrs["output_types"])
        types = tuple(map(TensorType, node.attrs["output_types"], shapes))

    def call(step: Step, handle: Any) -> Iterator:
        text: bytes = handle.item() if isinstance(handle, np.ndarray) else handle
        parts = text.split(b"\0")
        if len(parts) != 3 or parts[0] != _HANDLE:
            raise InvalidArgumentError(f"{text!r} is no handle of an iterator")
        found = step.resources.find(
            Iterator,
            parts[1].decode(errors="surrogateescape"),
            parts[2].decode(errors="surrogateescape"),
        )
        if found is None:
            raise NotFoundError(
                f"the session has no iterator {parts[2].decode(errors='surrogateescape')!r}"
            )
        check_types(f"iterator {found.name!r}", types, found.types)
        return found

    return Kernel(call, step=True)
