"""Optionals: some tensors, or none, as one value."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import ShapeContext, define, list_of, type_list
from graphvm_runtime.ops.shape_functions import refused, scalar
from graphvm_runtime.shapes import Shape


def _values(ctx: ShapeContext) -> Sequence[Shape]:
    types, shapes = ctx.attrs["output_types"], ctx.attrs["output_shapes"]
    if len(shapes) != len(types):
        raise refused(f"{len(shapes)} shapes for {len(types)} components", 1)
    return tuple(shapes)


define("OptionalNone", "-> optional: variant", shape=scalar)
define("OptionalFromValue", "components: *Toutput_types -> optional: variant",
       {"Toutput_types": type_list(minimum=1)}, shape=scalar)  # fmt: skip
define("OptionalHasValue", "optional: variant -> has_value: bool", shape=scalar)
define("OptionalGetValue", "optional: variant -> components: *output_types",
       {"output_types": type_list(minimum=1), "output_shapes": list_of("shape", minimum=1)},
       shape=_values, constraints=["C1: a shape for each component"])  # fmt: skip
