"""Derivatives of queues and stacks: none passes them."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm.rules.registry import NotDifferentiable, Rule

TABLE: Mapping[str, Rule] = dict.fromkeys(
    (
        "FIFOQueueV2",
        "QueueEnqueueV2",
        "QueueDequeueV2",
        "QueueCloseV2",
        "QueueSizeV2",
        "StackV2",
        "StackPushV2",
        "StackPopV2",
    ),
    NotDifferentiable("what comes out is another step's"),
)
