"""Branches, loops, and operations that only order others."""

from graphvm.ops.control_flow.branches import case, cond, switch_case
from graphvm.ops.control_flow.grouping import group, no_op, tuple, with_dependencies
from graphvm.ops.control_flow.loops import while_loop

__all__ = [
    "case",
    "cond",
    "group",
    "no_op",
    "switch_case",
    "tuple",
    "while_loop",
    "with_dependencies",
]
