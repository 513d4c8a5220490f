"""Derivatives of variables: reading one is the identity, updates are not differentiated."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.cotangents import Cotangent, Cotangents
from graphvm.rules.registry import Linear, NotDifferentiable, Rule, Site, Tangents


def _read(site: Site, g: Cotangent) -> Cotangents:
    # the cotangent of a handle is that of the variable
    return (g,)


def _apply_read(site: Site, tangents: Tangents) -> Tangents:
    return tangents


_UPDATE = NotDifferentiable("updates a variable")
_SOURCE = NotDifferentiable("has no inputs")

TABLE: Mapping[str, Rule] = {
    "VariableV2": _SOURCE,
    "Variable": _SOURCE,
    "VarHandleOp": _SOURCE,
    "ReadVariableOp": Linear(_read, apply=_apply_read, sparse=True),
    "Assign": _UPDATE,
    "AssignAdd": _UPDATE,
    "AssignSub": _UPDATE,
    "AssignVariableOp": _UPDATE,
    "CountUpTo": _UPDATE,
    "ResourceCountUpTo": _UPDATE,
    "AssignAddVariableOp": _UPDATE,
    "AssignSubVariableOp": _UPDATE,
    "IsVariableInitialized": NotDifferentiable("gives truth values"),
    "VarIsInitializedOp": NotDifferentiable("gives truth values"),
    "DisableCopyOnRead": NotDifferentiable("gives nothing"),
    "VariableShape": NotDifferentiable("depends on shapes only"),
}
