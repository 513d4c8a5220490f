"""Kernels of ops that make, reshape, join and cut arrays."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array, string
from graphvm_runtime.errors import GraphvmError, InvalidArgumentError
from graphvm_runtime.ir.graph import Node, source_text
from graphvm_runtime.kernels.precision import as_strings, unsigned_like
from graphvm_runtime.kernels.registry import Kernel, kernel, plain
from graphvm_runtime.kernels.shape_rule import refusing
from graphvm_runtime.ops.array import open_dimension
from graphvm_runtime.ops.slicing import numpy_index
from graphvm_runtime.shapes import shape_text
from graphvm_runtime.values.optional import Optional
from graphvm_runtime.values.tensor_list import TensorList, zeros_of


def _itself(x: Any) -> Any:
    return x


def _listed(value: Array) -> list[int]:
    """A vector of integers; a scalar is one of length one."""
    found = value.tolist()
    return found if isinstance(found, list) else [found]


# ---------------------------------------------------------------------------------------- sources


@kernel("Const")
def _const(node: Node) -> Kernel:
    value = node.attrs["value"]
    if not isinstance(value, np.ndarray):  # a tensor of a file, not read yet
        return Kernel(_written_out(node, value.decode), borrowed=True)
    if value.dtype != node.attrs["dtype"].numpy:
        return Kernel(_raising(node, InvalidArgumentError(
            f"the value is of {value.dtype}, the attribute says {node.attrs['dtype'].name}"
        )))  # fmt: skip
    return Kernel(lambda: value, borrowed=True)


def _written_out(node: Node, decode: Callable[[], Array]) -> Callable[[], Any]:
    known: list[Any] = []

    def call() -> Any:
        if not known:
            try:
                known.append(decode())
            except GraphvmError as error:
                _raising(node, error)()
        return known[0]

    return call


def _raising(node: Node, error: GraphvmError) -> Callable[[], Any]:
    def call() -> Any:
        # a copy: several nodes may have the value
        raise copy(error).located(node.signature(), source_text(node.source))

    return call


@kernel("Placeholder", "PlaceholderV2")
def _placeholder(node: Node) -> Callable[[], Any]:
    def call() -> Any:
        raise InvalidArgumentError(
            f"placeholder {node.name!r} of type {node.attrs['dtype'].name} and shape "
            f"{shape_text(node.attrs['shape'])} is not fed",
            do="give it a value in feed_dict",
        )

    return call


for _op in ("PlaceholderWithDefault", "Identity", "StopGradient", "PreventGradient"):
    plain(_op, _itself, aliases=(0,))


@kernel("IdentityN")
def _identity_n(node: Node) -> Kernel:
    if len(node.inputs) == 1:
        return Kernel(_itself, aliases=(0,))
    return Kernel(lambda *inputs: inputs, aliases=tuple(range(len(node.inputs))))


# ------------------------------------------------------------------------------ asking for shapes


@kernel("Shape")
def _shape(node: Node) -> Callable[..., Any]:
    to = node.attrs["out_type"].numpy
    return lambda x: np.array(getattr(x, "shape", ()), to)


@kernel("ShapeN")
def _shape_n(node: Node) -> Callable[..., Any]:
    to = node.attrs["out_type"].numpy
    if len(node.inputs) == 1:
        return lambda x: np.array(getattr(x, "shape", ()), to)
    return lambda *inputs: [np.array(getattr(x, "shape", ()), to) for x in inputs]


@kernel("Size")
def _size(node: Node) -> Callable[..., Any]:
    to = node.attrs["out_type"].numpy.type
    return lambda x: to(getattr(x, "size", 1))


plain("Rank", lambda x: np.int32(getattr(x, "ndim", 0)))


# -------------------------------------------------------------------------------------- reshaping


def _reshaped(x: Array, shape: Array) -> Any:
    dims = shape.tolist()
    if shape.ndim != 1:
        raise InvalidArgumentError(f"the new shape is a vector, got shape {list(shape.shape)}")
    if dims and min(dims) < 0:
        if min(dims) < -1 or dims.count(-1) > 1:
            raise InvalidArgumentError(f"{dims} is no shape: one -1 at most, nothing below")
        if not x.size:
            found = open_dimension(x.shape, [d for d in dims if d != -1])
            if found is None:
                raise InvalidArgumentError(f"cannot reshape {list(x.shape)} into {dims}")
            dims[dims.index(-1)] = found
    return x.reshape(dims)


plain("Reshape", _reshaped, aliases=(0,))


@kernel("Fill")
def _fill(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy

    def call(dims: Array, value: Array) -> Any:
        out = np.empty(dims.tolist(), dtype)
        out[...] = value
        return out

    return call


def _zeros_like(x: Any) -> Any:
    return x.zeros() if isinstance(x, TensorList | Optional) else np.zeros(x.shape, x.dtype)


@kernel("ZerosLike")
def _zeros(node: Node) -> Callable[..., Any]:
    if node.attrs["T"] is string:
        return lambda x: zeros_of(string, x.shape)
    return _zeros_like


plain("OnesLike", lambda x: np.ones(x.shape, x.dtype))


def _expanded(x: Array, dim: Array) -> Any:
    at, rank = dim.item(), x.ndim
    if not -rank - 1 <= at <= rank:
        raise InvalidArgumentError(f"axis {at} is outside [{-rank - 1}, {rank}]")
    if at < 0:
        at += rank + 1
    return x.reshape((*x.shape[:at], 1, *x.shape[at:]))


plain("ExpandDims", _expanded, aliases=(0,))


@kernel("Squeeze")
def _squeeze(node: Node) -> Kernel:
    axes = tuple(node.attrs["squeeze_dims"]) or None
    return Kernel(lambda x: x.squeeze(axes), aliases=(0,))


def _transposed(x: Array, perm: Array) -> Any:
    axes = perm.tolist()
    return x.transpose(axes) if axes else _checked_scalar(x)


def _checked_scalar(x: Array) -> Array:
    if x.ndim:
        raise InvalidArgumentError(f"an empty permutation for the rank {x.ndim}")
    return x


plain("Transpose", _transposed, aliases=(0,))


@kernel("ConjugateTranspose")
@refusing
def _conjugate_transpose(node: Node) -> Kernel:
    if not node.attrs["T"].is_complex:
        return Kernel(_transposed, aliases=(0,))
    return Kernel(lambda x, perm: _transposed(x, perm).conj())


# ------------------------------------------------------------------------------ joining and cutting


@kernel("ConcatV2")
def _concat(node: Node) -> Kernel:
    def call(*inputs: Array, out: Array | None = None) -> Any:
        return np.concatenate(inputs[:-1], inputs[-1].item(), out)

    return Kernel(call, out=node.attrs["T"].numpy.kind != "O")


@kernel("Concat")
@refusing
def _concat_first(node: Node) -> Callable[..., Any]:
    return lambda axis, *values: np.concatenate(values, axis.item())


@kernel("BroadcastArgs")
@refusing
def _broadcast_args(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy

    def call(s0: Array, s1: Array) -> Array:
        try:
            return np.array(np.broadcast_shapes(tuple(s0), tuple(s1)), dtype)
        except ValueError as error:
            raise InvalidArgumentError(
                f"the shapes must broadcast, got {s0.tolist()} and {s1.tolist()}"
            ) from error

    return call


def _offsets(dim: Array, *shapes: Array) -> list[Array]:
    """Where each part begins in the whole that they make, joined on axis `dim`."""
    at, rank = int(dim), len(shapes[0])
    if not -rank <= at < rank:
        raise InvalidArgumentError(f"axis {at} is outside the rank {rank}")
    out, total = [], 0
    for shape in shapes:
        differs = shape.shape != shapes[0].shape or np.delete(shape != shapes[0], at).any()
        if differs:
            raise InvalidArgumentError(
                f"shapes {shapes[0].tolist()} and {shape.tolist()} differ beside axis {at}"
            )
        offset = np.zeros_like(shape)
        offset[at] = total
        out.append(offset)
        total += int(shape[at])
    return out


plain("ConcatOffset", _offsets)


@kernel("Pack")
def _pack(node: Node) -> Callable[..., Any]:
    axis: int = node.attrs["axis"]
    dtype = node.attrs["T"].numpy
    numeric = node.attrs["T"].is_numpy_compatible

    def call(*values: Array) -> Any:
        if numeric and not values[0].ndim:
            if any(v.ndim for v in values) or axis not in (0, -1):
                raise InvalidArgumentError("all values must have one shape")
            return np.array(values, dtype)
        return np.stack(values, axis)

    return call


@kernel("Unpack")
def _unpack(node: Node) -> Kernel:
    axis, num = node.attrs["axis"], node.attrs["num"]
    numeric = node.attrs["T"].is_numpy_compatible

    def call(x: Array) -> Any:
        if not -x.ndim <= axis < x.ndim:
            raise InvalidArgumentError(f"axis {axis} is outside the rank {x.ndim}")
        if x.shape[axis] != num:
            raise InvalidArgumentError(
                f"axis {axis} of the shape {list(x.shape)} does not have length {num}"
            )
        along = np.moveaxis(x, axis, 0) if axis else x
        parts = list(along) if numeric else [along[i, ...] for i in range(num)]
        return parts[0] if num == 1 else parts

    return Kernel(call, aliases=(0,))


@kernel("StridedSlice")
def _strided_slice(node: Node) -> Kernel:
    attrs = node.attrs
    masks = [attrs[m] for m in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask")]
    one_index = attrs["shrink_axis_mask"] == 1 and not any(masks)
    numeric = attrs["T"].is_numpy_compatible

    def call(x: Array, begin: Array, end: Array, strides: Array) -> Any:
        first = begin.tolist()
        if one_index and numeric and len(first) == 1:
            return x[first[0]]
        index = numpy_index(attrs, first, end.tolist(), strides.tolist())
        if numeric:
            return x[index]
        # an ellipsis keeps NumPy from handing out the bare bytes
        return x[index if Ellipsis in index else (*index, Ellipsis)]

    return Kernel(call, aliases=(0,))


@kernel("StridedSliceGrad")
def _strided_slice_grad(node: Node) -> Callable[..., Any]:
    attrs, dtype = node.attrs, node.attrs["T"]

    def call(shape: Array, begin: Array, end: Array, strides: Array, dy: Array) -> Any:
        out = zeros_of(dtype, tuple(shape.tolist()))
        index = numpy_index(attrs, begin.tolist(), end.tolist(), strides.tolist())
        part = out[index]
        if part.shape != dy.shape:
            raise InvalidArgumentError(
                f"a gradient of shape {list(dy.shape)} for a slice of shape {list(part.shape)}"
            )
        out[index] = dy
        return out

    return call


def _part(x: Array, begin: Array, size: Array) -> Any:
    first, length = begin.tolist(), size.tolist()
    if len(first) != x.ndim or len(length) != x.ndim:
        raise InvalidArgumentError(
            f"begin and size need {x.ndim} entries, got {len(first)} and {len(length)}"
        )
    index: list[Any] = []
    for axis, (b, n, d) in enumerate(zip(first, length, x.shape, strict=True)):
        stop = d if n == -1 else b + n
        if not 0 <= b <= d or n < -1 or stop > d:
            raise InvalidArgumentError(
                f"begin[{axis}] = {b} and size[{axis}] = {n} lie outside axis {axis} of size {d}"
            )
        index.append(slice(b, stop))
    return x[(*index, ...)]


plain("Slice", _part, aliases=(0,))


@kernel("Pad")
def _pad(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"]

    def call(x: Array, paddings: Array) -> Any:
        pairs = paddings.tolist()
        if paddings.shape != (x.ndim, 2) or (paddings < 0).any():
            raise InvalidArgumentError(f"paddings {pairs} for the shape {list(x.shape)}")
        out = zeros_of(dtype, tuple(b + d + a for (b, a), d in zip(pairs, x.shape, strict=True)))
        out[tuple(slice(b, b + d) for (b, _), d in zip(pairs, x.shape, strict=True))] = x
        return out

    return call


@kernel("GatherV2")
def _gather(node: Node) -> Callable[..., Any]:
    batch_dims: int = node.attrs["batch_dims"]
    numeric = node.attrs["Tparams"].is_numpy_compatible
    unsigned = unsigned_like(node.attrs["Tindices"].numpy)

    def call(params: Array, indices: Array, axis: Array) -> Any:
        at = int(axis)
        if not -params.ndim <= at < params.ndim:
            raise InvalidArgumentError(f"axis {at} is outside the rank {params.ndim}")
        at %= params.ndim
        size = params.shape[at]
        # negative numbers are great ones without their sign: one pass finds both ends
        if indices.size and indices.view(unsigned).max() >= size:
            if any(d == 0 for i, d in enumerate(params.shape) if i != at):
                # nothing is looked up, so no index is wrong; any that exists gives the shape
                indices = np.zeros_like(indices)
                if not size:
                    shape = (*params.shape[:at], 1, *params.shape[at + 1 :])
                    params = np.empty(shape, params.dtype)
            else:
                _refuse_index(indices, size)
        if batch_dims:
            return _gathered_in_batches(params, indices, at, batch_dims)
        result = params.take(indices, at)
        return result if numeric else as_strings(result)

    return call


@kernel("Gather")
@refusing
def _gather_rows(node: Node) -> Callable[..., Any]:
    def call(params: Array, indices: Array) -> Any:
        if indices.size and not (indices.min() >= 0 and indices.max() < len(params)):
            _refuse_index(indices, len(params))
        return as_strings(params.take(indices, 0))

    return call


def _refuse_index(indices: Array, size: int) -> None:
    bad = (indices < 0) | (indices >= size)
    at = np.unravel_index(int(bad.argmax()), indices.shape)
    where = ",".join(map(str, at))
    raise InvalidArgumentError(f"indices[{where}] = {indices[at]} is not in [0, {size})")


def _gathered_in_batches(params: Array, indices: Array, axis: int, batch_dims: int) -> Array:
    """Gathers in each entry of the first axes, which both have."""
    batch = batch_dims + indices.ndim if batch_dims < 0 else batch_dims
    if (
        not 0 <= batch <= indices.ndim
        or batch > axis
        or params.shape[:batch] != indices.shape[:batch]
    ):
        raise InvalidArgumentError(
            f"batch_dims {batch_dims} for params of shape {list(params.shape)}, indices of shape "
            f"{list(indices.shape)} and axis {axis}"
        )
    outer, inner = params.shape[batch:axis], params.shape[axis + 1 :]
    count = int(np.prod(params.shape[:batch], dtype=np.int64))
    flat = params.reshape(
        count, int(np.prod(outer, dtype=np.int64)), params.shape[axis],
        int(np.prod(inner, dtype=np.int64)),
    )  # fmt: skip
    rows = indices.reshape(count, int(np.prod(indices.shape[batch:], dtype=np.int64)))
    found = flat[np.arange(count)[:, None], :, rows].swapaxes(1, 2)
    shape = (*params.shape[:batch], *outer, *indices.shape[batch:], *inner)
    return np.ascontiguousarray(found).reshape(shape)


def _tiled(x: Array, multiples: Array) -> Any:
    times = multiples.tolist()
    if len(times) != x.ndim or min(times, default=0) < 0:
        raise InvalidArgumentError(f"multiples {times} for the shape {list(x.shape)}")
    if not times:
        return np.array(x)
    spread = np.broadcast_to(
        x.reshape([n for d in x.shape for n in (1, d)]),
        [n for m, d in zip(times, x.shape, strict=True) for n in (m, d)],
    )
    return spread.reshape([m * d for m, d in zip(times, x.shape, strict=True)])


plain("Tile", _tiled, aliases=(0,))
plain("BroadcastTo", lambda x, shape: np.broadcast_to(x, shape.tolist()), aliases=(0,))


@kernel("BroadcastGradientArgs")
def _gradient_args(node: Node) -> Callable[..., Any]:
    dtype = node.attrs["T"].numpy

    def call(s0: Array, s1: Array) -> Any:
        a, b = s0.tolist(), s1.tolist()
        if a == b:
            return np.zeros(0, dtype), np.zeros(0, dtype)
        rank = max(len(a), len(b))
        a, b = [1] * (rank - len(a)) + a, [1] * (rank - len(b)) + b
        for x, y in zip(a, b, strict=True):
            if x != y and 1 not in (x, y):
                raise InvalidArgumentError(
                    f"shapes {s0.tolist()} and {s1.tolist()} do not broadcast"
                )
        return (
            np.array([i for i in range(rank) if a[i] == 1], dtype),
            np.array([i for i in range(rank) if b[i] == 1], dtype),
        )

    return call


def _inverted(x: Array) -> Any:
    if x.ndim != 1:
        raise InvalidArgumentError(f"a permutation is a vector, got shape {list(x.shape)}")
    seen = np.sort(x)
    if (seen != np.arange(len(x))).any():
        raise InvalidArgumentError(f"{x.tolist()} is no permutation of {len(x)} numbers")
    out = np.empty_like(x)
    out[x] = np.arange(len(x), dtype=x.dtype)
    return out


plain("InvertPermutation", _inverted)


def _reversed(x: Array, axis: Array) -> Any:
    rank = x.ndim
    axes = _listed(axis)
    for each in axes:
        if not -rank <= each < rank:
            raise InvalidArgumentError(f"axis {each} is outside the rank {rank}")
    turned = {each % rank for each in axes}
    if len(turned) != len(axes):
        raise InvalidArgumentError(f"an axis is named twice in {axes}")
    back, forth = slice(None, None, -1), slice(None)
    return x[(*(back if i in turned else forth for i in range(rank)), ...)] if turned else x


plain("ReverseV2", _reversed, aliases=(0,))


@kernel("Reverse")
@refusing
def _reverse_flags(node: Node) -> Kernel:
    return Kernel(lambda x, dims: _reversed(x, np.flatnonzero(dims)), aliases=(0,))


plain("Where", np.argwhere)
