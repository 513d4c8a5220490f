"""Ops that only programs in memory have; files never hold them."""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.ops.registry import (
    BLOCKING,
    STATEFUL,
    ShapeContext,
    Trait,
    boolean,
    define,
    integer,
    list_of,
    shape_attr,
    text,
    types,
)  # fmt: skip
from graphvm_runtime.ops.shape_functions import from_attr, nothing, scalar
from graphvm_runtime.ops.state import named_type
from graphvm_runtime.shapes import Shape, TensorType

T = types()


def _arg(ctx: ShapeContext) -> Sequence[Shape]:
    shapes = ctx.attrs.get("_output_shapes")
    return (shapes[0],) if shapes else (None,)


def _arg_handle(ctx: ShapeContext, index: int) -> TensorType | None:
    return ctx.attrs.get("_handle_type")


# a parameter of a function; its static shape is in the node's output type, or `_output_shapes`
define("_Arg", "-> output: T", {"T": T, "index": integer(minimum=0)}, shape=_arg,
       handle=_arg_handle, effects=STATEFUL, traits=Trait.PLACELESS)  # fmt: skip
# a value inside a forward body that a derived body needs; `ir.materialise` removes it
define("_Saved", "-> output: dtype",
       {"dtype": T, "shape": shape_attr(None), "path": list_of("string")},
       shape=from_attr("shape"))  # fmt: skip
# a variable that was a reference in the graph: the handle that stands for it
define("_Reference", "-> resource: resource",
       {"container": text(b""), "shared_name": text(b""), "dtype": T, "shape": shape_attr()},
       shape=scalar, handle=named_type, effects=STATEFUL)  # fmt: skip
_TRANSFER = {"tensor_name": text(), "send_device": text(), "send_device_incarnation": integer(0),
             "recv_device": text(), "client_terminated": boolean(False)}  # fmt: skip
define("_Send", "tensor: T ->", {"T": T, **_TRANSFER}, shape=nothing, effects=STATEFUL)
define("_Recv", "-> tensor: tensor_type",
       {"tensor_type": T, "shape": shape_attr(None), **_TRANSFER}, shape=from_attr("shape"),
       effects=BLOCKING)  # fmt: skip
