"""Derivatives of variables: reading one is the identity, updates are not differentiated."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.cotangents import Cotangent, Cotangents
from graphvm.rules.registry import Linear, Rule, Site, Tangents


def _read(site: Site, g: Cotangent) -> Cotangents:
    # the cotangent of a handle is that of the variable
    return (g,)


def _apply_read(site: Site, tangents: Tangents) -> Tangents:
    return tangents


TABLE: Mapping[str, Rule] = {"ReadVariableOp": Linear(_read, apply=_apply_read, sparse=True)}
