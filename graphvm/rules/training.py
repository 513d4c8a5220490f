"""Derivatives of optimisers: updates are not differentiated."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = dict.fromkeys(
    (
        "ApplyGradientDescent",
        "ResourceApplyGradientDescent",
        "ResourceApplyAdam",
    ),
    NotDifferentiable("updates a variable"),
)
