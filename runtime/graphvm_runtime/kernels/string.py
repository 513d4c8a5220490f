"""Kernels of strings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.kernels.registry import kernel


@kernel("StringJoin")
def _join(node: Node) -> Callable[..., Any]:
    separator: bytes = node.attrs["separator"]

    def call(*inputs: Array) -> Any:
        shapes = {x.shape for x in inputs if x.ndim}
        if len(shapes) > 1:
            raise InvalidArgumentError(f"shapes differ: {', '.join(str(list(s)) for s in shapes)}")
        shape = shapes.pop() if shapes else ()
        columns = [np.broadcast_to(x, shape).reshape(-1).tolist() for x in inputs]
        size = int(np.prod(shape, dtype=np.int64))
        rows = zip(*columns, strict=True) if columns else [()] * size
        out = np.empty(size, object)
        for i, row in enumerate(rows):
            out[i] = separator.join(row)
        return as_strings(out.reshape(shape))

    return call
