"""Derivatives of the array ops: shapes, joins, slices and gathers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphvm.graph.graph import Tensor
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.rules.broadcasting import reduced_like
from graphvm.rules.cotangents import Cotangent, Cotangents
from graphvm.rules.nodes import (
    cast,
    integers,
    item,
    known_value,
    mul,
    node,
    reshape,
    shape_of,
    sub,
    total,
    zeros_like,
)
from graphvm.rules.registry import Linear, NoRule, NotDifferentiable, Rule, Site
from graphvm_runtime.dtypes import int32
from graphvm_runtime.shapes import Shape, is_known


def _pass(site: Site, *cotangents: Cotangent) -> Cotangents:
    return cotangents


def _pass_all(site: Site, *cotangents: Cotangent) -> Cotangents:
    # zeros rather than None, as in TensorFlow, for what goes in beside what matters
    return [
        zeros_like(site.inputs[i]) if g is None and want else g
        for i, (g, want) in enumerate(zip(cotangents, site.wanted, strict=True))
    ]


def _reshape(site: Site, g: Tensor) -> Cotangents:
    return reshape(g, shape_of(site.inputs[0])), None


def _resized(site: Site, g: Tensor) -> Cotangents:
    return (reshape(g, shape_of(site.inputs[0])),)


def _fill(site: Site, g: Tensor) -> Cotangents:
    axes = node("Range", (integers(0), node("Rank", (g,)), integers(1)))
    return None, total(g, axes)


def _transpose(site: Site, g: Tensor) -> Cotangents:
    return node("Transpose", (g, node("InvertPermutation", (site.inputs[1],)))), None


def _conjugate_transpose(site: Site, g: Tensor) -> Cotangents:
    return node("ConjugateTranspose", (g, node("InvertPermutation", (site.inputs[1],)))), None


def _reverse_flags(site: Site, g: Tensor) -> Cotangents:
    return node("Reverse", (g, site.inputs[1])), None


def _tile(site: Site, g: Tensor) -> Cotangents:
    shape = shape_of(site.inputs[0])
    multiples = node("Cast", (site.inputs[1],), {"DstT": shape.type.dtype})
    # [m0, s0, m1, s1, ...]: each axis as its copies and its own length
    parts = reshape(node("Pack", ([multiples, shape],), {"axis": 1}), integers([-1]))
    axes = node("Range", (integers(0), node("Size", (parts,)), integers(2)))
    return reshape(total(reshape(g, parts), axes), shape), None


def _broadcast_to(site: Site, g: Tensor) -> Cotangents:
    return reduced_like(g, site, 0), None


def _expand_dims(site: Site, g: Tensor) -> Cotangents:
    return reshape(g, shape_of(site.inputs[0])), None


def _reverse(site: Site, g: Tensor) -> Cotangents:
    return node("ReverseV2", (g, site.inputs[1])), None


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
    return [*_parts(site, g, range(count), site.inputs[count]), None]


def _concat_first(site: Site, g: Tensor) -> Cotangents:
    return [None, *_parts(site, g, range(1, len(site.node.inputs)), site.inputs[0])]


def _parts(site: Site, g: Tensor, inputs: range, axis: Tensor) -> list[Tensor | None]:
    """What each of the joined inputs has of the whole."""
    shapes = [shape_of(site.inputs[i]) for i in inputs]
    axis = cast(axis, int32)
    value = known_value(axis)
    known = [site.input_type(i).shape for i in inputs]
    rank = next((len(s) for s in known if s is not None), None)
    if value is None or (rank is None and value < 0):
        axis = node("FloorMod", (axis, node("Rank", (g,))))
    elif value < 0:
        assert rank is not None
        axis = integers(int(value) + rank)
    offsets: Sequence[Tensor]
    at = known_value(axis)
    if at is not None and all(is_known(shape) for shape in known):
        offsets = _offsets(int(at), known)
    else:
        offsets = node.of("ConcatOffset", (axis, shapes)).outputs
    return [
        node("Slice", (g, offset, shape)) if site.wanted[i] else None
        for i, offset, shape in zip(inputs, offsets, shapes, strict=True)
    ]


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
    batch = site.node.attrs["batch_dims"]
    value = known_value(site.inputs[2])
    if value is not None and batch == 0 and int(value) == 0:
        return _rows(site, g), None, None
    return _gather_dense(site, g, shape_of(site.inputs[0]), batch), None, None


def _gather_rows(site: Site, g: Tensor) -> Cotangents:
    return _rows(site, g), None


def _rows(site: Site, g: Tensor) -> IndexedSlices:
    params, indices = site.inputs[:2]
    shape, rank = shape_of(params), site.input_type(0).shape
    rest = item(shape, 1, 2**31 - 1) if rank is None else item(shape, 1, len(rank))
    rows = node("ConcatV2", ([integers([-1]), rest], integers(0)))
    return IndexedSlices(reshape(g, rows), reshape(indices, integers([-1])), shape)


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


_CONSTANT = NotDifferentiable("has no inputs")


_SHAPES = NotDifferentiable("depends on shapes only")

TABLE: Mapping[str, Rule] = {
    "Const": _CONSTANT,
    "Placeholder": _CONSTANT,
    "PlaceholderV2": _CONSTANT,
    "BroadcastArgs": _SHAPES,
    "Concat": Linear(_concat_first),
    "ConjugateTranspose": Linear(_conjugate_transpose, [0]),
    "Gather": Linear(_gather_rows, [0]),
    "PreventGradient": NoRule("the graph prevents it"),
    "Reverse": Linear(_reverse_flags, [0]),
    "PlaceholderWithDefault": Linear(_pass, apply=lambda site, ts: ts, sparse=True),
    "Identity": Linear(_pass, apply=lambda site, ts: ts, sparse=True),
    "IdentityN": Linear(_pass_all, apply=lambda site, ts: ts, sparse=True),
    "StopGradient": NotDifferentiable("declared to be constant"),
    "Shape": _SHAPES,
    "ShapeN": _SHAPES,
    "Size": _SHAPES,
    "Rank": _SHAPES,
    "ZerosLike": _SHAPES,
    "OnesLike": _SHAPES,
    "ConcatOffset": _SHAPES,
    "BroadcastGradientArgs": _SHAPES,
    "Where": NotDifferentiable("gives integers"),
    "InvertPermutation": NotDifferentiable("of integers"),
    "Reshape": Linear(_reshape, [0]),
    "ExpandDims": Linear(_expand_dims, [0]),
    "Squeeze": Linear(_resized),
    "Fill": Linear(_fill, [1]),
    "Transpose": Linear(_transpose, [0]),
    "Tile": Linear(_tile, [0]),
    "BroadcastTo": Linear(_broadcast_to, [0]),
    "ReverseV2": Linear(_reverse, [0]),
    "Pack": Linear(_pack),
    "Unpack": Linear(_unpack),
    "ConcatV2": Linear(_concat),
    "Slice": Linear(_slice, [0]),
    "Pad": Linear(_pad, [0]),
    "StridedSlice": Linear(_strided_slice, [0]),
    "StridedSliceGrad": Linear(_strided_slice_grad, [4]),
    "GatherV2": Linear(_gather, [0]),
}
