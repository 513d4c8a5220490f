"""Derivatives of checkpoints: none passes a file."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = dict.fromkeys(
    (
        "SaveV2",
        "RestoreV2",
        "MergeV2Checkpoints",
        "ShardedFilename",
    ),
    NotDifferentiable("reads or writes files"),
)
