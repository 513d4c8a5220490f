"""Kernels of functional control flow; the ops that run bodies are run by the machine itself."""

from __future__ import annotations

from typing import Any

from graphvm_runtime.dtypes import variant
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.values.tensor_list import TensorList, zeros_of


@kernel("FakeParam")
def _fake_param(node: Node) -> Kernel:
    dtype, shape = node.attrs["dtype"], node.attrs["shape"]
    if dtype is variant:
        nothing: Any = TensorList(variant, None)
    else:
        nothing = zeros_of(dtype, tuple(d or 0 for d in shape or ()))
    return Kernel(lambda: nothing, borrowed=True)
