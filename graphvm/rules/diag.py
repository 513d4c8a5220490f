"""Derivatives of diagonals and bands: all are linear, and each undoes another."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.linalg import TABLE as LINALG
from graphvm.rules.nodes import node, zeros_like
from graphvm.rules.registry import Linear, Rule, Site


def _diag(site: Site, g: Tensor) -> Cotangents:
    return (node(site.type.replace("Diag", "DiagPart"), (g,)),)


def _diag_part(site: Site, g: Tensor) -> Cotangents:
    if site.type == "DiagPart":
        return (node("Diag", (g,)),)
    put = site.type.replace("DiagPart", "SetDiag")
    return (node(put, (zeros_like(site.inputs[0]), g)),)


def _set_diag(site: Site, g: Tensor) -> Cotangents:
    rest = node(site.type, (g, zeros_like(site.inputs[1]))) if site.wanted[0] else None
    taken = site.type.replace("SetDiag", "DiagPart")
    return rest, node(taken, (g,)) if site.wanted[1] else None


def _band(site: Site, g: Tensor) -> Cotangents:
    return node("MatrixBandPart", (g, *site.inputs[1:])), None, None


TABLE: Mapping[str, Rule] = {
    **dict.fromkeys(("Diag", "MatrixDiag", "BatchMatrixDiag"), Linear(_diag)),
    **dict.fromkeys(("DiagPart", "MatrixDiagPart", "BatchMatrixDiagPart"), Linear(_diag_part)),
    **dict.fromkeys(("MatrixSetDiag", "BatchMatrixSetDiag"), Linear(_set_diag)),
    "MatrixDiagV2": LINALG["MatrixDiagV3"],
    "MatrixDiagPartV2": LINALG["MatrixDiagPartV3"],
    "MatrixSetDiagV2": LINALG["MatrixSetDiagV3"],
    "MatrixBandPart": Linear(_band, [0]),
}
