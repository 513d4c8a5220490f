"""The kernel of Einstein sums: axes brought in order, then one product of stacked matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import NUMBERS, Array
from graphvm_runtime.errors import InvalidArgumentError, ShapeError, UnimplementedError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import widened
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.ops.einsum import named_sizes, terms


def _dots(term: str) -> str:
    return term.replace(".", "...")


def _once(names: str) -> str:
    """The names without the ellipsis, each once."""
    return "".join(dict.fromkeys(names.replace(".", "")))


def _turned(x: Array, term: str, to: str) -> Any:
    """One array with its axes in another order; those left out are summed, equal ones joined."""
    return np.einsum(f"{_dots(term)}->...{to}", x)


def _product(x: Array, y: Array, inputs: list[str], out: str) -> Any:
    """The product of two, with axes `...`, then those named in `out`."""
    a, b = _once(inputs[0]), _once(inputs[1])
    both = [name for name in a if name in b]
    stacked = "".join(name for name in both if name in out)
    summed = "".join(name for name in both if name not in out)
    rows = "".join(name for name in a if name not in b and name in out)
    columns = "".join(name for name in b if name not in a and name in out)
    left = _turned(x, inputs[0], stacked + rows + summed)
    right = _turned(y, inputs[1], stacked + summed + columns)
    inside = left.shape[left.ndim - len(summed) :]
    outer_x = left.shape[: left.ndim - len(summed) - len(rows)]
    outer_y = right.shape[: right.ndim - len(summed) - len(columns)]
    row_shape = left.shape[len(outer_x) : left.ndim - len(summed)]
    column_shape = right.shape[right.ndim - len(columns) :]
    whole = np.matmul(
        left.reshape(*outer_x, math.prod(row_shape), math.prod(inside)),
        right.reshape(*outer_y, math.prod(inside), math.prod(column_shape)),
    )
    whole = whole.reshape((*whole.shape[:-2], *row_shape, *column_shape))
    return np.einsum(f"...{stacked}{rows}{columns}->...{out}", whole)


@kernel("Einsum")
def _einsum(node: Node) -> Callable[..., Any]:
    if node.attrs["T"] not in NUMBERS:
        raise UnimplementedError(f"Einsum multiplies numbers, not {node.attrs['T'].name}")
    inputs, output = terms(node.attrs["equation"].decode("utf-8", "replace"))
    names = _once(output)

    def call(*arrays: Array) -> Any:
        try:
            named_sizes(inputs, output, [x.shape for x in arrays])
        except ShapeError as error:
            raise InvalidArgumentError(error.what) from None
        if len(arrays) == 1:
            found = _turned(arrays[0], inputs[0], names)
        else:
            found = _product(arrays[0], arrays[1], inputs, names)
        order = output if "." in output else f".{output}"
        if len(names) == len(output.replace(".", "")):
            return np.array(np.einsum(f"...{names}->{_dots(order)}", found))
        # an axis that the output names twice: what there is goes to its diagonal
        sizes = dict(zip(names, found.shape[found.ndim - len(names) :], strict=True))
        rest = found.shape[: found.ndim - len(names)]
        shape = [d for name in order for d in (rest if name == "." else (sizes[name],))]
        out = np.zeros(shape, found.dtype)
        np.einsum(f"{_dots(order)}->...{names}", out)[...] = found
        return out

    return widened(call, node.attrs["T"].numpy)
