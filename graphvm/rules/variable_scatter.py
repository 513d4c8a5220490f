"""Derivatives of reading parts of variables; updates are not differentiated."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import integers, item, node, reshape
from graphvm.rules.registry import Linear, NotDifferentiable, Rule, Site, Tangents
from graphvm_runtime.dtypes import int32
from graphvm_runtime.errors import RuleError


def _shape(site: Site) -> Tensor:
    return node("VariableShape", (site.inputs[0],), {"out_type": int32})


def _gather(site: Site, g: Tensor) -> Cotangents:
    if site.node.attrs["batch_dims"]:
        raise RuleError(
            f"batch_dims of ResourceGather must be 0 for a derivative, got "
            f"{site.node.attrs['batch_dims']}",
            do="gather from the value that is read",
        )
    shape = _shape(site)
    rows = node("ConcatV2", ([integers([-1]), item(shape, 1, 2**31 - 1)], integers(0)))
    indices = reshape(site.inputs[1], integers([-1]))
    return IndexedSlices(reshape(g, rows), indices, shape), None


def _apply_gather(site: Site, tangents: Tangents) -> Tangents:
    batch = site.node.attrs["batch_dims"]
    given = (tangents[0], site.inputs[1], integers(batch))
    return (node("GatherV2", given, {"batch_dims": batch}),)


def _gather_nd(site: Site, g: Tensor) -> Cotangents:
    shape = node("Cast", (_shape(site),), {"DstT": site.inputs[1].dtype})
    return node("ScatterNd", (site.inputs[1], g, shape)), None


def _apply_gather_nd(site: Site, tangents: Tangents) -> Tangents:
    return (node("GatherNd", (tangents[0], site.inputs[1])),)


_UPDATES = NotDifferentiable("updates a variable")
_NAMES = ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update", "NdAdd", "NdSub", "NdUpdate")

TABLE: Mapping[str, Rule] = {
    "ResourceGather": Linear(_gather, [0], apply=_apply_gather),
    "ResourceGatherNd": Linear(_gather_nd, [0], apply=_apply_gather_nd),
    **{f"{form}Scatter{name}": _UPDATES for name in _NAMES for form in ("", "Resource")},
    "StridedSliceAssign": _UPDATES,
    "ResourceStridedSliceAssign": _UPDATES,
}
