"""Derivatives of TensorFlow 1's control flow primitives.

Graphs that hold them are differentiated in their functional form. A primitive that is still there
is part of control flow that has no such form.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.cotangents import Cotangents
from graphvm.rules.registry import Both, NotDifferentiable, Rule, Site, Tangents, Transform
from graphvm_runtime.errors import RuleError
from graphvm_runtime.ops.control_flow import PRIMITIVES


def _refused(site: Site) -> RuleError:
    return RuleError(
        f"{site.name!r} is part of control flow that has no functional form, "
        "so it has no derivative",
        node=site.node.signature(),
        do="use cond or while_loop, whose derivatives are known",
    )


def _pull(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    raise _refused(site)


def _push(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    raise _refused(site)


TABLE: Mapping[str, Rule] = {
    **{op: Both(_pull, _push) for op in PRIMITIVES},
    "LoopCond": NotDifferentiable("gives truth values"),
    "NoOp": NotDifferentiable("has no outputs"),
    "ControlTrigger": NotDifferentiable("has no outputs"),
}
