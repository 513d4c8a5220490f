"""Kernels of ops that take or put elements by their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, DType, bool_, string
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.precision import SINGLE, is_low
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.values.tensor_list import zeros_of


@kernel("OneHot")
def _one_hot(node: Node) -> Callable[..., Any]:
    axis: int = node.attrs["axis"]
    dtype = node.attrs["T"].numpy

    def call(indices: Array, depth: Array, on: Array, off: Array) -> Any:
        count = int(depth)
        if count < 0:
            raise InvalidArgumentError(f"depth is not negative, got {count}")
        if not -1 <= axis <= indices.ndim:
            raise InvalidArgumentError(f"axis {axis} is outside the rank {indices.ndim}")
        at = indices.ndim if axis == -1 else axis
        places = np.arange(count).reshape((count,) + (1,) * (indices.ndim - at))
        out = np.empty((*indices.shape[:at], count, *indices.shape[at:]), dtype)
        out[...] = off
        # in int64, where small integers and the places of a great depth compare rightly
        out[np.expand_dims(indices, at).astype(np.int64) == places] = on
        return out

    return call


def flat_places(indices: Array, shape: tuple[int, ...], what: str, ignore: bool) -> Any:
    """Numbers of the parts that indices name, in row order, and which of the indices are good."""
    depth = indices.shape[-1]
    flat = indices.reshape(math.prod(indices.shape[:-1]), depth).astype(np.int64)
    sizes = np.array(shape[:depth], np.int64)
    good = ((flat >= 0) & (flat < sizes)).all(1)
    if not ignore and not good.all():
        at = int(good.argmin())
        where = ",".join(map(str, np.unravel_index(at, indices.shape[:-1])))
        raise InvalidArgumentError(
            f"indices[{where}] = {flat[at].tolist()} is not inside {what} of shape {list(shape)}"
        )
    strides = np.array([math.prod(shape[i + 1 : depth]) for i in range(depth)], np.int64)
    return (flat * strides).sum(1), good


@kernel("GatherNd")
def _gather_nd(node: Node) -> Callable[..., Any]:
    ignore = node.attrs["bad_indices_policy"] == b"IGNORE"
    dtype: DType = node.attrs["Tparams"]

    def call(params: Array, indices: Array) -> Any:
        if not params.ndim or not indices.ndim:
            raise InvalidArgumentError("params and indices have rank 1 or more, got a scalar")
        depth = indices.shape[-1]
        if depth > params.ndim:
            raise InvalidArgumentError(
                f"an index of {depth} numbers for params of shape {list(params.shape)}"
            )
        outer, inner = indices.shape[:-1], params.shape[depth:]
        if math.prod(outer) and not params.size:
            raise InvalidArgumentError(
                f"{math.prod(outer)} parts of params of shape {list(params.shape)}, which have no "
                "elements"
            )
        places, good = flat_places(indices, params.shape, "params", ignore)
        rows = params.reshape(math.prod(params.shape[:depth]), *inner)
        if good.all():
            found = rows[places]
        else:
            found = zeros_of(dtype, (len(places), *inner))
            found[good] = rows[places[good]]
        return found.reshape(*outer, *inner)

    return call


@kernel("ScatterNd")
def _scatter_nd(node: Node) -> Callable[..., Any]:
    ignore = node.attrs["bad_indices_policy"] == b"IGNORE"
    dtype: DType = node.attrs["T"]
    add = np.logical_or if dtype is bool_ else np.add

    def call(indices: Array, updates: Array, shape: Array) -> Any:
        if shape.ndim != 1 or (shape < 0).any():
            raise InvalidArgumentError(f"shape is a vector of sizes, got {shape.tolist()}")
        if not indices.ndim:
            raise InvalidArgumentError("indices have rank 1 or more, got a scalar")
        dims, depth = tuple(shape.tolist()), indices.shape[-1]
        outer = indices.shape[:-1]
        if depth > len(dims) or updates.shape != (*outer, *dims[depth:]):
            raise InvalidArgumentError(
                f"updates of shape {list(updates.shape)} at indices of shape "
                f"{list(indices.shape)} in an output of shape {list(dims)}"
            )
        if not math.prod(dims) and math.prod(outer):
            raise InvalidArgumentError(
                f"updates for an output of shape {list(dims)}, which has no elements"
            )
        places, good = flat_places(indices, dims, "an output", ignore)
        count = math.prod(dims[:depth])
        rows = updates.reshape(len(places), *dims[depth:])
        if not good.all():
            places, rows = places[good], rows[good]
        if dtype is string:
            out = zeros_of(dtype, (count, *dims[depth:]))
        else:
            out = np.zeros((count, *dims[depth:]), dtype.numpy)
        add.at(out, places, rows)
        return out.reshape(dims)

    return call


@kernel("TopKV2")
def _top_k(node: Node) -> Callable[..., Any]:
    to = node.attrs["index_type"].numpy

    def call(x: Array, k: Array) -> Any:
        count = int(k)
        if not x.ndim:
            raise InvalidArgumentError("the input has rank 1 or more, got a scalar")
        if not 0 <= count <= x.shape[-1]:
            raise InvalidArgumentError(f"{count} of {x.shape[-1]} columns")
        wide = x.astype(SINGLE) if is_low(x.dtype) else x
        # equal elements stay in order when a reversed row is sorted and read backwards
        order = x.shape[-1] - 1 - wide[..., ::-1].argsort(-1, kind="stable")[..., ::-1]
        best = order[..., :count]
        return np.take_along_axis(x, best, -1), best.astype(to)

    return call
