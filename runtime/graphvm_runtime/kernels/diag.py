"""Diagonals of matrices and tensors, and bands of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.linalg import diagonals_of, stacked_diagonals, with_diagonals
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.values.tensor_list import zeros_of

_MAIN = np.zeros((), np.int32)
_ANY = np.array(-1, np.int32)

kernel("MatrixDiagV2")(stacked_diagonals)
kernel("MatrixDiagPartV2")(diagonals_of)
kernel("MatrixSetDiagV2")(with_diagonals)


def _nothing(node: Node) -> Array:
    return zeros_of(node.attrs["T"], ())


@kernel("MatrixDiag", "BatchMatrixDiag")
@refusing
def _matrix_diag(node: Node) -> Callable[..., Any]:
    make, nothing = stacked_diagonals(node), _nothing(node)
    return lambda diagonal: make(diagonal, _MAIN, _ANY, _ANY, nothing)


@kernel("MatrixDiagPart", "BatchMatrixDiagPart")
@refusing
def _matrix_diag_part(node: Node) -> Callable[..., Any]:
    take, nothing = diagonals_of(node), _nothing(node)
    return lambda x: take(x, _MAIN, nothing)


@kernel("MatrixSetDiag", "BatchMatrixSetDiag")
@refusing
def _matrix_set_diag(node: Node) -> Callable[..., Any]:
    put = with_diagonals(node)
    return lambda x, diagonal: put(x, diagonal, _MAIN)


@kernel("Diag")
@refusing
def _diag(node: Node) -> Callable[..., Any]:
    return lambda x: np.diag(x.reshape(-1)).reshape(x.shape * 2)


@kernel("DiagPart")
@refusing
def _diag_part(node: Node) -> Callable[..., Any]:
    def call(x: Array) -> Array:
        half = x.shape[: x.ndim // 2]
        size = math.prod(half)
        return x.reshape(size, size).diagonal().reshape(half).copy()

    return call


@kernel("MatrixBandPart")
@refusing
def _band_part(node: Node) -> Kernel:
    def call(x: Array, num_lower: Array, num_upper: Array) -> Array:
        rows, columns = x.shape[-2:]
        below = np.arange(rows)[:, None] - np.arange(columns)
        kept = (num_lower < 0) | (below <= num_lower)
        kept &= (num_upper < 0) | (-below <= num_upper)
        return np.where(kept, x, zeros_of(node.attrs["T"], ()))

    return Kernel(call)
