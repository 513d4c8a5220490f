"""Derivatives of reductions by segments: each row has that of its segment, or a share of it."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import (
    cast,
    constant,
    integers,
    item,
    mul,
    node,
    reshape,
    select,
    shape_of,
    sub,
    zeros_like,
)
from graphvm.rules.registry import Linear, Reverse, Rule, Site


def gathered_or_zero(g: Tensor, ids: Tensor) -> Tensor:
    """Rows of `g`; zeros for ids below zero, which segment ops drop."""
    rows, kept = _gathered(g, ids)
    return select(kept, rows, zeros_like(rows))


def _gathered(g: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of `g` by ids, and where the id is not below zero, in a shape that broadcasts."""
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
    return rows, reshape(kept, shape)


def _unsorted_sum(site: Site, g: Tensor) -> Cotangents:
    return gathered_or_zero(g, site.inputs[1]), None, None


def _unsorted_extreme(site: Site, g: Tensor) -> Cotangents:
    data, ids, count = site.inputs
    best, kept = _gathered(site.outputs[0], ids)
    chosen = node("LogicalAnd", (node("Equal", (data, best)), kept))
    ones = cast(chosen, g.type.dtype)
    shares = node("DivNoNan", (g, node("UnsortedSegmentSum", (ones, ids, count))))
    given = gathered_or_zero(shares, ids)
    return select(chosen, given, zeros_like(given)), None, None


def _without(data: Tensor) -> tuple[Tensor, Tensor]:
    """Zeros of the data, and the data with ones in their place."""
    is_zero = node("Equal", (data, zeros_like(data)))
    return is_zero, select(is_zero, node("OnesLike", (data,)), data)


def _unsorted_prod(site: Site, g: Tensor) -> Cotangents:
    """The product of the others: by division, or without the only zero; 0 beside two zeros."""
    data, ids, count = site.inputs
    is_zero, nonzero = _without(data)
    zeros = node("UnsortedSegmentSum", (cast(is_zero, ids.type.dtype), ids, count))
    g = select(node("Greater", (zeros, constant(1, zeros))), zeros_like(g), g)
    others = node("UnsortedSegmentProd", (nonzero, ids, count))
    at_zero = gathered_or_zero(mul(g, others), ids)
    elsewhere = node("RealDiv", (gathered_or_zero(mul(g, site.outputs[0]), ids), nonzero))
    return select(is_zero, at_zero, elsewhere), None, None


def _rows(g: Tensor, ids: Tensor) -> Tensor:
    return node("GatherV2", (g, ids, integers(0)))


def _sum(site: Site, g: Tensor) -> Cotangents:
    return _rows(g, site.inputs[1]), None


def _mean(site: Site, g: Tensor) -> Cotangents:
    data, ids = site.inputs
    one = node("ExpandDims", (item(shape_of(data), 0), integers(0)))
    rest = node("Fill", (node("ExpandDims", (sub(node("Rank", (data,)), integers(1)), integers(0))),
                         integers(1)))  # fmt: skip
    ones = node("Fill", (node("ConcatV2", ([one, rest], integers(0))), constant(1, g)))
    return _rows(node("DivNoNan", (g, node("SegmentSum", (ones, ids)))), ids), None


def _extreme(site: Site, g: Tensor) -> Cotangents:
    data, ids = site.inputs
    chosen = node("Equal", (data, _rows(site.outputs[0], ids)))
    count = node("SegmentSum", (cast(chosen, g.type.dtype), ids))
    given = _rows(node("DivNoNan", (g, count)), ids)
    return select(chosen, given, zeros_like(given)), None


def _prod(site: Site, g: Tensor) -> Cotangents:
    data, ids = site.inputs
    is_zero, nonzero = _without(data)
    zeros = node("SegmentSum", (cast(is_zero, ids.type.dtype), ids))
    g = select(node("Greater", (zeros, constant(1, zeros))), zeros_like(g), g)
    at_zero = _rows(mul(g, node("SegmentProd", (nonzero, ids))), ids)
    elsewhere = node("RealDiv", (_rows(mul(g, site.outputs[0]), ids), nonzero))
    return select(is_zero, at_zero, elsewhere), None


def _sparse(site: Site, g: Tensor) -> Cotangents:
    data, indices, ids = site.inputs[:3]
    rows = item(shape_of(data), 0)
    back = site.type.removesuffix("WithNumSegments") + "Grad"
    return [node(back, (g, indices, ids, rows))] + [None] * (len(site.node.inputs) - 1)


def _sparse_back(site: Site, g: Tensor) -> Cotangents:
    grad, indices, ids, _ = site.inputs
    forward = site.type.removesuffix("Grad") + "WithNumSegments"
    count = item(shape_of(grad), 0)
    return node(forward, (g, indices, ids, count)), None, None, None


TABLE: Mapping[str, Rule] = {
    "UnsortedSegmentSum": Linear(_unsorted_sum, [0]),
    "UnsortedSegmentMax": Reverse(_unsorted_extreme),
    "UnsortedSegmentMin": Reverse(_unsorted_extreme),
    "UnsortedSegmentProd": Reverse(_unsorted_prod),
    "SegmentSum": Linear(_sum, [0]),
    "SegmentMean": Linear(_mean, [0]),
    "SegmentMax": Reverse(_extreme),
    "SegmentMin": Reverse(_extreme),
    "SegmentProd": Reverse(_prod),
    **{
        f"SparseSegment{kind}{suffix}": Linear(_sparse_back if suffix == "Grad" else _sparse, [0])
        for kind in ("Mean", "SqrtN", "Sum")
        for suffix in ("", "WithNumSegments", "Grad")
    },
}
