"""Branches, loops, and operations that only order others."""

from graphvm.ops.control_flow.branches import cond
from graphvm.ops.control_flow.grouping import group, no_op, tuple, with_dependencies
from graphvm.ops.control_flow.loops import while_loop

__all__ = ["cond", "group", "no_op", "tuple", "while_loop", "with_dependencies"]
