"""The instruction set: what each op takes, gives and promises, by families.

`declarations.txt` holds the signatures; `FAMILY.py` the shape functions, effects and traits.
"""

from graphvm_runtime.ops.registry import (
    Effects,
    OpDef,
    ShapeContext,
    Value,
    define,
    known,
    lookup,
    names,
)
from graphvm_runtime.ops.signature import AttrDef, Attrs, AttrValue, FuncRef

__all__ = [
    "AttrDef",
    "AttrValue",
    "Attrs",
    "Effects",
    "FuncRef",
    "OpDef",
    "ShapeContext",
    "Value",
    "define",
    "known",
    "lookup",
    "names",
]
