"""Ops that only programs in memory have; files never hold them."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import BLOCKING, STATEFUL, ShapeContext, Trait, define
from graphvm_runtime.ops.shape_functions import from_attr, nothing, scalar
from graphvm_runtime.ops.state import named_type
from graphvm_runtime.shapes import Shape, TensorType


def _arg(ctx: ShapeContext) -> Sequence[Shape]:
    shapes = ctx.attrs.get("_output_shapes")
    return (shapes[0],) if shapes else (None,)


def _arg_handle(ctx: ShapeContext, index: int) -> TensorType | None:
    return ctx.attrs.get("_handle_type")


# a parameter of a function; its static shape is in the node's output type, or `_output_shapes`
define("_Arg", shape=_arg, handle=_arg_handle, effects=STATEFUL, traits=Trait.PLACELESS)
# a value inside a forward body that a derived body needs; `ir.materialise` removes it
define("_Saved", shape=from_attr("shape"))
# a variable that was a reference in the graph: the handle that stands for it
define("_Reference", shape=scalar, handle=named_type, effects=STATEFUL)
define("_Send", shape=nothing, effects=STATEFUL)
define("_Recv", shape=from_attr("shape"), effects=BLOCKING)
