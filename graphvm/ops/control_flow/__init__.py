"""Branches, loops, and operations that only order others."""

from graphvm.ops.control_flow.branches import case, cond, switch_case
from graphvm.ops.control_flow.grouping import group, no_op, tuple, with_dependencies
from graphvm.ops.control_flow.loops import while_loop
from graphvm.ops.control_flow.mapping import foldl, foldr, map_fn, scan

__all__ = [
    "case",
    "cond",
    "foldl",
    "foldr",
    "group",
    "map_fn",
    "no_op",
    "scan",
    "switch_case",
    "tuple",
    "while_loop",
    "with_dependencies",
]
