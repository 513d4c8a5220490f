"""Kernels of staging areas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import GraphvmError, InvalidArgumentError, ResourceExhaustedError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.kernels.state import resource_name
from graphvm_runtime.values.queue_kinds import StagingArea, size_of
from graphvm_runtime.values.resources import Step, wait_for

Done = Callable[[Any, GraphvmError | None], None]


def _area(node: Node) -> Callable[[Step], StagingArea]:
    """What finds the node's area: each op names it by itself, there is no handle."""
    container, name = resource_name(node)
    capacity, limit = node.attrs["capacity"], node.attrs["memory_limit"]

    def make() -> StagingArea:
        return StagingArea(name, capacity, limit)

    return lambda step: step.resources.find_or_make(StagingArea, container, name, make)


@kernel("Stage")
def _stage(node: Node) -> Kernel:
    area_of = _area(node)

    def start(step: Step, done: Done, *values: Array) -> None:
        area = area_of(step)
        if area.limit and size_of(values) > area.limit:
            raise ResourceExhaustedError(
                f"an element of staging area {area.name!r} must have at most {area.limit} bytes, "
                f"got {size_of(values)}"
            )
        area.put(step, done, [values])

    def call(step: Step, *values: Array) -> None:
        wait_for(step, lambda done: start(step, done, *values))

    return Kernel(call, step=True, keeps=tuple(range(len(node.inputs))), start=start)


@kernel("Unstage")
def _unstage(node: Node) -> Kernel:
    area_of = _area(node)
    dtypes = tuple(d.numpy for d in node.attrs["dtypes"])

    def start(step: Step, done: Done) -> None:
        area = area_of(step)

        def taken(elements: Any, error: GraphvmError | None) -> None:
            if error is not None:
                done(None, error)
                return
            (element,) = elements
            if tuple(part.dtype for part in element) != dtypes:
                got = InvalidArgumentError(
                    f"an element of staging area {area.name!r} must be of {list(map(str, dtypes))}"
                    f", got {[str(part.dtype) for part in element]}"
                )
                done(None, got)
            else:
                done(element[0] if len(dtypes) == 1 else element, None)

        area.take(step, taken, 1)

    def call(step: Step) -> Any:
        return wait_for(step, lambda done: start(step, done))

    return Kernel(call, step=True, start=start)


@kernel("StageSize")
def _size(node: Node) -> Kernel:
    area_of = _area(node)
    return Kernel(lambda step: np.int32(area_of(step).size()), step=True)
