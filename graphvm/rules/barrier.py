"""Derivatives of barriers: there are none."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = {
    prefix + name: NotDifferentiable("what comes out is another step's")
    for prefix in ("", "_")
    for name in (
        "Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierClose", "BarrierReadySize",
        "BarrierIncompleteSize",
    )
}  # fmt: skip
