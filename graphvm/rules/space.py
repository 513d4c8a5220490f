"""Derivatives of blocks moved between space, batch and depth: the move back."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import node
from graphvm.rules.registry import Linear, Rule, Site

_BACK = {
    "SpaceToBatch": "BatchToSpace",
    "SpaceToBatchND": "BatchToSpaceND",
    "SpaceToDepth": "DepthToSpace",
}


def _moved_back(site: Site, g: Tensor) -> Cotangents:
    back = _BACK.get(site.type) or next(k for k, v in _BACK.items() if v == site.type)
    given = site.node.attrs
    attrs = {name: given[name] for name in ("block_size", "data_format") if name in given}
    return [node(back, (g, *site.inputs[1:]), attrs)] + [None] * (len(site.node.inputs) - 1)


TABLE: Mapping[str, Rule] = dict.fromkeys((*_BACK, *_BACK.values()), Linear(_moved_back, [0]))
