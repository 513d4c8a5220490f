"""Spans of a step, and what shows them: step stats, Chrome's trace viewer."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Span:
    """One kernel call; times in seconds of `time.perf_counter`."""

    node: str
    op: str
    start: float
    end: float
    thread: int
    task: str = ""


@dataclass(slots=True)
class Trace:
    """Spans of one step. Thread-safe."""

    spans: list[Span] = field(default_factory=list)

    def add(self, node: str, op: str, start: float, end: float, task: str = "") -> None:
        """Records a span that ended."""
        self.spans.append(Span(node, op, start, end, threading.get_ident(), task))

    def chrome(self) -> str:
        """The step as JSON for chrome://tracing; times in microseconds from the first span."""
        origin = min((s.start for s in self.spans), default=0.0)
        tasks = {t: i for i, t in enumerate(dict.fromkeys(s.task for s in self.spans))}
        events: list[dict[str, object]] = [
            {"ph": "M", "name": "process_name", "pid": i, "args": {"name": task or "local"}}
            for task, i in tasks.items()
        ]
        events += [
            {
                "ph": "X",
                "name": s.node,
                "cat": s.op,
                "pid": tasks[s.task],
                "tid": s.thread,
                "ts": (s.start - origin) * 1e6,
                "dur": (s.end - s.start) * 1e6,
                "args": {"op": s.op},
            }
            for s in self.spans
        ]
        import json  # late, for those who trace

        return json.dumps({"traceEvents": events})
