"""Optionals: some tensors, or none, as one value."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define
from graphvm_runtime.ops.shape_functions import refused, scalar
from graphvm_runtime.shapes import Shape


def _values(ctx: ShapeContext) -> Sequence[Shape]:
    types, shapes = ctx.attrs["output_types"], ctx.attrs["output_shapes"]
    if len(shapes) != len(types):
        raise refused(f"{len(shapes)} shapes for {len(types)} components")
    return tuple(shapes)


define("OptionalNone", shape=scalar)
define("OptionalFromValue", shape=scalar)
define("OptionalHasValue", shape=scalar)
define("OptionalGetValue", shape=_values)
