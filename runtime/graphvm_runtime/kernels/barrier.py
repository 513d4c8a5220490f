"""Kernels of barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.kernels.state import resource_name
from graphvm_runtime.shapes import TensorType, is_known
from graphvm_runtime.values.barrier import Barrier, Done
from graphvm_runtime.values.resources import Step, wait_for


@kernel("_Barrier")
def _barrier(node: Node) -> Kernel:
    container, name = resource_name(node)
    dtypes, shapes = node.attrs["component_types"], node.attrs["shapes"]

    def call(step: Step) -> Barrier:
        if len(shapes) != len(dtypes) or not all(map(is_known, shapes)):
            raise InvalidArgumentError("all components of a barrier have shapes, known whole")
        if node.attrs["capacity"] != -1:
            raise InvalidArgumentError("a barrier has no limit: its capacity is -1")
        types = tuple(map(TensorType, dtypes, shapes))
        found = step.resources.find_or_make(Barrier, container, name, lambda: Barrier(name, types))
        if found.types != types:
            raise InvalidArgumentError(
                f"barrier {name!r} holds {', '.join(map(str, found.types))}, not "
                f"{', '.join(map(str, types))}"
            )
        return found

    return Kernel(call, step=True)


@kernel("_BarrierInsertMany")
def _insert(node: Node) -> Kernel:
    place: int = node.attrs["component_index"]
    dtype = node.attrs["T"]

    def call(barrier: Barrier, keys: Array, values: Array) -> None:
        if not 0 <= place < len(barrier.types):
            raise InvalidArgumentError(
                f"barrier {barrier.name!r} has {len(barrier.types)} components, none at {place}"
            )
        want = barrier.types[place]
        if want.dtype is not dtype or keys.ndim != 1 or values.shape != (len(keys), *want.shape):  # type: ignore[misc]  # the shape is known whole
            raise InvalidArgumentError(
                f"component {place} of barrier {barrier.name!r} is {want} for each key, got "
                f"{dtype}{list(np.shape(values))} for keys of shape {list(keys.shape)}"
            )
        barrier.insert(place, keys.tolist(), values)

    return Kernel(call, keeps=(2,))


@kernel("_BarrierTakeMany")
def _take(node: Node) -> Kernel:
    dtypes = tuple(node.attrs["component_types"])
    fewer: bool = node.attrs["allow_small_batch"]
    if node.attrs["timeout_ms"] != -1:
        raise InvalidArgumentError("a barrier takes no time limit", do="give one to the run")

    def start(step: Step, done: Done, barrier: Barrier, count: Any) -> None:
        if tuple(t.dtype for t in Barrier.of(barrier).types) != dtypes:
            raise InvalidArgumentError(
                f"barrier {barrier.name!r} holds {', '.join(map(str, barrier.types))}, not "
                f"{', '.join(map(str, dtypes))}"
            )
        if np.ndim(count) or count < 0:
            raise InvalidArgumentError(f"a number of elements is 0 or more, got {count}")
        barrier.take(step, done, int(count), fewer)

    def call(step: Step, *inputs: Any) -> Any:
        return wait_for(step, lambda done: start(step, done, *inputs))

    return Kernel(call, step=True, start=start)


@kernel("_BarrierClose")
def _close(node: Node) -> Callable[..., Any]:
    cancel: bool = node.attrs["cancel_pending_enqueues"]
    return lambda barrier: Barrier.of(barrier).close(cancel)


plain("_BarrierReadySize", lambda barrier: np.int32(barrier.ready_size()))
plain("_BarrierIncompleteSize", lambda barrier: np.int32(barrier.incomplete_size()))
