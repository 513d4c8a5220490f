"""Derivatives of rows that are dealt out and put together: each undoes the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import integers, node, reshape, shape_of, zeros_like
from graphvm.rules.registry import Linear, Rule, Site, Tangents


def _partition(site: Site, *gs: Tensor | None) -> Cotangents:
    data, partitions = site.inputs
    given = [zeros_like(site.outputs[i]) if g is None else g for i, g in enumerate(gs)]
    count = node("Size", (partitions,))
    numbers = node("Range", (integers(0), count, integers(1)))
    numbers = reshape(numbers, shape_of(partitions))
    attrs = {"num_partitions": site.node.attrs["num_partitions"]}
    places = node.of("DynamicPartition", (numbers, partitions), attrs).outputs
    whole = node("ParallelDynamicStitch", (list(places), given))
    return reshape(whole, shape_of(data)), None


def _stitch(site: Site, g: Tensor) -> Cotangents:
    count = site.node.attrs["N"]
    return [None] * count + [
        node("GatherV2", (g, index, integers(0))) for index in site.inputs[:count]
    ]


def _apply_stitch(site: Site, tangents: Tangents) -> Tangents:
    count = site.node.attrs["N"]
    given: Sequence[Tensor] = [
        zeros_like(x) if t is None else t
        for x, t in zip(site.inputs[count:], tangents[count:], strict=True)
    ]
    return [node(site.type, (list(site.inputs[:count]), list(given)))]


_STITCH = Linear(_stitch, apply=_apply_stitch)
TABLE: Mapping[str, Rule] = {
    "DynamicPartition": Linear(_partition, [0]),
    "DynamicStitch": _STITCH,
    "ParallelDynamicStitch": _STITCH,
}
