"""Reductions of rows by segments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from graphvm_runtime.dtypes import Array, DType
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.math.elementwise import truncated_division
from graphvm_runtime.kernels.precision import SINGLE, is_low
from graphvm_runtime.kernels.registry import kernel
from graphvm_runtime.kernels.shape_rule import refusing

_FEW = 64  # elements that are put in one by one sooner than they are sorted

_REDUCTIONS: dict[str, Any] = {
    "Sum": np.add, "Prod": np.multiply, "Max": np.maximum, "Min": np.minimum,
}  # fmt: skip


def _nothing(kind: str, dtype: DType) -> Any:
    """What no rows are reduced to by ids in any order: of extremes, the last finite number."""
    if kind in ("Max", "Min"):
        kinds: Any = ml_dtypes.finfo if dtype.is_floating else np.iinfo
        limits = kinds(dtype.numpy)
        return limits.min if kind == "Max" else limits.max
    return 1 if kind == "Prod" else 0


def _reduce(reduction: Any, rows: Array, ids: Array, out: Array) -> Array:
    """Reduces rows into those of `out` that their ids name."""
    if rows.size <= _FEW or is_low(out.dtype):  # `reduceat` would compute in another precision
        reduction.at(out, ids, rows)
        return out
    order = ids.argsort(kind="stable")
    ordered = ids[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    out[ordered[starts]] = reduction.reduceat(rows[order], starts, 0, out.dtype)
    return out


@kernel("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentSum")
def _unsorted(node: Node) -> Callable[..., Any]:
    kind = node.op.name.removeprefix("UnsortedSegment")
    dtype: DType = node.attrs["T"]
    reduction, nothing = _REDUCTIONS[kind], _nothing(kind, dtype)

    def call(data: Array, ids: Array, num_segments: Array) -> Any:
        count = int(num_segments)
        if data.shape[: ids.ndim] != ids.shape:
            raise InvalidArgumentError(
                f"the shape {list(ids.shape)} of the ids does not start the shape "
                f"{list(data.shape)} of the data"
            )
        if count < 0:
            raise InvalidArgumentError(f"num_segments is not negative, got {count}")
        inner = data.shape[ids.ndim :]
        rows = data.reshape(ids.size, math.prod(inner))  # also where either is 0
        out = np.full((count, rows.shape[1]), nothing, dtype.numpy)
        if not rows.size:  # nothing goes anywhere, so no id is wrong
            return out.reshape(count, *inner)
        flat = ids.reshape(-1)
        bad = flat >= count
        if bad.any():
            at = int(bad.argmax())
            raise InvalidArgumentError(
                f"segment_ids[{','.join(map(str, np.unravel_index(at, ids.shape)))}] = "
                f"{flat[at]} is not in [0, {count})"
            )
        if (flat < 0).any():
            kept = flat >= 0
            flat, rows = flat[kept], rows[kept]
        # sums start from nothing; a product or an extreme of one row is that row
        return _reduce(reduction, rows, flat, out).reshape(count, *inner)

    return call


def _in_order(ids: Array) -> int:
    """The number of segments of ids that must not fall. Raises InvalidArgumentError."""
    if not ids.size:
        return 0
    if ids[0] < 0 or (ids[1:] < ids[:-1]).any():
        raise InvalidArgumentError("segment ids must not be negative and must not fall")
    return int(ids[-1]) + 1


def _counts(ids: Array, count: int) -> Array:
    """How many rows each segment has, one for those that have none."""
    return np.maximum(np.bincount(ids, minlength=count), 1)


@kernel("SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd", "SegmentSum")
@refusing
def _sorted(node: Node) -> Callable[..., Any]:
    kind = node.op.name.removeprefix("Segment")
    dtype = node.attrs["T"].numpy
    reduction = _REDUCTIONS["Sum" if kind == "Mean" else kind]

    def call(data: Array, ids: Array) -> Array:
        count, inner = _in_order(ids), data.shape[1:]
        exact = SINGLE if is_low(dtype) else dtype
        rows = data.reshape(len(data), math.prod(inner)).astype(exact, copy=False)
        out = np.full((count, rows.shape[1]), 1 if kind == "Prod" else 0, exact)
        if rows.size:
            starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
            out[ids[starts]] = reduction.reduceat(rows, starts, 0, exact)
        if kind == "Mean":
            sizes = _counts(ids, count)[:, None]
            divide = truncated_division if exact.kind in "iu" else np.true_divide
            out = divide(out, sizes.astype(exact))
        return out.astype(dtype, copy=False).reshape(count, *inner)

    return call


def _weight(kind: str, sizes: Array) -> Array:
    return np.sqrt(sizes) if kind == "SqrtN" else sizes


def _register(kind: str) -> None:
    @kernel(f"SparseSegment{kind}", f"SparseSegment{kind}WithNumSegments")
    @refusing
    def _chosen(node: Node) -> Callable[..., Any]:
        dtype = node.attrs["T"].numpy

        def call(data: Array, indices: Array, ids: Array, num_segments: Array | None = None) -> Any:
            count = _in_order(ids)
            if num_segments is not None:
                if count > int(num_segments):
                    raise InvalidArgumentError(
                        f"segment ids must be below num_segments {num_segments}, got {count - 1}"
                    )
                count = int(num_segments)
            if indices.size and not (indices.min() >= 0 and indices.max() < len(data)):
                raise InvalidArgumentError(
                    f"indices must be in [0, {len(data)}), got {indices.tolist()}"
                )
            exact = SINGLE if is_low(dtype) else dtype
            width = math.prod(data.shape[1:])
            rows = data[indices].reshape(len(indices), width)
            out = np.zeros((count, width), exact)
            if rows.size:
                starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
                out[ids[starts]] = np.add.reduceat(rows.astype(exact, copy=False), starts, 0, exact)
            if kind != "Sum":
                out /= _weight(kind, _counts(ids, count)).astype(exact)[:, None]
            return out.astype(dtype, copy=False).reshape(count, *data.shape[1:])

        return call

    @kernel(f"SparseSegment{kind}Grad")
    @refusing
    def _gradient(node: Node) -> Callable[..., Any]:
        dtype = node.attrs["T"].numpy

        def call(grad: Array, indices: Array, ids: Array, output_dim0: Array) -> Array:
            count = int(output_dim0)
            if indices.size and not (indices.min() >= 0 and indices.max() < count):
                raise InvalidArgumentError(
                    f"indices must be in [0, {count}), got {indices.tolist()}"
                )
            if ids.size and not (ids.min() >= 0 and ids.max() < len(grad)):
                raise InvalidArgumentError(
                    f"segment ids must be in [0, {len(grad)}), got {ids.tolist()}"
                )
            exact = SINGLE if is_low(dtype) else dtype
            rows = grad.reshape(len(grad), math.prod(grad.shape[1:])).astype(exact, copy=False)
            if kind != "Sum":
                rows = rows / _weight(kind, _counts(ids, len(grad))).astype(exact)[:, None]
            out = np.zeros((count, rows.shape[1]), exact)
            np.add.at(out, indices, rows[ids])
            return out.astype(dtype, copy=False).reshape(count, *grad.shape[1:])

        return call


for _kind in ("Mean", "SqrtN", "Sum"):
    _register(_kind)
