"""Derivatives of products of matrices."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.broadcasting import reduced_like
from graphvm.rules.nodes import cast, conj, node
from graphvm.rules.registry import (
    Bilinear,
    Rule,
    Site,
)


def _x(site: Site) -> Tensor:
    return site.inputs[0]


def _y(site: Site) -> Tensor:
    return site.inputs[1]


def _matmul(a: Tensor, b: Tensor, ta: bool = False, tb: bool = False) -> Tensor:
    return node("MatMul", (a, b), {"transpose_a": ta, "transpose_b": tb})


def _matmul_a(site: Site, g: Tensor) -> Tensor:
    ta, tb = site.node.attrs["transpose_a"], site.node.attrs["transpose_b"]
    b = conj(_y(site))
    return _matmul(b, g, tb, True) if ta else _matmul(g, b, False, not tb)


def _matmul_b(site: Site, g: Tensor) -> Tensor:
    ta, tb = site.node.attrs["transpose_a"], site.node.attrs["transpose_b"]
    a = conj(_x(site))
    return _matmul(g, a, True, ta) if tb else _matmul(a, g, not ta, False)


def _batch(a: Tensor, b: Tensor, ta: bool = False, tb: bool = False) -> Tensor:
    return node("BatchMatMulV2", (a, b), {"adj_x": ta, "adj_y": tb})


def _batch_x(site: Site, g: Tensor) -> Tensor:
    adj_x, adj_y = site.node.attrs["adj_x"], site.node.attrs["adj_y"]
    y = _y(site)
    return _batch_reduced(
        _batch(y, g, adj_y, True) if adj_x else _batch(g, y, False, not adj_y), site, 0
    )


def _batch_y(site: Site, g: Tensor) -> Tensor:
    adj_x, adj_y = site.node.attrs["adj_x"], site.node.attrs["adj_y"]
    x = _x(site)
    return _batch_reduced(
        _batch(g, x, True, adj_x) if adj_y else _batch(x, g, not adj_x, False), site, 1
    )


def _batch_reduced(g: Tensor, site: Site, index: int) -> Tensor:
    """Undoes the broadcasting of batch axes; the two last axes fit as they are."""
    mine, other = site.input_type(index).shape, site.input_type(1 - index).shape
    if mine is not None and other is not None and mine[:-2] == other[:-2] and None not in mine[:-2]:
        return g
    return reduced_like(g, site, index, by_output=False)


def _as(site: Site, index: int, g: Tensor) -> Tensor:
    """A cotangent in the type of an input, which the output's may differ from."""
    return cast(g, site.input_type(index).dtype)


def _wide(site: Site, x: Tensor) -> Tensor:
    return cast(x, site.output_type(0).dtype)


def _sparse_a(site: Site, g: Tensor) -> Tensor:
    ta, tb = site.node.attrs["transpose_a"], site.node.attrs["transpose_b"]
    b = _wide(site, _y(site))
    return _as(site, 0, _matmul(b, g, tb, True) if ta else _matmul(g, b, False, not tb))


def _sparse_b(site: Site, g: Tensor) -> Tensor:
    ta, tb = site.node.attrs["transpose_a"], site.node.attrs["transpose_b"]
    a = _wide(site, _x(site))
    return _as(site, 1, _matmul(g, a, True, ta) if tb else _matmul(a, g, not ta, False))


def _mixed_x(site: Site, g: Tensor) -> Tensor:
    adj_x, adj_y = site.node.attrs["adj_x"], site.node.attrs["adj_y"]
    y = _wide(site, _y(site))
    found = _batch(y, g, adj_y, True) if adj_x else _batch(g, y, False, not adj_y)
    return _as(site, 0, _batch_reduced(found, site, 0))


def _mixed_y(site: Site, g: Tensor) -> Tensor:
    adj_x, adj_y = site.node.attrs["adj_x"], site.node.attrs["adj_y"]
    x = _wide(site, _x(site))
    found = _batch(g, x, True, adj_x) if adj_y else _batch(x, g, not adj_x, False)
    return _as(site, 1, _batch_reduced(found, site, 1))


TABLE: Mapping[str, Rule] = {
    "MatMul": Bilinear(_matmul_a, _matmul_b),
    "SparseMatMul": Bilinear(_sparse_a, _sparse_b),
    "BatchMatMul": Bilinear(_batch_x, _batch_y),
    "BatchMatMulV3": Bilinear(_mixed_x, _mixed_y),
    "BatchMatMulV2": Bilinear(_batch_x, _batch_y),
}
