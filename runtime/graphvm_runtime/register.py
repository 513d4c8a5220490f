"""The door for a user's own ops and kernels.

    from graphvm_runtime import register

    register.op("Cube", "x: T -> y: T", {"T": register.types(register.float32)},
                shape=lambda ctx: [ctx.shapes[0]])
    register.kernel("Cube")(lambda node: lambda x: x * x * x)

`graphvm.raw_ops.Cube(x=...)` then builds it; `graphvm.RegisterGradient("Cube")` differentiates it.
A worker runs it once the module that registers it is imported there too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    resource,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
    variant,
)  # fmt: skip
from graphvm_runtime.errors import InternalError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, Maker
from graphvm_runtime.kernels.registry import kernel as _kernel
from graphvm_runtime.ops.registry import Effects, ShapeContext, declare
from graphvm_runtime.ops.signature import (
    AttrDef,
    boolean,
    function_attr,
    integer,
    list_of,
    real,
    shape_attr,
    tensor_attr,
    text,
    type_list,
    types,
)  # fmt: skip
from graphvm_runtime.shapes import is_compatible

__all__ = [
    "AttrDef", "Effects", "Kernel", "ShapeContext", "bfloat16", "bool_", "boolean", "complex64",
    "complex128", "float16", "float32", "float64", "function_attr", "int8", "int16", "int32",
    "int64", "integer", "kernel", "list_of", "op", "real", "resource", "shape_attr", "string",
    "tensor_attr", "text", "type_list", "types", "uint8", "uint16", "uint32", "uint64", "variant",
]  # fmt: skip

op = declare


def kernel(*ops: str) -> Callable[[Maker], Maker]:
    """Registers `maker(node) -> function or Kernel` for ops; see `Kernel` for what it may say.

    What the kernel gives is checked against the declared element types and static shapes: a
    float64 where float32 was declared is an error that names the node, not a wrong number later.

    Raises:
        GraphError: an op is not declared, or has a kernel already.
    """

    def register(maker: Maker) -> Maker:
        _kernel(*ops)(lambda node: _checked(maker, node))
        return maker

    return register


def _checked(maker: Maker, node: Node) -> Kernel:
    made = maker(node)
    inner = made if isinstance(made, Kernel) else Kernel(made)

    def call(*args: Any, **options: Any) -> Any:
        result = inner.call(*args, **options)
        for value, type_ in zip(
            (result,) if len(node.outputs) == 1 else result or (), node.outputs, strict=True
        ):
            want = type_.dtype.numpy
            if want.kind != "O" and getattr(value, "dtype", None) != want:
                raise InternalError(
                    f"the kernel of {node.op.name} gave {_shown(value)}, declared is {type_}",
                    do=f"let it give {want}, with astype for example",
                )
            if want.kind != "O" and not is_compatible(np.shape(value), type_.shape):
                raise InternalError(
                    f"the kernel of {node.op.name} gave {_shown(value)}, declared is {type_}",
                    do="mend the kernel or the shape function of the op",
                )
        return result

    return replace(inner, call=call)


def _shown(value: Any) -> str:
    """An array's NumPy type and shape, as errors show them."""
    dtype = getattr(value, "dtype", None)
    return f"{dtype or type(value).__name__}{list(np.shape(value))}"
