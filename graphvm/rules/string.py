"""Derivatives of strings: there are none."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = dict.fromkeys(
    ("StringJoin", "AsString", "StringFormat"),
    NotDifferentiable("of strings"),
)
