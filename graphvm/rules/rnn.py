"""Derivatives of ops that do a whole step, or all steps, of a recurrent network.

A memory that was clipped passes its cotangent on as if it were not, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.nodes import add, constant, integers, mul, node, sub, total, zeros_like
from graphvm.rules.registry import Reverse, Rule, Site, Tangents, Transform
from graphvm_runtime.errors import RuleError


def _sum(*terms: Tensor | None) -> Tensor | None:
    found = [t for t in terms if t is not None]
    return add(found) if found else None


def _times(g: Tensor | None, y: Tensor) -> Tensor | None:
    return None if g is None else mul(g, y)


def _through_sigmoid(y: Tensor, g: Tensor | None) -> Tensor:
    return zeros_like(y) if g is None else node("SigmoidGrad", (y, g))


def _through_tanh(y: Tensor, g: Tensor | None) -> Tensor:
    return zeros_like(y) if g is None else node("TanhGrad", (y, g))


def _over_batch(x: Tensor) -> Tensor:
    return total(x, integers([0]))


def _weights(joined: tuple[Tensor, Tensor], dz: Tensor, w: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Cotangents of the two parts of the inputs of a product, and of its weights."""
    x, h = joined
    both = node("MatMul", (dz, w), {"transpose_b": True})
    width = node("Shape", (x,))
    zero, all_ = integers([0, 0]), node("Shape", (both,))
    start = node("Mul", (width, integers([0, 1])))
    dx = node("Slice", (both, zero, width))
    dh = node("Slice", (both, start, sub(all_, start)))
    dw = node("MatMul", (node("ConcatV2", ([x, h], integers(1))), dz), {"transpose_a": True})
    return dx, dh, dw


def _lstm_cell(site: Site, *gs: Tensor | None) -> Cotangents:
    gi, gcs, gf, go, gci, gco, gh = gs
    x, cs_prev, h_prev, w, wci, wcf, wco, _ = site.inputs
    i, cs, f, o, ci, co, _ = site.outputs
    peephole = site.node.attrs["use_peephole"]
    do = _through_sigmoid(o, _sum(go, _times(gh, co)))
    gco = _sum(gco, _times(gh, o))
    dcs = _sum(gcs, None if gco is None else _through_tanh(co, gco))
    if peephole:
        dcs = _sum(dcs, mul(do, wco))
    if dcs is None:
        dcs = zeros_like(cs)
    dci = _through_tanh(ci, _sum(gci, mul(dcs, i)))
    di = _through_sigmoid(i, _sum(gi, mul(dcs, ci)))
    df = _through_sigmoid(f, _sum(gf, mul(dcs, cs_prev)))
    before: Tensor | None = mul(dcs, f)
    holes: list[Tensor | None] = [None, None, None]
    if peephole:
        before = _sum(before, mul(di, wci), mul(df, wcf))
        holes = [_over_batch(mul(d, c)) for d, c in ((di, cs_prev), (df, cs_prev), (do, cs))]
    dz = node("ConcatV2", ([di, dci, df, do], integers(1)))
    dx, dh, dw = _weights((x, h_prev), dz, w)
    return [dx, before, dh, dw, *holes, _over_batch(dz)]


def _gru_cell(site: Site, *gs: Tensor | None) -> Cotangents:
    gr, gu, gc, gh = gs
    x, h_prev, w_ru, w_c, _, _ = site.inputs
    r, u, c, _ = site.outputs
    rest = sub(constant(1, u), u)
    dc = _through_tanh(c, _sum(gc, _times(gh, rest)))
    dx_c, reset, dw_c = _weights((x, mul(h_prev, r)), dc, w_c)
    dr = _through_sigmoid(r, _sum(gr, mul(reset, h_prev)))
    du = _through_sigmoid(u, _sum(gu, _times(gh, sub(h_prev, c))))
    dz = node("ConcatV2", ([dr, du], integers(1)))
    dx, dh, dw_ru = _weights((x, h_prev), dz, w_ru)
    dh_prev = _sum(dh, mul(reset, r), _times(gh, u))
    return [add([dx, dx_c]), dh_prev, dw_ru, dw_c, _over_batch(dz), _over_batch(dc)]


def _block_lstm(site: Site, *gs: Tensor | None) -> Cotangents:
    _, gcs, _, _, _, _, gh = gs
    if any(g is not None for k, g in enumerate(gs) if k not in (1, 6)):
        raise RuleError(
            "gradients of BlockLSTM go through its outputs cs and h alone",
            node=site.node.signature(),
            do="use a cell and dynamic_rnn where other gates have gradients",
        )
    gcs = zeros_like(site.outputs[1]) if gcs is None else gcs
    gh = zeros_like(site.outputs[6]) if gh is None else gh
    inputs = (*site.inputs, *site.outputs, gcs, gh)
    attrs = {"use_peephole": site.node.attrs["use_peephole"]}
    return [None, *node.of("BlockLSTMGrad", inputs, attrs).outputs]


class Once:
    """An op that is a derivative itself, and has none that is written down."""

    true = False

    def _refuse(self, site: Site) -> NoReturn:
        raise RuleError(
            f"{site.type} has no derivative: BlockLSTM has a first one, in reverse mode",
            node=site.node.signature(),
            do="use a cell and dynamic_rnn, which have all of them",
        )

    def pull(self, site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
        """See `Rule`."""
        self._refuse(site)

    def push(self, site: Site, tangents: Tangents, transform: Transform) -> Tangents:
        """See `Rule`."""
        self._refuse(site)


TABLE: Mapping[str, Rule] = {
    "LSTMBlockCell": Reverse(_lstm_cell),
    "GRUBlockCell": Reverse(_gru_cell),
    "BlockLSTM": Reverse(_block_lstm),
    "BlockLSTMGrad": Once(),
}
