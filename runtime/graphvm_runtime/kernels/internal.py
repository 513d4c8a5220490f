"""Kernels of ops that never leave a process: `_Send` and `_Recv` between the devices of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphvm_runtime.kernels.state  # noqa: F401 (makes `_Reference`, as it makes VarHandleOp)
from graphvm_runtime.device_spec import parsed
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel, kernel
from graphvm_runtime.values.resources import Step


@kernel("_Send")
def send(node: Node) -> Kernel:
    """Puts a value on the channel of its edge; returns at once."""
    channel: int = node.attrs["_channel"]
    task = str(parsed(node.attrs["recv_device"].decode("utf-8", "replace")).task_only())
    dtype = node.attrs["T"].numpy

    def call(step: Step, value: Any) -> None:
        if not isinstance(value, np.ndarray | np.generic):
            value = np.asarray(value, dtype)
        step.channels.send(task, channel, value)

    return Kernel(call, step=True, lends=(0,))


@kernel("_Recv")
def receive(node: Node) -> Kernel:
    """Takes the next value from the channel of its edge; waits for it."""
    channel: int = node.attrs["_channel"]
    # so many receives run ahead of the sends
    lag: int = node.attrs.get("_lag", 0)

    def call(step: Step) -> Any:
        return step.channels.receive(channel, lag)

    def start(step: Step, done: Callable[..., None]) -> None:
        step.channels.start_receive(channel, lag, done)

    return Kernel(call, step=True, start=start)
