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
    sub,
    zeros_like,
)
from graphvm.rules.registry import Bilinear, Linear, NoRule, Reverse, Rule, Site
from graphvm_runtime.errors import RuleError


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


def _triangular(site: Site, g: Tensor) -> Cotangents:
    matrix, rhs = site.inputs
    lower, adjoint, x = site.node.attrs["lower"], site.node.attrs["adjoint"], site.outputs[0]
    attrs = {"lower": lower, "adjoint": not adjoint}
    back = node("MatrixTriangularSolve", (matrix, g), attrs)
    by_rhs = _unbroadcast(back, rhs) if site.wanted[1] else None
    if not site.wanted[0]:
        return None, by_rhs
    whole = neg(_matmul(x, back, False, True) if adjoint else _matmul(back, x, False, True))
    keep, drop = integers(-1), integers(0)
    band = node("MatrixBandPart", (whole, keep if lower else drop, drop if lower else keep))
    return _unbroadcast(band, matrix), by_rhs


def _unbroadcast(g: Tensor, like: Tensor) -> Tensor:
    """Undoes the broadcasting of batch axes; the two last axes fit as they are."""
    shape = shape_of(like)
    axes = node("BroadcastGradientArgs", (shape, shape_of(g)))
    return node("Reshape", (node("Sum", (g, axes)), shape))


def _log_determinant(site: Site, _: Tensor | None, g: Tensor | None) -> Cotangents:
    if g is None:
        return (None,)
    wide = node("Reshape", (g, node("ConcatV2", ([shape_of(g), integers([1, 1])], integers(0)))))
    return (mul(wide, node("MatrixInverse", (site.inputs[0],), {"adjoint": True})),)


def _cross_a(site: Site, g: Tensor) -> Tensor:
    return node("Cross", (site.inputs[1], g))


def _cross_b(site: Site, g: Tensor) -> Tensor:
    return node("Cross", (g, site.inputs[0]))


def _least_squares(site: Site, g: Tensor) -> Cotangents:
    """Of (A^H A + l I)^-1 A^H b where A is tall, of A^H (A A^H + l I)^-1 b where it is wide."""
    matrix, rhs, least = site.inputs
    if not site.node.attrs["fast"]:
        raise RuleError(
            "MatrixSolveLs has a derivative where fast is true only", do="set fast=True"
        )
    rows, columns = (site.input_type(0).shape or (None, None))[-2:]
    if rows is None or columns is None:
        raise RuleError(
            "MatrixSolveLs has a derivative where the shape of the matrix is known only",
            do="set the shape of the matrix",
        )
    x, is_tall = site.outputs[0], rows >= columns
    size = columns if is_tall else rows
    eye = node("MatrixDiagV3", (node("Fill", (integers([size]), constant(1, matrix))), integers(0),
                                integers(-1), integers(-1), constant(0, matrix)))  # fmt: skip
    regular = mul(cast(least, matrix.type.dtype), eye)
    square = add([_matmul(matrix, matrix, is_tall, not is_tall), regular])
    solved = node("MatrixSolve", (square, g if is_tall else _matmul(matrix, g)))
    if is_tall:
        residual = sub(rhs, _matmul(matrix, x))
        by_matrix = sub(_matmul(residual, solved, False, True),
                        _matmul(_matmul(matrix, solved), x, False, True))  # fmt: skip
        return by_matrix, _matmul(matrix, solved), None
    inner = node("MatrixSolve", (square, rhs))
    turned = _matmul(inner, sub(g, _matmul(matrix, solved, True)), False, True)
    by_matrix = sub(turned, _matmul(solved, x, False, True))
    return by_matrix, solved, None


# ------------------------------------------------------------------------------------ diagonals


def _align(site: Site) -> dict[str, bytes]:
    """How short diagonals lie in their rows; the older ops have no choice."""
    return {"align": site.node.attrs.get("align", b"LEFT_LEFT")}


def _part(site: Site, x: Tensor, k: Tensor, padding: float = 0) -> Tensor:
    return node("MatrixDiagPartV3", (x, k, constant(padding, x)), _align(site))


def _set(site: Site, x: Tensor, diagonal: Tensor, k: Tensor) -> Tensor:
    return node("MatrixSetDiagV3", (x, diagonal, k), _align(site))


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
    "BatchCholesky": Reverse(_cholesky),
    "BatchMatrixInverse": Reverse(_inverse),
    "BatchMatrixDeterminant": Reverse(_determinant),
    "MatrixTriangularSolve": Reverse(_triangular),
    "LogMatrixDeterminant": Reverse(_log_determinant),
    "MatrixSolveLs": Reverse(_least_squares),
    "Cross": Bilinear(_cross_a, _cross_b),
    "CholeskyGrad": NoRule("TensorFlow has none"),
    "MatrixDiagV3": Linear(_diag, [0, 4]),
    "MatrixDiagPartV3": Linear(_diag_part, [0, 2]),
    "MatrixSetDiagV3": Linear(_set_diag, [0, 1]),
}
