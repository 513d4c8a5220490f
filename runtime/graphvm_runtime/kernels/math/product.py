"""Kernels of matrix products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.blas import product
from graphvm_runtime.kernels.math.elementwise import element_type
from graphvm_runtime.kernels.precision import SINGLE, is_low, wide, widened
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.kernels.shape_rule import refusing


@kernel("MatMul")
def _matmul(node: Node) -> Kernel:
    turn_a, turn_b = bool(node.attrs["transpose_a"]), bool(node.attrs["transpose_b"])
    dtype = element_type(node)

    def call(a: Array, b: Array, out: Array | None = None) -> Any:
        if a.ndim != 2 or b.ndim != 2:
            raise InvalidArgumentError(
                f"both must be matrices, got the shapes {list(a.shape)} and {list(b.shape)}"
            )
        return product(a.T if turn_a else a, b.T if turn_b else b, out)

    # NumPy multiplies matrices of 16-bit floats and sums them up without BLAS
    return Kernel(widened(call, dtype), out=not is_low(dtype))


@kernel("SparseMatMul")
@refusing
def _sparse_matmul(node: Node) -> Callable[..., Any]:
    """Of matrices that may hold many zeros: as dense ones."""
    turn_a, turn_b = bool(node.attrs["transpose_a"]), bool(node.attrs["transpose_b"])

    def call(a: Array, b: Array) -> Any:
        a, b = wide(a), wide(b)
        return product(a.T if turn_a else a, b.T if turn_b else b, None)

    return call


@kernel("BatchMatMulV3")
@refusing
def _mixed_matmul(node: Node) -> Callable[..., Any]:
    dtype = element_type(node, "Tout")
    exact = SINGLE if is_low(dtype) else dtype
    x_side, y_side = _adjoint(node.attrs["adj_x"], exact), _adjoint(node.attrs["adj_y"], exact)

    def call(x: Array, y: Array) -> Any:
        found = product(x_side(x.astype(exact)), y_side(y.astype(exact)), None)
        return found.astype(dtype, copy=False)

    return call


def _batch_matmul(node: Node) -> Kernel:
    dtype = element_type(node)
    x_side, y_side = _adjoint(node.attrs["adj_x"], dtype), _adjoint(node.attrs["adj_y"], dtype)

    def call(x: Array, y: Array, out: Array | None = None) -> Any:
        if x.ndim < 2 or y.ndim < 2:
            raise InvalidArgumentError(
                f"both need rank 2 or more, got the shapes {list(x.shape)} and {list(y.shape)}"
            )
        return product(x_side(x), y_side(y), out)

    return Kernel(widened(call, dtype), out=not is_low(dtype))


kernel("BatchMatMulV2")(_batch_matmul)
kernel("BatchMatMul")(refusing(_batch_matmul))


def _adjoint(adjoint: bool, dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    if not adjoint:
        return lambda x: x
    if dtype.kind == "c":
        return lambda x: x.conj().swapaxes(-1, -2)
    return lambda x: x.swapaxes(-1, -2)
