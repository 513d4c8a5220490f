"""Derivatives of different elements: TensorFlow declares none."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NoRule, NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = {
    **dict.fromkeys(
        ("Unique", "UniqueV2", "UniqueWithCounts", "UniqueWithCountsV2"),
        NoRule("which elements come out depends on their values; TensorFlow has none"),
    ),
    "ListDiff": NotDifferentiable("declared to be constant"),
}
