"""Derivatives of linear algebra and of diagonals."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import (
    add,
    cast,
    conj,
    constant,
    integers,
    mul,
    neg,
    node,
    shape_of,
    zeros_like,
)
from graphvm.rules.registry import Linear, Reverse, Rule, Site


def _matmul(x: Tensor, y: Tensor, adj_x: bool = False, adj_y: bool = False) -> Tensor:
    return node("BatchMatMulV2", (x, y), {"adj_x": adj_x, "adj_y": adj_y})


def _inverse(site: Site, g: Tensor) -> Cotangents:
    inverse, adjoint = site.outputs[0], site.node.attrs["adjoint"]
    inner = _matmul(g, inverse, adjoint, not adjoint)
    return (neg(_matmul(inverse, inner, not adjoint, False)),)


def _size(matrix: Tensor) -> Tensor:
    """How many columns matrices have."""
    last = [integers([i]) for i in (-1, 0, 1)]
    masks = {"shrink_axis_mask": 1}
    return node("StridedSlice", (shape_of(matrix), last[0], last[1], last[2]), masks)


def _cholesky(site: Site, g: Tensor) -> Cotangents:
    factor = site.outputs[0]
    size = node("Range", (integers(0), _size(factor), integers(1)))
    rows, columns = node("ExpandDims", (size, integers(1))), node("ExpandDims", (size, integers(0)))
    # 1 below the diagonal, a half on it
    below = [cast(node(op, (rows, columns)), g.type.dtype) for op in ("Greater", "GreaterEqual")]
    inner = mul(_matmul(factor, g, True), mul(add(below), constant(0.5, g)))
    inverse = node("MatrixInverse", (factor,))
    whole = _matmul(_matmul(inverse, inner, True), inverse)
    adjoint = _matmul(inverse, _matmul(inner, inverse, True), True)
    return (mul(add([whole, adjoint]), constant(0.5, g)),)


def _determinant(site: Site, g: Tensor) -> Cotangents:
    scale = mul(g, conj(site.outputs[0]))
    wide = node(
        "Reshape", (scale, node("ConcatV2", ([shape_of(scale), integers([1, 1])], integers(0))))
    )
    return (mul(wide, node("MatrixInverse", (site.inputs[0],), {"adjoint": True})),)


def _solve(site: Site, g: Tensor) -> Cotangents:
    adjoint, x = site.node.attrs["adjoint"], site.outputs[0]
    rhs = node("MatrixSolve", (site.inputs[0], g), {"adjoint": not adjoint})
    if not site.wanted[0]:
        return None, rhs
    matrix = _matmul(x, rhs, False, True) if adjoint else _matmul(rhs, x, False, True)
    return neg(matrix), rhs


# ------------------------------------------------------------------------------------ diagonals


def _part(site: Site, x: Tensor, k: Tensor, padding: float = 0) -> Tensor:
    return node(
        "MatrixDiagPartV3", (x, k, constant(padding, x)), {"align": site.node.attrs["align"]}
    )


def _set(site: Site, x: Tensor, diagonal: Tensor, k: Tensor) -> Tensor:
    return node("MatrixSetDiagV3", (x, diagonal, k), {"align": site.node.attrs["align"]})


def _summed(x: Tensor, like: Tensor) -> Tensor:
    axes = node("Range", (integers(0), node("Rank", (x,)), integers(1)))
    return node("Reshape", (node("Sum", (x, axes)), shape_of(like)))


def _diag(site: Site, g: Tensor) -> Cotangents:
    diagonal, k, _, _, padding = site.inputs
    around = None
    if site.wanted[4]:
        around = _summed(_set(site, g, zeros_like(diagonal), k), padding)
    return _part(site, g, k), None, None, None, around


def _diag_part(site: Site, g: Tensor) -> Cotangents:
    x, k, padding = site.inputs
    filled = None
    if site.wanted[2]:
        filled = _summed(mul(g, _part(site, zeros_like(x), k, 1)), padding)
    return _set(site, zeros_like(x), g, k), None, filled


def _set_diag(site: Site, g: Tensor) -> Cotangents:
    k = site.inputs[2]
    rest = _set(site, g, zeros_like(site.inputs[1]), k) if site.wanted[0] else None
    return rest, _part(site, g, k) if site.wanted[1] else None, None


TABLE: Mapping[str, Rule] = {
    "Cholesky": Reverse(_cholesky),
    "MatrixInverse": Reverse(_inverse),
    "MatrixDeterminant": Reverse(_determinant),
    "MatrixSolve": Reverse(_solve),
    "MatrixDiagV3": Linear(_diag, [0, 4]),
    "MatrixDiagPartV3": Linear(_diag_part, [0, 2]),
    "MatrixSetDiagV3": Linear(_set_diag, [0, 1]),
}
