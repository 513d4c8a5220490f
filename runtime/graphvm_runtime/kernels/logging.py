"""Kernels of checks and messages."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable
from typing import Any

from graphvm_runtime.dtypes import Array
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.kernels.shown import summary
from graphvm_runtime.ops.logging import FILE
from graphvm_runtime.values.resources import Step


@kernel("Assert")
def _assert(node: Node) -> Callable[..., Any]:
    limit: int = node.attrs["summarize"]

    def call(condition: Array, *data: Array) -> None:
        if condition.ndim:
            raise InvalidArgumentError(
                f"the condition is a scalar, got the shape {list(condition.shape)}"
            )
        if not condition:
            told = " ".join(summary(d, limit) for d in data)
            raise InvalidArgumentError(f"assertion failed: {told}")

    return call


_streams = {"stdout": lambda: sys.stdout, "stderr": lambda: sys.stderr}
_levels = {"log(info)": logging.INFO, "log(warning)": logging.WARNING, "log(error)": logging.ERROR}
# printed messages go where `graphvm.logging` goes
_logger = logging.getLogger("graphvm")


@kernel("Print")
def _print(node: Node) -> Kernel:
    limit, first_n = node.attrs["summarize"], node.attrs["first_n"]
    message = node.attrs["message"].decode(errors="replace")
    # one count for the session, whatever program the node runs in
    key = f"printed {node.attrs.get('_path', node.name.encode()).decode(errors='surrogateescape')}"

    def call(step: Step, x: Any, *data: Any) -> Any:
        if first_n >= 0:
            counts = step.session.setdefault(key, itertools.count())
            if next(counts) >= first_n:
                return x
        sys.stderr.write(message + "".join(summary(d, limit) for d in data) + "\n")
        return x

    return Kernel(call, step=True, aliases=(0,))


@kernel("PrintV2")
def _print_v2(node: Node) -> Callable[..., Any]:
    stream = node.attrs["output_stream"].decode(errors="replace")
    end = node.attrs["end"].decode(errors="replace")

    def call(text: Any) -> None:
        if text.ndim:
            raise InvalidArgumentError(f"the text is a scalar, got shape {list(text.shape)}")
        line = text.item().decode(errors="replace")
        if stream in _streams:
            out = _streams[stream]()
            out.write(line + end)
            out.flush()
        elif stream in _levels:
            _logger.log(_levels[stream], "%s", line)
        elif stream.startswith(FILE):
            with open(stream.removeprefix(FILE), "a", encoding="utf-8") as file:
                file.write(line + end)
        else:
            known = ", ".join([*_streams, *_levels, FILE + "path"])
            raise InvalidArgumentError(f"there is no output stream {stream!r}, only {known}")

    return call
