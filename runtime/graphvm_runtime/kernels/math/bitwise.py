"""Integers as bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel, plain, ufunc

ufunc("BitwiseAnd", np.bitwise_and, "{0} & {1}")
ufunc("BitwiseOr", np.bitwise_or, "{0} | {1}")
ufunc("BitwiseXor", np.bitwise_xor, "{0} ^ {1}")
ufunc("Invert", np.invert, "~{0}")

_SET_BITS = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)


@kernel("LeftShift", "RightShift")
def _shift(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy
    last = dtype.type(dtype.itemsize * 8 - 1)
    shift = np.left_shift if node.op.name == "LeftShift" else np.right_shift
    # what C leaves undefined, shifts beyond the type, is as far as the type goes in TensorFlow
    return lambda x, y: shift(x, np.clip(y, dtype.type(0), last))


def _count_bits(x: Array) -> Any:
    whole = np.ascontiguousarray(x).reshape(-1)
    counts = _SET_BITS[whole.view(np.uint8)].reshape(x.size, x.dtype.itemsize)
    return counts.sum(-1, dtype=np.uint8).reshape(x.shape)


plain("PopulationCount", _count_bits)
