"""Checks and messages at run time."""

from __future__ import annotations

from graphvm_runtime.ops.registry import STATEFUL, define, integer, type_list
from graphvm_runtime.ops.shape_functions import nothing

define("Assert", "condition: bool, data: *T ->",
       {"T": type_list(minimum=1), "summarize": integer(3)}, shape=nothing,
       effects=STATEFUL)  # fmt: skip
