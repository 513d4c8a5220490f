"""Derivatives of slices, gathers and joins, and of their transposes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphvm.graph.graph import Tensor
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import (
    cast,
    integers,
    item,
    known_value,
    mul,
    node,
    reshape,
    select,
    shape_of,
    sub,
    zeros_like,
)
from graphvm.rules.registry import Linear, Rule, Site
from graphvm_runtime.dtypes import int32
from graphvm_runtime.shapes import Shape, is_known


def _pack(site: Site, g: Tensor) -> Cotangents:
    count = len(site.node.inputs)
    return node.of("Unpack", (g,), {"num": count, "axis": site.node.attrs["axis"]}).outputs


def _unpack(site: Site, *gs: Tensor | None) -> Cotangents:
    whole = [zeros_like(site.outputs[i]) if g is None else g for i, g in enumerate(gs)]
    if not whole:
        return (zeros_like(site.inputs[0]),)
    return (node("Pack", (whole,), {"axis": site.node.attrs["axis"]}),)


def _concat(site: Site, g: Tensor) -> Cotangents:
    count = len(site.node.inputs) - 1
    shapes = [shape_of(site.inputs[i]) for i in range(count)]
    axis = cast(site.inputs[count], int32)
    value = known_value(axis)
    rank = next((len(s) for i in range(count) if (s := site.input_type(i).shape) is not None), None)
    if value is None or (rank is None and value < 0):
        axis = node("FloorMod", (axis, node("Rank", (g,))))
    elif value < 0:
        assert rank is not None
        axis = integers(int(value) + rank)
    offsets: Sequence[Tensor]
    known = [site.input_type(i).shape for i in range(count)]
    at = known_value(axis)
    if at is not None and all(is_known(shape) for shape in known):
        offsets = _offsets(int(at), known)
    else:
        offsets = node.of("ConcatOffset", (axis, shapes)).outputs
    return [
        node("Slice", (g, offsets[i], shapes[i])) if site.wanted[i] else None for i in range(count)
    ] + [None]


def _offsets(axis: int, shapes: Sequence[Shape]) -> list[Tensor]:
    """Where each part begins in the whole, as constants."""
    out, start = [], 0
    for shape in shapes:
        assert shape is not None
        length = shape[axis]
        assert length is not None
        out.append(integers([start if i == axis % len(shape) else 0 for i in range(len(shape))]))
        start += length
    return out


def _slice(site: Site, g: Tensor) -> Cotangents:
    begin = cast(site.inputs[1], int32)
    after = sub(sub(shape_of(site.inputs[0]), begin), shape_of(g))
    return node("Pad", (g, node("Pack", ([begin, after],), {"axis": 1}))), None, None


def _pad(site: Site, g: Tensor) -> Cotangents:
    before = item(node("Transpose", (site.inputs[1], integers([1, 0]))), 0)
    return node("Slice", (g, cast(before, int32), shape_of(site.inputs[0]))), None


def _strided_slice(site: Site, g: Tensor) -> Cotangents:
    begin, end, strides = site.inputs[1:]
    shape = cast(shape_of(site.inputs[0]), begin.type.dtype)
    grad = node("StridedSliceGrad", (shape, begin, end, strides, g), site.attrs("T", "Index"))
    return grad, None, None, None


def _strided_slice_grad(site: Site, g: Tensor) -> Cotangents:
    sliced = node("StridedSlice", (g, *site.inputs[1:4]), site.attrs("T", "Index"))
    return None, None, None, None, sliced


def _gather(site: Site, g: Tensor) -> Cotangents:
    params, indices, axis = site.inputs
    batch = site.node.attrs["batch_dims"]
    value = known_value(axis)
    shape = shape_of(params)
    rank = site.input_type(0).shape
    if value is not None and batch == 0 and int(value) == 0:
        rest = item(shape, 1, 2**31 - 1) if rank is None else item(shape, 1, len(rank))
        rows = node("ConcatV2", ([integers([-1]), rest], integers(0)))
        return (
            IndexedSlices(reshape(g, rows), reshape(indices, integers([-1])), shape),
            None,
            None,
        )
    return _gather_dense(site, g, shape, batch), None, None


def _gather_dense(site: Site, g: Tensor, shape: Tensor, batch: int) -> Tensor:
    """Cotangent of `params` for any axis: all shapes as [batch, before, axis, after]."""
    indices = site.inputs[1]
    rank = node("Size", (shape,))
    axis = node("FloorMod", (cast(site.inputs[2], int32), rank))
    if batch < 0:
        # counted from the end of indices
        known = site.input_type(1).shape
        assert known is not None
        batch += len(known)
    first = integers(batch)

    def product(begin: Tensor, end: Tensor) -> Tensor:
        size = reshape(sub(end, begin), integers([1]))
        part = node("Slice", (shape, reshape(begin, integers([1])), size))
        return node("Prod", (part, integers(0)))

    one = integers(1)
    after_axis = node("AddV2", (axis, one))
    batches = product(integers(0), first)
    before = product(first, axis)
    length = product(axis, after_axis)
    after = product(after_axis, rank)
    # one row of indices for each place in the batch
    ids = reshape(indices, node("Pack", ([batches, integers(-1)],)))
    count = item(node("Shape", (ids,)), 1)
    offset = mul(node("Range", (integers(0), batches, one)), length)
    ids = node("AddV2", (ids, cast(node("ExpandDims", (offset, one)), ids.type.dtype)))
    by_axis = reshape(g, node("Pack", ([batches, before, count, after],)))
    by_axis = node("Transpose", (by_axis, integers([0, 2, 1, 3])))
    rows = reshape(by_axis, node("Pack", ([mul(batches, count), mul(before, after)],)))
    summed = node("UnsortedSegmentSum", (rows, reshape(ids, integers([-1])), mul(batches, length)))
    summed = reshape(summed, node("Pack", ([batches, length, before, after],)))
    summed = node("Transpose", (summed, integers([0, 2, 1, 3])))
    return reshape(summed, shape)


def _segment_sum(site: Site, g: Tensor) -> Cotangents:
    return gathered_or_zero(g, site.inputs[1]), None, None


def gathered_or_zero(g: Tensor, ids: Tensor) -> Tensor:
    """Rows of `g`; zeros for ids below zero, which segment ops drop."""
    zero = zeros_like(ids)
    rows = node("GatherV2", (g, node("Maximum", (ids, zero)), integers(0)))
    kept = node("GreaterEqual", (ids, zero))
    ids_rank, rank = ids.type.shape, rows.type.shape
    if ids_rank is not None and rank is not None:
        extra: Tensor = integers([1] * (len(rank) - len(ids_rank)))
    else:
        missing = sub(node("Rank", (rows,)), node("Rank", (ids,)))
        extra = node("Fill", (reshape(missing, integers([1])), integers(1)))
    shape = node("ConcatV2", ([shape_of(ids), extra], integers(0)))
    return select(reshape(kept, shape), rows, zeros_like(rows))


TABLE: Mapping[str, Rule] = {
    "Pack": Linear(_pack),
    "Unpack": Linear(_unpack),
    "ConcatV2": Linear(_concat),
    "Slice": Linear(_slice, [0]),
    "Pad": Linear(_pad, [0]),
    "StridedSlice": Linear(_strided_slice, [0]),
    "StridedSliceGrad": Linear(_strided_slice_grad, [4]),
    "GatherV2": Linear(_gather, [0]),
    "UnsortedSegmentSum": Linear(_segment_sum, [0]),
}
