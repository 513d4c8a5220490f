"""Kernels that update parts of variables, or read them."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, bool_
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import kernel, made
from graphvm_runtime.kernels.scatter import UPDATES, put_rows
from graphvm_runtime.kernels.training import rounds
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.slicing import numpy_index
from graphvm_runtime.values.resources import Variable


def _changed(variable: Any, change: Callable[[Array], None]) -> None:
    """Changes a variable's array, in place where nobody else holds it."""
    held = Variable.of(variable)
    with held.lock:
        held.busy = True
        try:
            private = held.is_private()
            value = held.value
            if value is None:
                raise held.uninitialised(updated=True)
            if not (private and value.ndim and value.flags.writeable and value.flags.c_contiguous):
                value = np.array(value, order="C")
            change(value)
            held.value = value
        finally:
            held.busy = False


def _divided(rows: Array, places: Array, updates: Array) -> None:
    """Integers, cut off towards zero."""
    if not updates.all():
        raise InvalidArgumentError("updates that divide integers must not be zero, got a zero")
    for part in rounds(places):
        at, by = places[part], updates[part]
        quotient = np.abs(rows[at]) // np.abs(by)
        rows[at] = np.where((rows[at] < 0) != (by < 0), -quotient, quotient)


@kernel(*(f"ResourceScatter{kind}" for kind in UPDATES))
def _scatter(node: Node) -> Callable[..., Any]:
    kind = node.op.name.removeprefix("ResourceScatter")
    dtype = node.attrs["dtype"]
    apply = _divided if kind == "Div" and dtype.is_integer else UPDATES[kind]

    def call(variable: Any, indices: Array, updates: Array) -> None:
        def change(value: Array) -> None:
            shape = (*indices.shape, *value.shape[1:])
            if not value.ndim or (updates.ndim and updates.shape != shape):
                raise InvalidArgumentError(
                    f"updates of variable {variable.name!r} of shape {list(value.shape)} must "
                    f"have the shape {list(shape)}, got {list(updates.shape)}"
                )
            places = indices.reshape(-1)
            wrong = np.flatnonzero((places < 0) | (places >= len(value)))
            if wrong.size:
                raise InvalidArgumentError(
                    f"indices must be in [0, {len(value)}), got {places[wrong[0]]} for variable "
                    f"{variable.name!r}"
                )
            given = np.broadcast_to(updates, shape).reshape(len(places), *value.shape[1:])
            with np.errstate(all="ignore"):
                apply(value, places, given)

        _changed(variable, change)

    return call


@kernel("ResourceScatterNdAdd", "ResourceScatterNdSub", "ResourceScatterNdUpdate")
def _scatter_nd(node: Node) -> Callable[..., Any]:
    kind = node.op.name.removeprefix("ResourceScatterNd")
    apply = np.logical_or.at if node.attrs["T"] is bool_ and kind == "Add" else UPDATES[kind]
    ignore = node.attrs["bad_indices_policy"] == b"IGNORE"

    def call(variable: Any, indices: Array, updates: Array) -> None:
        def change(value: Array) -> None:
            depth = indices.shape[-1] if indices.ndim else 0
            shape = (*indices.shape[:-1], *value.shape[depth:])
            if not indices.ndim or depth > value.ndim or updates.shape != shape:
                raise InvalidArgumentError(
                    f"updates of variable {variable.name!r} of shape {list(value.shape)} must "
                    f"have the shape {list(shape)}, got {list(updates.shape)}"
                )
            put_rows(value, indices, updates, apply, ignore)

        _changed(variable, change)

    return call


@kernel("ResourceStridedSliceAssign")
def _strided_slice_assign(node: Node) -> Callable[..., Any]:
    attrs = node.attrs

    def call(variable: Any, begin: Array, end: Array, strides: Array, given: Array) -> None:
        index = numpy_index(attrs, begin.tolist(), end.tolist(), strides.tolist())

        def change(value: Array) -> None:
            shape = np.shape(value[index])
            try:
                fitting = np.broadcast_to(given, shape)
            except ValueError as error:
                raise InvalidArgumentError(
                    f"a value for a slice of variable {variable.name!r} must fit its shape "
                    f"{list(shape)}, got {list(np.shape(given))}"
                ) from error
            value[index] = fitting if fitting.ndim else fitting[()]

        _changed(variable, change)

    return call


@kernel("ResourceGather")
def _gather(node: Node) -> Callable[..., Any]:
    attrs = {
        "Tparams": node.attrs["dtype"], "Tindices": node.attrs["Tindices"], "Taxis": None,
        "batch_dims": node.attrs["batch_dims"],
    }  # fmt: skip
    plain = made(node.changed(op=lookup("GatherV2"), attrs=MappingProxyType(attrs))).call
    axis = np.int32(node.attrs["batch_dims"])
    return lambda variable, indices: plain(Variable.of(variable).read(), indices, axis)


@kernel("ResourceGatherNd")
def _gather_nd(node: Node) -> Callable[..., Any]:
    attrs = {
        "Tparams": node.attrs["dtype"], "Tindices": node.attrs["Tindices"],
        "bad_indices_policy": b"",
    }  # fmt: skip
    plain = made(node.changed(op=lookup("GatherNd"), attrs=MappingProxyType(attrs))).call
    return lambda variable, indices: plain(Variable.of(variable).read(), indices)
