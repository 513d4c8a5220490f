"""The door for a user's own ops and kernels.

    from graphvm_runtime import register

    register.op("Cube", "x: T -> y: T", {"T": register.types(register.float32)},
                shape=lambda ctx: [ctx.shapes[0]])
    register.kernel("Cube")(lambda node: lambda x: x * x * x)

`graphvm.raw_ops.Cube(x=...)` then builds it; `graphvm.RegisterGradient("Cube")` differentiates it.
A worker runs it once the module that registers it is imported there too.
"""

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
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.ops.registry import (
    AttrDef,
    Effects,
    ShapeContext,
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
from graphvm_runtime.ops.registry import (
    define as op,
)

__all__ = [
    "AttrDef", "Effects", "Kernel", "ShapeContext", "bfloat16", "bool_", "boolean", "complex64",
    "complex128", "float16", "float32", "float64", "function_attr", "int8", "int16", "int32",
    "int64", "integer", "kernel", "list_of", "op", "real", "resource", "shape_attr", "string",
    "tensor_attr", "text", "type_list", "types", "uint8", "uint16", "uint32", "uint64", "variant",
]  # fmt: skip
