"""Derivatives of sums, reductions and scans."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents, dense
from graphvm.rules.nodes import (
    cast,
    conj,
    constant,
    integers,
    known_value,
    mul,
    node,
    reshape,
    select,
    shape_of,
    sub,
    total,
)
from graphvm.rules.registry import (
    Both,
    Linear,
    NotDifferentiable,
    Reverse,
    Rule,
    Site,
    Tangents,
    Transform,
)
from graphvm_runtime.dtypes import bool_, int32
from graphvm_runtime.shapes import is_known, size_of


def _add_n(site: Site, g: Tensor) -> Cotangents:
    return [g] * len(site.node.inputs)


def _apply_add_n(site: Site, tangents: Tangents) -> Tangents:
    some = [t for t in tangents if t is not None]
    return [some[0] if len(some) == 1 else node("AddN", (some,))]


def _axes(site: Site) -> list[int] | None:
    """The reduced axes counted from the front, where they and the rank are known."""
    shape = site.input_type(0).shape
    axes = known_value(site.inputs[1])
    if shape is None or axes is None:
        return None
    return sorted({int(a) % len(shape) for a in np.ravel(axes)})


def _is_reduced(site: Site, shape: Tensor) -> Tensor:
    """For each axis whether it is reduced."""
    rank = node("Size", (shape,))
    axes = reshape(cast(site.inputs[1], int32), integers([-1]))
    axes = node("FloorMod", (axes, rank))
    ones = node("OnesLike", (axes,))
    times = node("UnsortedSegmentSum", (ones, axes, rank))
    return node("Greater", (times, integers(0)))


def _kept_shape(site: Site, shape: Tensor) -> Tensor:
    """The shape of the input with the reduced axes of length 1."""
    static, axes = site.input_type(0).shape, _axes(site)
    if axes is None or static is None:
        return select(_is_reduced(site, shape), node("OnesLike", (shape,)), shape)
    kept = [1 if i in axes else d for i, d in enumerate(static)]
    if None not in kept:
        return integers(kept)
    mask = constant([i in axes for i in range(len(static))], bool_)
    return select(mask, node("OnesLike", (shape,)), shape)


def _kept(site: Site, t: Tensor, shape: Tensor) -> Tensor:
    """A tensor of the output's shape with the reduced axes there, of length 1."""
    if site.node.attrs["keep_dims"] or (t.type.shape == () and site.input_type(0).shape == ()):
        return t
    return reshape(t, _kept_shape(site, shape))


def _spread(site: Site, g: Tensor) -> Tensor:
    """A tensor of the output's shape, in the shape of the input."""
    shape = shape_of(site.inputs[0])
    return node("BroadcastTo", (_kept(site, g, shape), shape))


def _sum(site: Site, g: Tensor) -> Cotangents:
    return _spread(site, g), None


def _mean(site: Site, g: Tensor) -> Cotangents:
    spread = _spread(site, g)
    inside, outside = site.input_type(0).shape, site.output_type(0).shape
    if is_known(inside) and is_known(outside):
        count = constant((size_of(inside) or 0) // max(size_of(outside) or 0, 1), g)
    else:
        size = node("Size", (spread,))
        count = cast(node("FloorDiv", (size, node("Maximum", (node("Size", (g,)), integers(1))))),
                     g.type.dtype)  # fmt: skip
    return node("RealDiv", (spread, count)), None


def _extreme(site: Site, g: Tensor) -> Cotangents:
    x = site.inputs[0]
    shape = shape_of(x)
    best = _kept(site, site.outputs[0], shape)
    chosen = cast(node("Equal", (best, x)), g.type.dtype)
    count = total(chosen, site.inputs[1], keep=True)
    share = node("RealDiv", (chosen, count))
    return mul(share, _kept(site, g, shape)), None


def _prod(site: Site, g: Tensor) -> Cotangents:
    x = site.inputs[0]
    shape = shape_of(x)
    spread = node("BroadcastTo", (_kept(site, g, shape), shape))
    # Reduced axes first, then as a matrix: the product of all others in a column is that of
    # those above times that of those below, which is right for zeros too.
    order, count = _reduced_first(site, shape)
    moved = node("Transpose", (x, order))
    moved_shape = shape_of(moved)
    head = node("Slice", (moved_shape, integers([0]), reshape(count, integers([1]))))
    rows = node("Prod", (head, integers(0)))
    rest = node("Slice", (moved_shape, reshape(count, integers([1])), integers([-1])))
    columns = node("Prod", (rest, integers(0)))
    matrix = reshape(moved, node("Pack", ([rows, columns],)))
    above = node("Cumprod", (matrix, integers(0)), {"exclusive": True})
    below = node("Cumprod", (matrix, integers(0)), {"exclusive": True, "reverse": True})
    others = reshape(mul(conj(above), conj(below)), moved_shape)
    back = node("Transpose", (others, node("InvertPermutation", (order,))))
    return mul(spread, back), None


def _reduced_first(site: Site, shape: Tensor) -> tuple[Tensor, Tensor]:
    """A permutation that brings the reduced axes to the front, and how many they are."""
    static, axes = site.input_type(0).shape, _axes(site)
    if axes is not None and static is not None:
        others = [i for i in range(len(static)) if i not in axes]
        return integers(axes + others), integers(len(axes))
    reduced = cast(_is_reduced(site, shape), int32)
    count = node("Sum", (reduced, integers(0)))
    place = node("Range", (integers(0), node("Size", (shape,)), integers(1)))
    not_after = cast(node("LessEqual", (place, node("ExpandDims", (place, integers(1))))), int32)
    before = sub(total(mul(not_after, reduced), integers([1])), integers(1))
    other = sub(integers(1), reduced)
    beyond = sub(total(mul(not_after, other), integers([1])), integers(1))
    target = select(node("Greater", (reduced, integers(0))), before, node("AddV2", (beyond, count)))
    return node("InvertPermutation", (target,)), count


def _cumprod(site: Site, g: Tensor) -> Cotangents:
    x = site.inputs[0]
    attrs = {k: site.node.attrs[k] for k in ("exclusive", "reverse")}
    products = node("Cumprod", (x, site.inputs[1]), attrs)
    weighted = mul(conj(products), g)
    return node("DivNoNan", (_running_sum(site, weighted), conj(x))), None


def _cumsum(site: Site, g: Tensor) -> Cotangents:
    return _running_sum(site, g), None


def _running_sum(site: Site, x: Tensor) -> Tensor:
    """Sums that run the other way round than the op does."""
    attrs = {"exclusive": site.node.attrs["exclusive"], "reverse": not site.node.attrs["reverse"]}
    return node("Cumsum", (x, site.inputs[1]), attrs)


def _euclidean_norm(site: Site, g: Tensor) -> Cotangents:
    direction = node("DivNoNan", (g, conj(site.outputs[0])))
    return mul(site.inputs[0], _kept(site, direction, shape_of(site.inputs[0]))), None


def _log_of_part(x: Tensor, sign: float) -> Tensor:
    """The logarithm of `sign * x` where that is positive; elsewhere the least number."""
    turned = x if sign > 0 else node("Neg", (x,))
    positive = node("Greater", (turned, constant(0, x)))
    inside = select(positive, turned, constant(1, x))
    least = constant(np.finfo(x.type.dtype.numpy).min, x)
    return select(positive, node("Log", (inside,)), least)


def _weighted(site: Site, x: Tensor, before: Tensor, after: Tensor, reverse: bool) -> Tensor:
    """`exp(after) * scan(x * exp(before))`, of the positive and of the negative `x` apart."""
    attrs = {"exclusive": site.node.attrs["exclusive"], "reverse": reverse}
    parts = []
    for sign in (1.0, -1.0):
        logarithm = _log_of_part(x, sign)
        scanned = node("CumulativeLogsumexp", (node("AddV2", (logarithm, before)), site.inputs[1]),
                       attrs)  # fmt: skip
        parts.append(node("Exp", (node("AddV2", (scanned, after)),)))
    return sub(*parts)


def _pull_logsumexp(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    before = node("Neg", (site.outputs[0],))
    reverse = not site.node.attrs["reverse"]
    return [_weighted(site, dense(cotangents[0]), before, site.inputs[0], reverse), None]


def _push_logsumexp(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    t = tangents[0]
    assert t is not None
    after = node("Neg", (site.outputs[0],))
    return [_weighted(site, t, site.inputs[0], after, site.node.attrs["reverse"])]


_LOGIC = NotDifferentiable("gives truth values")

TABLE: Mapping[str, Rule] = {
    "AddN": Linear(_add_n, apply=_apply_add_n),
    "AccumulateNV2": Linear(_add_n, apply=_apply_add_n),
    "EuclideanNorm": Reverse(_euclidean_norm),
    "CumulativeLogsumexp": Both(_pull_logsumexp, _push_logsumexp),
    "All": _LOGIC,
    "Any": _LOGIC,
    "ArgMax": NotDifferentiable("gives integers"),
    "ArgMin": NotDifferentiable("gives integers"),
    "Range": NotDifferentiable("its length depends on its inputs; as in TensorFlow"),
    "Sum": Linear(_sum, [0]),
    "Mean": Linear(_mean, [0]),
    "Max": Reverse(_extreme),
    "Min": Reverse(_extreme),
    "Prod": Reverse(_prod),
    "Cumprod": Reverse(_cumprod),
    "Cumsum": Linear(_cumsum, [0]),
    "LinSpace": NotDifferentiable("declared to be constant"),
}
