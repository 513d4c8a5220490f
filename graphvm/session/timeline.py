"""A traced step as TensorFlow's step stats, and step stats as a Chrome trace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from graphvm_runtime.trace import Trace

if TYPE_CHECKING:
    from graphvm_runtime.protos.step_stats_pb2 import StepStats


def step_stats(trace: Trace) -> StepStats:
    """The spans of a step as a `StepStats` message; times in microseconds."""
    from graphvm_runtime.protos.step_stats_pb2 import StepStats

    stats = StepStats()
    devices: dict[str, Any] = {}
    for span in trace.spans:
        task = span.task or "/job:localhost/replica:0/task:0"
        device = devices.get(task)
        if device is None:
            device = devices[task] = stats.dev_stats.add(device=f"{task}/device:CPU:0")
        device.node_stats.add(
            node_name=span.node,
            timeline_label=f"{span.node} = {span.op}",
            all_start_micros=int(span.start * 1e6),
            op_end_rel_micros=int((span.end - span.start) * 1e6),
            all_end_rel_micros=int((span.end - span.start) * 1e6),
            thread_id=span.thread % (1 << 31),
        )
    return stats


class Timeline:
    """Step stats for chrome://tracing.

    Args:
        step_stats: a `StepStats`, of `RunMetadata.step_stats`.

    Source: `tensorflow.python.client.timeline.Timeline`.
    """

    def __init__(self, step_stats: StepStats) -> None:
        self._stats = step_stats

    def generate_chrome_trace_format(self) -> str:
        """JSON text; times in microseconds from the first span."""
        starts = [n.all_start_micros for d in self._stats.dev_stats for n in d.node_stats]
        origin = min(starts, default=0)
        events: list[dict[str, object]] = []
        for number, device in enumerate(self._stats.dev_stats):
            events.append(
                {"ph": "M", "name": "process_name", "pid": number, "args": {"name": device.device}}
            )
            for node in device.node_stats:
                label = node.timeline_label.rpartition(" = ")[2]
                events.append(
                    {
                        "ph": "X",
                        "name": node.node_name,
                        "cat": label,
                        "pid": number,
                        "tid": node.thread_id,
                        "ts": node.all_start_micros - origin,
                        "dur": node.all_end_rel_micros,
                        "args": {"op": label},
                    }
                )
        return json.dumps({"traceEvents": events})
