"""Derivatives of Fourier transforms: they are linear, and their transposes transforms too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import cast, constant, integers, item, mul, node, reshape, shape_of, sub
from graphvm.rules.registry import Linear, Rule, Site


def _scale(g: Tensor, lengths: Tensor) -> Tensor:
    """How many points a transform of these lengths sums up, in the type of `g`."""
    return cast(node("Prod", (lengths, integers(0))), g.type.dtype)


def _lengths(x: Tensor, axes: int) -> Tensor:
    """The last dimensions of a tensor."""
    shape = shape_of(x)
    first = sub(node("Size", (shape,)), integers(axes))
    return node("Slice", (shape, reshape(first, integers([1])), integers([axes])))


def _inverse(op: str, axes: int) -> Callable[[Site, Tensor], Cotangents]:
    def transpose(site: Site, g: Tensor) -> Cotangents:
        scale = _scale(g, _lengths(g, axes))
        if op.startswith("F"):
            return (node("RealDiv", (node(op, (g,)), scale)),)
        return (mul(node(op, (g,)), scale),)

    return transpose


def _resized(x: Tensor, like: Tensor) -> Tensor:
    """`x` with zeros behind its last axes, up to the shape of another tensor."""
    want, have = shape_of(like), shape_of(x)
    behind = sub(want, have)
    before = node("ZerosLike", (behind,))
    return node("Pad", (x, node("Pack", ([before, behind],), {"axis": 1})))


def _real_forward(suffix: str, axes: int) -> Callable[[Site, Tensor], Cotangents]:
    """Of the half spectrum that is kept: the other half counts as zeros."""

    def transpose(site: Site, g: Tensor) -> Cotangents:
        x, lengths = site.inputs
        missing = sub(item(lengths, axes - 1), item(_lengths(g, 1), 0))
        rank = node("Rank", (g,))
        last = node("Equal", (_counted(rank), sub(rank, integers(1))))
        behind = mul(cast(last, missing.type.dtype), missing)
        before = node("ZerosLike", (behind,))
        whole = node("Pad", (g, node("Pack", ([before, behind],), {"axis": 1})))
        back = mul(node(f"IFFT{suffix}", (whole,)), _scale(whole, lengths))
        real = node("Real", (back,), {"Tout": x.type.dtype.base})
        return _resized(real, x), None

    return transpose


def _counted(rank: Tensor) -> Tensor:
    return node("Range", (integers(0), rank, integers(1)))


def _real_inverse(suffix: str, axes: int) -> Callable[[Site, Tensor], Cotangents]:
    """Each point of the half spectrum but the first and a middle one stands for two."""

    def transpose(site: Site, g: Tensor) -> Cotangents:
        x, lengths = site.inputs
        spectrum = node(f"RFFT{suffix}", (g, lengths), {"Tcomplex": x.type.dtype.base})
        length = item(lengths, axes - 1)
        index = _counted(item(_lengths(spectrum, 1), 0))
        single = node("LogicalOr", (
            node("Equal", (index, integers(0))),
            node("Equal", (mul(index, integers(2)), length)),
        ))  # fmt: skip
        weight = node("SelectV2", (single, constant(1, x), constant(2, x)))
        scaled = node("RealDiv", (mul(spectrum, weight), _scale(spectrum, lengths)))
        return _resized(scaled, x), None

    return transpose


def _rows() -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for axes, suffix in ((1, ""), (2, "2D"), (3, "3D")):
        rows[f"FFT{suffix}"] = Linear(_inverse(f"IFFT{suffix}", axes))
        rows[f"IFFT{suffix}"] = Linear(_inverse(f"FFT{suffix}", axes))
        rows[f"RFFT{suffix}"] = Linear(_real_forward(suffix, axes), [0])
        rows[f"IRFFT{suffix}"] = Linear(_real_inverse(suffix, axes), [0])
    return rows


TABLE: Mapping[str, Rule] = _rows()
