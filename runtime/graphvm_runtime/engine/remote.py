"""A session whose master is a server: requests go there over one stream."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from graphvm_runtime.cluster.calls import fill_request
from graphvm_runtime.cluster.codec import Encoder, spans_of
from graphvm_runtime.cluster.graphs import Packed
from graphvm_runtime.cluster.hub import SESSION, Keys, dial
from graphvm_runtime.cluster.threads import Threads
from graphvm_runtime.cluster.transport import PROTOCOL, Answer, Handler, Limits, Link
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.compiler.values import handed_out
from graphvm_runtime.engine.dropped import close_later
from graphvm_runtime.engine.plans import Plans
from graphvm_runtime.engine.steps import session_closed
from graphvm_runtime.errors import CancelledError, DeadlineExceededError
from graphvm_runtime.ir.graph import Function, Node
from graphvm_runtime.protos.worker_pb2 import Hello, Packet, Reply
from graphvm_runtime.trace import Trace

GRACE = 5.0  # seconds that a server has to say that a step was stopped


class RemoteSession:
    """A session at a server.

    Args:
        address: `host:port` or `unix:path`.
        keys: for TLS.
        limits: how long to wait, what to take.
    """

    def __init__(
        self, address: str, keys: Keys | None = None, limits: Limits | None = None
    ) -> None:
        self.address = address
        self._keys = keys
        self._limits = limits or Limits()
        self._threads = Threads("graphvm-client")
        self._link: Link | None = None
        self._dialling = threading.Lock()
        self._plans: Plans[RemotePlan] = Plans()

    def link(self) -> Link:
        """The stream to the server; once it is broken, so is the session.

        Raises:
            UnavailableError: the server cannot be reached.
        """
        link = self._link
        if link is None:
            with self._dialling:
                link = self._link
                if link is None:
                    if self._plans.closed:
                        raise session_closed()
                    hello = Hello(incarnation=secrets.randbits(63), protocol=PROTOCOL)
                    link = self._link = dial(
                        self.address, SESSION, Handler(), self._threads, self._limits, hello,
                        self._keys, self._limits.connect,
                    )  # fmt: skip
        return link

    def extend(self, nodes: Iterable[Node], library: Mapping[str, Function]) -> None:
        """See `Session`; sends them to the server."""
        packed = Packed(list(nodes), library)

        def build(packet: Packet, encoder: Encoder) -> None:
            packed.fill(packet.extend_session, encoder)

        _, answer = self.link().call(build)
        answer.result()

    def plan(self, request: Request) -> RemotePlan:
        """See `Session`."""
        return self._plans.get(request, lambda: RemotePlan(self, request))

    def list_devices(self) -> list[str]:
        """See `Session`; of the server's cluster."""

        def build(packet: Packet, encoder: Encoder) -> None:
            packet.list_devices.SetInParent()

        _, answer = self.link().call(build)
        return list(answer.result()[0].text)

    def __del__(self) -> None:
        if getattr(self, "_link", None) is not None and not self._plans.closed:
            close_later(self)

    def close(self) -> None:
        """See `Session`; the server's session ends with the stream."""
        self._plans.close()
        with self._dialling:
            if self._link is not None:
                self._link.close(CancelledError("the session was closed"))
        self._threads.shutdown()


class RemotePlan:
    """One request, compiled by the server."""

    def __init__(self, session: RemoteSession, request: Request) -> None:
        self.request = request
        self._session = session
        self._lock = threading.Lock()
        self._handle = 0

    def run(
        self, feeds: Sequence[Any], timeout: float | None = None, trace: Trace | None = None
    ) -> Sequence[Any]:
        """See `Plan`."""
        handle = self._handle or self._made()

        def build(packet: Packet, encoder: Encoder) -> None:
            message = packet.run_callable
            message.handle = handle
            message.trace = trace is not None
            message.timeout = timeout or 0.0
            for value in feeds:
                encoder.fill(message.feed.add(), value)

        link = self._session.link()
        number, answer = link.call(build)
        try:
            if not answer.wait(None if timeout is None else timeout + GRACE):
                error = DeadlineExceededError(
                    f"the server did not answer within {timeout:g} seconds and a grace period"
                )
                link.cancel(number, error)
                raise error
        except KeyboardInterrupt:
            link.cancel(number, CancelledError("the step was interrupted"))
            answer.wait(GRACE)
            raise
        reply, values = answer.result()
        if trace is not None:
            trace.spans.extend(spans_of(reply.span))
        return [handed_out(v, False) for v in values]

    def direct(self) -> None:
        """None: it always needs the server."""
        return

    def stats(self) -> dict[str, int]:
        """Counts of what the server's shares hold."""
        lines = self._described()[0].splitlines()
        return {k: int(v) for k, v in (line.split("=") for line in lines)}

    def text(self) -> str:
        """The graphs of the shares."""
        return self._described()[1]

    def _made(self) -> int:
        def build(packet: Packet, encoder: Encoder) -> None:
            fill_request(packet.make_callable, self.request)

        with self._lock:
            if not self._handle:
                self._handle = int(self._asked(build).handle)
        return self._handle

    def _described(self) -> list[str]:
        handle = self._handle or self._made()

        def build(packet: Packet, encoder: Encoder) -> None:
            packet.describe_callable.handle = handle

        return list(self._asked(build).text)

    def _asked(self, build: Callable[[Packet, Encoder], None]) -> Reply:
        answer: Answer = self._session.link().call(build)[1]
        return answer.result()[0]
