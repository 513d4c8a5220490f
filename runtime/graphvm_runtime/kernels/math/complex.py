"""Complex numbers and their parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel, plain, ufunc

plain("Angle", np.angle)
ufunc("ComplexAbs", np.absolute)
plain("Imag", lambda x: x.imag, aliases=(0,))
plain("Real", lambda x: x.real, aliases=(0,))


@kernel("Complex")
def _complex(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["Tout"].numpy

    def call(real: Array, imag: Array) -> Array:
        out = np.empty(np.broadcast_shapes(real.shape, imag.shape), dtype)
        out.real, out.imag = real, imag
        return out

    return call
