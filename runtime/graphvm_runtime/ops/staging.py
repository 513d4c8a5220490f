"""Staging areas: elements on their way to the next step."""

from __future__ import annotations

from graphvm_runtime.ops.registry import BLOCKING, define
from graphvm_runtime.ops.shape_functions import nothing, scalar

define("Stage", shape=nothing, effects=BLOCKING)
define("Unstage", shape=lambda ctx: (None,) * len(ctx.attrs["dtypes"]), effects=BLOCKING)
define("StageSize", shape=scalar)
