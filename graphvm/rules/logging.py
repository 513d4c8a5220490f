"""Derivatives of assertions: there is nothing to differentiate."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = dict.fromkeys(
    ("Assert",),
    NotDifferentiable("has no outputs"),
)
