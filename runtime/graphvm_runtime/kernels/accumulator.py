"""Kernels of accumulators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import GraphvmError, InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.kernels.state import resource_name
from graphvm_runtime.shapes import TensorType
from graphvm_runtime.values.accumulator import Accumulator
from graphvm_runtime.values.resources import Step, wait_for

Done = Callable[[Any, GraphvmError | None], None]


@kernel("ResourceConditionalAccumulator")
def _accumulator(node: Node) -> Kernel:
    container, name = resource_name(node)
    type_ = TensorType(node.attrs["dtype"].base, node.attrs["shape"])
    is_mean = node.attrs["reduction_type"] == b"MEAN"

    def make() -> Accumulator:
        return Accumulator(name, type_, is_mean)

    def call(step: Step) -> Accumulator:
        found = step.resources.find_or_make(Accumulator, container, name, make)
        if (found.type, found.is_mean) != (type_, is_mean):
            raise InvalidArgumentError(
                f"accumulator {name!r} must be of one type and reduction, got {type_} for {found!r}"
            )
        return found

    return Kernel(call, step=True)


def _checked(accumulator: Any, dtype: DType) -> Accumulator:
    found = Accumulator.of(accumulator)
    if found.type.dtype is not dtype:
        raise InvalidArgumentError(f"a gradient must be of the type of {found!r}, got {dtype.name}")
    return found


@kernel("ResourceAccumulatorApplyGradient")
def _apply(node: Node) -> Kernel:
    dtype = node.attrs["dtype"]

    def call(accumulator: Any, local_step: Any, gradient: Array) -> None:
        if np.ndim(local_step):
            raise InvalidArgumentError(
                f"local_step must be a scalar, got the shape {list(local_step.shape)}"
            )
        _checked(accumulator, dtype).apply(int(local_step), gradient)

    return Kernel(call, keeps=(2,))


@kernel("ResourceAccumulatorTakeGradient")
def _take(node: Node) -> Kernel:
    dtype = node.attrs["dtype"]

    def start(step: Step, done: Done, accumulator: Any, count: Any) -> None:
        if np.ndim(count) or count < 1:
            raise InvalidArgumentError(f"num_required must be a scalar of 1 or more, got {count}")
        _checked(accumulator, dtype).take(step, done, int(count))

    def call(step: Step, *inputs: Any) -> Any:
        return wait_for(step, lambda done: start(step, done, *inputs))

    return Kernel(call, step=True, start=start)


plain("ResourceAccumulatorNumAccumulated", lambda found: np.int32(Accumulator.of(found).count()))
