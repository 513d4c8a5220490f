"""Copies of tensors with rows or slices replaced, added to or compared with updates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, bool_
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.indexing import flat_places
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.ops.slicing import numpy_index

# What an update does with the row that is there: `apply(rows, places, updates)`.
Apply = Callable[[Array, Array, Array], None]


def _assign(rows: Array, places: Array, updates: Array) -> None:
    rows[places] = updates


UPDATES: dict[str, Apply] = {
    "Update": _assign,
    "Add": np.add.at,
    "Sub": np.subtract.at,
    "Mul": np.multiply.at,
    "Div": np.true_divide.at,
    "Min": np.minimum.at,
    "Max": np.maximum.at,
}


def put_rows(into: Array, indices: Array, updates: Array, apply: Apply, ignore: bool) -> None:
    """Applies updates to the parts of an array, which is changed, that indices name."""
    depth = indices.shape[-1]
    if not into.size and indices.size:
        raise InvalidArgumentError(
            f"indices {list(indices.shape)} must be empty for a tensor of shape "
            f"{list(into.shape)}, which has no elements"
        )
    places, good = flat_places(indices, into.shape, "a tensor", ignore)
    rows = into.reshape(math.prod(into.shape[:depth]), *into.shape[depth:])
    updates = updates.reshape(len(places), *into.shape[depth:])
    if not good.all():
        places, updates = places[good], updates[good]
    apply(rows, places, updates)


@kernel(
    "ScatterNdNonAliasingAdd", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin",
    "TensorScatterSub", "TensorScatterUpdate",
)  # fmt: skip
@refusing
def _scatter(node: Node) -> Callable[..., Any]:
    kind = node.op.name.removeprefix("ScatterNdNonAliasing").removeprefix("TensorScatter")
    apply = np.logical_or.at if node.attrs["T"] is bool_ and kind == "Add" else UPDATES[kind]
    ignore = node.attrs["bad_indices_policy"] == b"IGNORE"

    def call(tensor: Array, indices: Array, updates: Array) -> Array:
        out = np.array(tensor)  # in rows, so that parts of it are views
        put_rows(out, indices, updates, apply, ignore)
        return out

    return call


@kernel("TensorStridedSliceUpdate")
@refusing
def _strided_slice_update(node: Node) -> Callable[..., Any]:
    attrs = node.attrs

    def call(x: Array, begin: Array, end: Array, strides: Array, value: Array) -> Array:
        out = np.array(x)
        index = numpy_index(attrs, begin.tolist(), end.tolist(), strides.tolist())
        part = out[index]
        try:
            fitting = np.broadcast_to(value, np.shape(part))
        except ValueError as error:
            raise InvalidArgumentError(
                f"value must fit the slice's shape {list(np.shape(part))}, got {list(value.shape)}"
            ) from error
        out[index] = fitting if fitting.ndim else value[()]
        return out

    return call
