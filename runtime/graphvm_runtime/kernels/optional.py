"""Kernels of optionals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.shapes import is_compatible, shape_text
from graphvm_runtime.values.optional import Optional


@kernel("OptionalNone")
def _none(node: Node) -> Kernel:
    nothing = Optional((), None)
    return Kernel(lambda: nothing, borrowed=True)


@kernel("OptionalFromValue")
def _from_value(node: Node) -> Kernel:
    types = node.attrs["Toutput_types"]
    count = len(types)
    return Kernel(lambda *values: Optional(types, values), keeps=tuple(range(count)))


@kernel("OptionalHasValue")
def _has_value(node: Node) -> Kernel:
    return Kernel(lambda held: np.bool_(Optional.of(held).values is not None))


@kernel("OptionalGetValue")
def _get_value(node: Node) -> Kernel:
    types, shapes = node.attrs["output_types"], node.attrs["output_shapes"]
    single = len(types) == 1

    def call(held: Any) -> Any:
        values: Sequence[Any] | None = Optional.of(held).values
        if values is None:
            raise InvalidArgumentError("the optional has no value")
        if len(values) != len(types):
            raise InvalidArgumentError(
                f"the optional has {len(values)} components, {len(types)} are asked for"
            )
        for i, (value, want, shape) in enumerate(zip(values, types, shapes, strict=True)):
            if held.types[i] is not want:
                raise InvalidArgumentError(
                    f"component {i} of the optional is of {held.types[i].name}, not {want.name}"
                )
            if not is_compatible(getattr(value, "shape", ()), shape):
                raise InvalidArgumentError(
                    f"component {i} of the optional has the shape {list(value.shape)}, not "
                    f"{shape_text(shape)}"
                )
        return values[0] if single else values

    return Kernel(call, aliases=(0,))
