"""Derivatives of datasets: there are none."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule
from graphvm_runtime.ops import names

TABLE: Mapping[str, Rule] = {
    name: NotDifferentiable("elements come from another step")
    for name in names()
    if name.endswith(("Dataset", "DatasetV2"))
    or name.startswith(("Iterator", "MakeIterator", "OneShotIterator"))
}
