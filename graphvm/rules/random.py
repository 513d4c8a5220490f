"""Derivatives of random numbers: none depends on its shape."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = dict.fromkeys(
    (
        "RandomUniform",
        "RandomStandardNormal",
        "TruncatedNormal",
    ),
    NotDifferentiable("depends on shapes only"),
) | {
    "Multinomial": NotDifferentiable("gives integers"),
    "RandomShuffle": NotDifferentiable("TensorFlow has none"),
}
