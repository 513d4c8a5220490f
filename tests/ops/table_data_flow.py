"""Rows of queues, which programs show; those of the first of them stand in `table_state.py`."""

from __future__ import annotations

from typing import Final

from tests.ops.rows import Case, Row

PROGRAMS = "tests/ops/programs_data_flow.py"

ROWS = tuple(
    Row(op, tested_in=PROGRAMS)
    for op in (
        "PaddingFIFOQueueV2", "PriorityQueueV2", "QueueDequeueManyV2", "QueueDequeueUpToV2",
        "QueueEnqueueManyV2", "QueueIsClosedV2", "RandomShuffleQueueV2",
    )
)  # fmt: skip
DERIVATIVES: Final[tuple[Case, ...]] = ()
