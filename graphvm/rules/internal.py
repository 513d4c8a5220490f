"""Derivatives of the ops that only programs in memory have."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = dict.fromkeys(
    (
        "_Arg",
        "_Saved",
        "_Send",
        "_Recv",
        "_Reference",
    ),
    NotDifferentiable("made by the machine, not by a user's graph"),
)
