"""Calls that came over links: which of them run, how they are cancelled, how they are answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from graphvm_runtime.cluster.codec import Encoder, copied, fill_spans
from graphvm_runtime.cluster.transport import Link
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import GraphvmError
from graphvm_runtime.ir.graph import endpoint
from graphvm_runtime.protos.worker_pb2 import Reply
from graphvm_runtime.trace import Trace
from graphvm_runtime.values.resources import Cancellation

Build: TypeAlias = Callable[[Reply, Encoder], None]
Work: TypeAlias = Callable[[], Build]


class CallTable:
    """The calls that can be cancelled, and the cancels that have overtaken their call.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[tuple[Link, int], Cancellation] = {}
        self._early: dict[tuple[Link, int], GraphvmError] = {}

    def begin(self, link: Link, number: int) -> Cancellation:
        """What cancels a call that came; already cancelled where it is not wanted any more.

        It must be ended with `end`.
        """
        cancel = Cancellation()
        with self._lock:
            self._running[link, number] = cancel
            # a link that is lost has told so, or does once it finds this call running
            error = self._early.pop((link, number), None) or link.error
        if error is not None:
            cancel.cancel(copied(error))
        return cancel

    def end(self, link: Link, number: int) -> None:
        """Forgets a call."""
        with self._lock:
            self._running.pop((link, number), None)

    def cancel(self, link: Link, number: int, error: GraphvmError) -> None:
        """Stops a call, even one that has not come yet."""
        with self._lock:
            cancel = self._running.get((link, number))
            if cancel is None and number > link.last_call:
                self._early[link, number] = error
        if cancel is not None:
            cancel.cancel(error)

    def lost(self, link: Link, error: GraphvmError) -> None:
        """Stops all calls of a link, and forgets what came for others."""
        with self._lock:
            for key in [k for k in self._early if k[0] is link]:
                del self._early[key]
            running = [c for key, c in self._running.items() if key[0] is link]
        for cancel in running:
            cancel.cancel(copied(error))


def answer(link: Link, number: int, work: Work, task: str) -> None:
    """Does the work of a call and answers it; whatever is raised is the answer too."""
    try:
        build = work()
    except Exception as error:
        link.refuse(number, error, task)
    else:
        link.reply(number, build)


def with_nothing(reply: Reply, encoder: Encoder) -> None:
    """An answer that says no more than that all is well."""


def with_handle(handle: int) -> Build:
    """An answer that names what was made."""

    def build(reply: Reply, encoder: Encoder) -> None:
        reply.handle = handle

    return build


def with_values(values: Sequence[Any], trace: Trace | None, task: str) -> Build:
    """An answer of values, and of the spans of a trace."""

    def build(reply: Reply, encoder: Encoder) -> None:
        for value in values:
            encoder.fill(reply.value.add(), value)
        if trace is not None:
            fill_spans(reply.span, trace.spans, task)

    return build


def fill_request(message: Any, request: Request) -> None:
    """Writes a request into a message that has `feed`, `fetch` and `target`."""
    message.feed.extend(map(str, request.feeds))
    message.fetch.extend(map(str, request.fetches))
    message.target.extend(request.targets)


def request_of(message: Any) -> Request:
    """The request in a message. Raises GraphError where a tensor's name is malformed."""
    return Request(
        tuple(map(endpoint, message.feed)),
        tuple(map(endpoint, message.fetch)),
        tuple(message.target),
    )
