"""Tensors handed on as they are: looked at, copied, checked, or seen as another type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.values.tensor_list import zeros_of

for _op in ("DebugGradientIdentity", "GuaranteeConst", "Snapshot"):
    plain(_op, lambda x: x, aliases=(0,))
plain("DeepCopy", lambda x: x.copy())


@kernel("EnsureShape")
@refusing
def _ensure_shape(node: Node) -> Kernel:
    return Kernel(lambda x: x, aliases=(0,))


@kernel("CheckNumerics")
def _check_numerics(node: Node) -> Kernel:
    message = node.attrs["message"].decode(errors="replace")

    def call(x: Array) -> Any:
        if not np.isfinite(x).all():
            found = [
                word for word, is_bad in (("Inf", np.isinf), ("NaN", np.isnan)) if is_bad(x).any()
            ]
            raise InvalidArgumentError(f"{message} : Tensor had {' and '.join(found)} values")
        return x

    return Kernel(call, aliases=(0,))


@kernel("Bitcast")
@refusing
def _bitcast(node: Node) -> Callable[..., Any]:
    have, want = node.attrs["T"].numpy, node.attrs["type"].numpy

    def call(x: Array) -> Any:
        if have.itemsize == want.itemsize:
            return np.ascontiguousarray(x).view(want).reshape(x.shape).copy()
        whole = np.array(x, have, ndmin=1)
        if have.itemsize > want.itemsize:
            shape = (*x.shape, have.itemsize // want.itemsize)
        else:
            shape = x.shape[:-1]
        return whole.reshape(-1).view(want).reshape(shape)

    return call


@kernel("Empty")
def _empty(node: Node) -> Callable[..., Any]:
    dtype: DType = node.attrs["dtype"]
    return lambda shape: zeros_of(dtype, tuple(shape.tolist()))
