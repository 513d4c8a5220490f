"""Installs Python's operators on Tensor.

They are built from ops, which stand above the graph; so the graph does not know them, and whatever
makes tensors imports this package. The ops themselves are loaded when an operator is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphvm.graph.tensor import Tensor

_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul "
    "rmatmul and rand or ror xor rxor lt le gt ge neg invert abs getitem"
)


def _until_first_use(method: str) -> Callable[..., Any]:
    def operator(self: Tensor, *others: Any) -> Any:
        from graphvm.ops import overloads  # replaces all of these on Tensor

        return overloads.OPERATORS[method](self, *others)

    return operator


for _name in _OPERATORS.split():
    setattr(Tensor, f"__{_name}__", _until_first_use(f"__{_name}__"))
