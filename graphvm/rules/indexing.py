"""Derivatives of ops that take or put elements by their numbers."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import cast, integers, item, mul, node, reshape, shape_of
from graphvm.rules.registry import Linear, NotDifferentiable, Reverse, Rule, Site
from graphvm_runtime.dtypes import int32


def _gather_nd(site: Site, g: Tensor) -> Cotangents:
    params, indices = site.inputs
    known = site.input_type(1).shape
    policy = {"bad_indices_policy": site.node.attrs["bad_indices_policy"]}
    kind = indices.type.dtype
    strict = policy["bad_indices_policy"] != b"IGNORE"
    if known is not None and len(known) == 2 and known[1] == 1 and strict:
        return IndexedSlices(g, reshape(indices, integers([-1])), shape_of(params)), None
    return node("ScatterNd", (indices, g, cast(shape_of(params), kind)), policy), None


def _scatter_nd(site: Site, g: Tensor) -> Cotangents:
    policy = {"bad_indices_policy": site.node.attrs["bad_indices_policy"]}
    return None, node("GatherNd", (g, site.inputs[0]), policy), None


def _top_k(site: Site, g: Tensor | None, _: Tensor | None) -> Cotangents:
    if g is None:
        return None, None
    x, best = site.inputs[0], site.outputs[1]
    shape = shape_of(x)
    rows, row = node("Prod", (item(shape, 0, -1), integers(0))), item(shape, -1)
    # all rows as one: row i begins at i times the length of a row
    begins = mul(node("Range", (integers(0), rows, integers(1))), row)
    columns = node("Pack", ([rows, item(shape_of(best), -1)],))
    columns = reshape(cast(best, int32), columns)
    places = node("AddV2", (columns, node("ExpandDims", (begins, integers(1)))))
    flat = integers([-1])
    summed = node("UnsortedSegmentSum", (reshape(g, flat), reshape(places, flat),
                                         node("Size", (x,))))  # fmt: skip
    return reshape(summed, shape), None


TABLE: Mapping[str, Rule] = {
    "OneHot": NotDifferentiable("declared to be constant"),
    "GatherNd": Linear(_gather_nd, [0]),
    "ScatterNd": Linear(_scatter_nd, [1]),
    "TopKV2": Reverse(_top_k),
}
