"""Derivatives of rows of different lengths: all are linear in the values.

Where a value goes is found by sending the numbers of the values the same way.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.broadcasting import reduced_like
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import integers, item, node, reshape, select, shape_of, total, zeros_like
from graphvm.rules.registry import Linear, NotDifferentiable, Rule, Site, Tangents, again

_MANY = 99  # more axes than anything has


def _numbers(count: Tensor) -> Tensor:
    return node("Range", (integers(0), count, integers(1)))


def _count(values: Tensor) -> Tensor:
    return item(shape_of(values), 0)


def _pull_gather(site: Site, *cotangents: Tensor | None) -> Cotangents:
    *_, g = cotangents
    depth = site.node.attrs["PARAMS_RAGGED_RANK"]
    none: list[Tensor | None] = [None] * len(site.inputs)
    if g is None:
        return none
    count = _count(site.inputs[depth])
    inputs = (list(site.inputs[:depth]), _numbers(count), site.inputs[depth + 1])
    places = node.of("RaggedGather", inputs, site.attrs("Tvalues")).outputs[-1]
    none[depth] = node("UnsortedSegmentSum", (g, places, count))
    return none


def _push_gather(site: Site, tangents: Tangents) -> Tangents:
    depth = site.node.attrs["PARAMS_RAGGED_RANK"]
    t = tangents[depth]
    if t is None:
        return [None] * len(site.node.outputs)
    inputs = [t if i == depth else x for i, x in enumerate(site.inputs)]
    return [None] * (len(site.node.outputs) - 1) + [again(site, inputs)[-1]]


def _pull_sparse(site: Site, *cotangents: Tensor | None) -> Cotangents:
    g = cotangents[1]
    back = None if g is None else reshape(g, shape_of(site.inputs[-1]))
    return (*(None for _ in site.inputs[1:]), back)


def _push_sparse(site: Site, tangents: Tangents) -> Tangents:
    t = tangents[-1]
    return [None, None if t is None else reshape(t, integers([-1])), None]


def _outer(site: Site) -> int:
    """How many axes of the result there are before those of a value."""
    kinds: tuple[bytes, ...] = site.node.attrs["row_partition_types"]
    return 1 + sum(kind != b"FIRST_DIM_SIZE" for kind in kinds)


def _pull_tensor(site: Site, g: Tensor) -> Cotangents:
    values = site.inputs[1]
    outer, count = _outer(site), _count(values)
    shape = item(shape_of(site.outputs[0]), 0, outer)
    inputs = (shape, _numbers(count), integers(-1), list(site.inputs[3:]))
    places = node("RaggedTensorToTensor", inputs, site.attrs("T", "Tshape"))
    out: list[Tensor | None] = [None] * len(site.inputs)
    if site.wanted[1]:
        out[1] = node("UnsortedSegmentSum", (g, places, count))
    if site.wanted[2]:
        out[2] = _of_default(site, g, places, outer)
    return out


def _of_default(site: Site, g: Tensor, places: Tensor, outer: int) -> Tensor:
    """What falls to the default: all that is no value, added up."""
    filled = node("Less", (places, zeros_like(places)))
    ones = node("OnesLike", (item(shape_of(g), outer, _MANY),))
    filled = reshape(filled, node("ConcatV2", ([shape_of(places), ones], integers(0))))
    kept = select(filled, g, zeros_like(g))
    return reduced_like(total(kept, integers(list(range(outer)))), site, 2, by_output=False)


def _push_tensor(site: Site, tangents: Tangents) -> Tangents:
    inputs = list(site.inputs)
    for i in (1, 2):
        t = tangents[i]
        inputs[i] = zeros_like(site.inputs[i]) if t is None else t
    return again(site, inputs)


TABLE: Mapping[str, Rule] = {
    "RaggedRange": NotDifferentiable("gives numbers that depend on no values"),
    "RaggedGather": Linear(_pull_gather, apply=_push_gather),
    "RaggedTensorToSparse": Linear(_pull_sparse, apply=_push_sparse),
    "RaggedTensorToTensor": Linear(_pull_tensor, [1, 2], _push_tensor),
}
