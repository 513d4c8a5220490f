"""Kernels of datasets and iterators."""

from __future__ import annotations

import itertools
import os
import secrets
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime import datasets
from graphvm_runtime.datasets import Dataset, Iterator, Run, check_types
from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError, NotFoundError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.random import Stream, philox
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.kernels.state import resource_name
from graphvm_runtime.resources import Step
from graphvm_runtime.shapes import TensorType, is_compatible

_HANDLE = b"iterator"


def types_of(node: Node) -> tuple[TensorType, ...]:
    """Types of the components of a node's elements."""
    types = node.attrs.get("output_types", node.attrs.get("Toutput_types"))
    return tuple(map(TensorType, types, node.attrs["output_shapes"]))


def _whole(node: Node, call: Callable[..., Any], calls: str = "") -> Kernel:
    """The kernel of a dataset, which keeps all that it is given."""
    keeps = tuple(range(len(node.inputs)))
    return Kernel(call, keeps=keeps, step=bool(calls), calls=(calls,) if calls else ())


@kernel("TensorDataset")
def _tensors(node: Node) -> Kernel:
    types = types_of(node)
    return _whole(node, lambda *parts: Dataset("TensorDataset", types, datasets.given(parts)))


@kernel("TensorSliceDataset")
def _slices(node: Node) -> Kernel:
    types = types_of(node)

    def call(*parts: Array) -> Dataset:
        counts = {len(p) for p in parts if p.ndim}
        if len(counts) != 1 or any(not p.ndim for p in parts):
            shapes = ", ".join(str(list(p.shape)) for p in parts)
            raise InvalidArgumentError(f"components of shapes {shapes} have no slices in common")
        return Dataset("TensorSliceDataset", types, datasets.slices(parts))

    return _whole(node, call)


@kernel("RangeDataset")
def _range(node: Node) -> Kernel:
    types = types_of(node)
    kind = types[0].dtype.numpy.type

    def call(start: Any, stop: Any, by: Any) -> Dataset:
        if not by:
            raise InvalidArgumentError("a range has a step other than zero")
        numbers = datasets.counted(int(start), int(stop), int(by), kind)
        return Dataset("RangeDataset", types, numbers)

    return _whole(node, call)


@kernel("MapDataset")
def _map(node: Node) -> Kernel:
    types = types_of(node)

    def call(functions: tuple[Run], step: Step, parent: Dataset, *captured: Any) -> Dataset:
        made = datasets.mapped(parent, functions[0], captured, node.attrs["preserve_cardinality"])
        return Dataset("MapDataset", types, made)

    return _whole(node, call, "f")


@kernel("ParallelMapDataset", "ParallelMapDatasetV2")
def _parallel_map(node: Node) -> Kernel:
    types = types_of(node)

    def call(functions: tuple[Run], step: Step, parent: Dataset, *more: Any) -> Dataset:
        *captured, calls = more
        if calls < 1 and calls != -1:
            raise InvalidArgumentError(f"num_parallel_calls is 1 or more, or -1, got {calls}")
        made = datasets.mapped(
            parent, functions[0], tuple(captured), node.attrs["preserve_cardinality"]
        )
        return Dataset(node.op.name, types, made)

    return _whole(node, call, "f")


@kernel("FilterDataset")
def _filter(node: Node) -> Kernel:
    types = types_of(node)

    def call(functions: tuple[Run], step: Step, parent: Dataset, *captured: Any) -> Dataset:
        made = datasets.filtered(parent, functions[0], captured)
        return Dataset("FilterDataset", types, made)

    return _whole(node, call, "predicate")


@kernel("FlatMapDataset")
def _flat_map(node: Node) -> Kernel:
    types = types_of(node)

    def call(functions: tuple[Run], step: Step, parent: Dataset, *captured: Any) -> Dataset:
        made = datasets.flat_mapped(parent, functions[0], captured)
        return Dataset("FlatMapDataset", types, made)

    return _whole(node, call, "f")


@kernel("InterleaveDataset")
def _interleave(node: Node) -> Kernel:
    types = types_of(node)

    def call(functions: tuple[Run], step: Step, parent: Dataset, *more: Any) -> Dataset:
        *captured, width, length = more
        if width == -1:  # as many as this machine can do at a time
            width = os.cpu_count() or 1
        if width < 1 or length < 1:
            raise InvalidArgumentError(
                f"cycle_length and block_length are 1 or more, got {width} and {length}"
            )
        made = datasets.interleaved(parent, functions[0], tuple(captured), int(width), int(length))
        return Dataset("InterleaveDataset", types, made)

    return _whole(node, call, "f")


def _batch_size(size: Any) -> int:
    if size < 1:
        raise InvalidArgumentError(f"a batch has one element or more, not {size}")
    return int(size)


@kernel("BatchDataset", "BatchDatasetV2")
def _batch(node: Node) -> Kernel:
    types = types_of(node)

    def call(parent: Dataset, size: Any, whole: Any = False) -> Dataset:
        made = datasets.batched(parent, _batch_size(size), bool(whole))
        return Dataset(node.op.name, types, made)

    return _whole(node, call)


@kernel("PaddedBatchDatasetV2")
def _padded_batch(node: Node) -> Kernel:
    types = types_of(node)
    count = node.attrs["N"]

    def call(parent: Dataset, size: Any, *more: Any) -> Dataset:
        *inner, whole = more
        shapes, fillers = inner[:count], inner[count:]
        if len(fillers) != count or len(parent.types) != count:
            raise InvalidArgumentError(
                f"{len(parent.types)} components, {count} shapes and {len(fillers)} values to "
                "fill up with"
            )
        made = datasets.padded_batches(parent, _batch_size(size), bool(whole), shapes, fillers)
        return Dataset("PaddedBatchDatasetV2", types, made)

    return _whole(node, call)


@kernel("RepeatDataset")
def _repeat(node: Node) -> Kernel:
    types = types_of(node)

    def call(parent: Dataset, count: Any) -> Dataset:
        return Dataset("RepeatDataset", types, datasets.repeated(parent, int(count)))

    return _whole(node, call)


@kernel("TakeDataset")
def _take(node: Node) -> Kernel:
    types = types_of(node)

    def call(parent: Dataset, count: Any) -> Dataset:
        return Dataset("TakeDataset", types, datasets.first(parent, int(count)))

    return _whole(node, call)


@kernel("SkipDataset")
def _skip(node: Node) -> Kernel:
    types = types_of(node)

    def call(parent: Dataset, count: Any) -> Dataset:
        return Dataset("SkipDataset", types, datasets.rest(parent, int(count)))

    return _whole(node, call)


@kernel("ShardDataset")
def _shard(node: Node) -> Kernel:
    types = types_of(node)

    def call(parent: Dataset, count: Any, index: Any) -> Dataset:
        if count < 1 or not 0 <= index < count:
            raise InvalidArgumentError(f"there is no shard {index} of {count}")
        return Dataset("ShardDataset", types, datasets.sharded(parent, int(count), int(index)))

    return _whole(node, call)


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


@kernel("ShuffleDataset")
def _shuffle(node: Node) -> Kernel:
    types = types_of(node)
    anew: bool = node.attrs["reshuffle_each_iteration"]

    def call(parent: Dataset, room: Any, seed: Any, seed2: Any) -> Dataset:
        if room < 1:
            raise InvalidArgumentError(f"buffer_size is 1 or more, got {room}")
        given = int(seed), int(seed2)
        if given == (0, 0):
            given = secrets.randbits(63), secrets.randbits(63)
        seeds, lock = _numbers(*given), threading.Lock()

        def draw() -> Callable[[], int]:
            if not anew:
                return _numbers(*given)
            with lock:
                return _numbers(seeds(), seeds())

        return Dataset("ShuffleDataset", types, datasets.shuffled(parent, int(room), draw))

    return _whole(node, call)


@kernel("ZipDataset")
def _zip(node: Node) -> Kernel:
    types = types_of(node)
    return _whole(node, lambda *parents: Dataset("ZipDataset", types, datasets.zipped(parents)))


@kernel("ConcatenateDataset")
def _concatenate(node: Node) -> Kernel:
    types = types_of(node)

    def call(one: Dataset, other: Dataset) -> Dataset:
        for each in (one, other):
            check_types("the joined dataset", types, each.types)
        return Dataset("ConcatenateDataset", types, datasets.joined(one, other))

    return _whole(node, call)


@kernel("PrefetchDataset")
def _prefetch(node: Node) -> Kernel:
    types = types_of(node)

    def call(parent: Dataset, size: Any) -> Dataset:
        if size < -1:
            raise InvalidArgumentError(f"buffer_size is 0 or more, or -1, got {size}")
        # what it gives does not depend on when it is computed
        return Dataset("PrefetchDataset", types, parent.start)

    return _whole(node, call)


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
        if not isinstance(dataset, Dataset):
            raise InvalidArgumentError("an iterator goes through a dataset, not another variant")
        iterator.begin(step, dataset)

    return Kernel(call, step=True)


@kernel("IteratorGetNext", "IteratorGetNextSync")
def _get_next(node: Node) -> Kernel:
    types = types_of(node)

    def call(step: Step, iterator: Iterator) -> Any:
        check_types(f"iterator {iterator.name!r}", types, iterator.types)
        element = iterator.following(step)
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
        return element[0] if len(types) == 1 else element

    return Kernel(call, step=True, borrowed=True)


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
        found = step.resources.find(Iterator, parts[1].decode(), parts[2].decode())
        if found is None:
            raise NotFoundError(f"the session has no iterator {parts[2].decode()!r}")
        check_types(f"iterator {found.name!r}", types, found.types)
        return found

    return Kernel(call, step=True)
