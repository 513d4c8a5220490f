"""Derivatives of queues and stacks: none passes them.

What loops of TensorFlow 1 push for their gradients does depend on what is differentiated by: a
stack's pops then have no derivative, which is an error, as it is in TensorFlow. It must not be
taken for a constant.
"""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.graph.graph import Tensor
from graphvm.rules.cotangents import Cotangents
from graphvm.rules.registry import Both, Linear, Rule, Site, Tangents, Transform
from graphvm_runtime.errors import RuleError


def _refused(site: Site) -> RuleError:
    return RuleError(
        f"{site.name!r} takes from a stack what depends on what is differentiated by, "
        "so it has no derivative",
        node=site.node.signature(),
        do="take the gradient of the loop itself: the gradient that is in this graph has none",
    )


def _pull_pop(site: Site, cotangents: Cotangents, transform: Transform) -> Cotangents:
    raise _refused(site)


def _push_pop(site: Site, tangents: Tangents, transform: Transform) -> Tangents:
    raise _refused(site)


def _pull_push(site: Site, g: Tensor) -> Cotangents:
    return None, g


def _push_push(site: Site, tangents: Tangents) -> Tangents:
    return [tangents[1]]


TABLE: Mapping[str, Rule] = {
    # gives the value that it pushes
    "StackPushV2": Linear(_pull_push, [1], _push_push),
    # asked for only where what was pushed depends
    "StackPopV2": Both(_pull_pop, _push_pop),
}
