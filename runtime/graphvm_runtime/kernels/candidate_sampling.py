"""Candidates for sampled losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphvm_runtime.dtypes import Array
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.kernels.shape_rule import refusing

_NEVER = np.finfo(np.float32).min  # added to a logit, it leaves no probability


@kernel("ComputeAccidentalHits")
@refusing
def _accidental_hits(node: Node) -> Kernel:
    def call(true_classes: Array, sampled: Array) -> Any:
        # the last of equal candidates counts
        names, backwards = np.unique(sampled[::-1], return_index=True)
        if not len(names):
            none = np.zeros(0, np.int64)
            return none.astype(np.int32), none, none.astype(np.float32)
        at = np.minimum(np.searchsorted(names, true_classes), len(names) - 1)
        row, column = np.nonzero(names[at] == true_classes)
        ids = len(sampled) - 1 - backwards[at[row, column]]
        return row.astype(np.int32), ids.astype(np.int64), np.full(len(row), _NEVER, np.float32)

    return Kernel(call)
