"""The user's own lines in files: GraphDebugInfo and `Source`."""

from __future__ import annotations

import re

from graphvm_runtime.ir.graph import Source, source_text
from graphvm_runtime.protos.graph_debug_info_pb2 import GraphDebugInfo

_TEXT = re.compile(r"(?P<file>.*):(?P<line>\d+)(?:, in (?P<func>.*))?")


class Sources:
    """The lines that a file says its nodes come from.

    Args:
        info: of the file; None where it has none.
    """

    def __init__(self, info: GraphDebugInfo | None) -> None:
        self._texts: dict[str, str] = {}
        if info is None:
            return
        for key, trace in info.traces.items():
            self._texts[key] = _first_line(info, trace)
        for key, trace_id in info.name_to_trace_id.items():
            if trace_id in info.traces_by_id:
                self._texts[key] = _first_line(info, info.traces_by_id[trace_id])

    def __bool__(self) -> bool:
        return bool(self._texts)

    def of(self, node: str, function: str = "") -> Source:
        """The line of a node of the graph, or of a function's body; empty where not known."""
        return self._texts.get(f"{node}@{function}", "")


def _first_line(info: GraphDebugInfo, trace: GraphDebugInfo.StackTrace) -> str:
    """The innermost frame of a stack: frames stand innermost first."""
    frames = list(trace.file_line_cols)
    frames += [info.frames_by_id[i] for i in trace.frame_id if i in info.frames_by_id]
    if not frames:
        return ""
    frame = frames[0]
    known = 0 <= frame.file_index < len(info.files)
    file = info.files[frame.file_index] if known else "?"
    return f"{file}:{frame.line}" + (f", in {frame.func}" if frame.func else "")


class SourceWriter:
    """Collects the lines of nodes into a GraphDebugInfo."""

    def __init__(self, info: GraphDebugInfo) -> None:
        self._info = info
        self._files: dict[str, int] = {}

    def add(self, node: str, source: Source, function: str = "") -> None:
        """Notes the line of a node; nothing where it has none."""
        found = _TEXT.fullmatch(source_text(source))
        if found is None:
            return
        file = found["file"]
        index = self._files.get(file)
        if index is None:
            index = self._files[file] = len(self._info.files)
            self._info.files.append(file)
        frame = self._info.traces[f"{node}@{function}"].file_line_cols.add()
        frame.file_index = index
        frame.line = int(found["line"])
        frame.func = found["func"] or ""
