"""A worker of another process: its calls as packets, on both sides of the link."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from graphvm_runtime.cluster.calls import (
    Build,
    CallTable,
    Work,
    answer,
    fill_request,
    request_of,
    with_handle,
    with_nothing,
    with_values,
)
from graphvm_runtime.cluster.codec import Encoder, spans_of
from graphvm_runtime.cluster.graphs import Packed, received, unpacked
from graphvm_runtime.cluster.hub import Hub
from graphvm_runtime.cluster.transport import Answer, Handler, Link
from graphvm_runtime.cluster.worker import Done, LocalWorker, Run
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import AbortedError, GraphError, GraphvmError, PermissionDeniedError
from graphvm_runtime.ir.graph import Graph, Node
from graphvm_runtime.protos.worker_pb2 import Packet
from graphvm_runtime.trace import Trace


class RemoteWorker:
    """A task of another process.

    Args:
        task: its name.
        hub: the links of this process.
        patience: seconds to wait for it at the first contact.
    """

    def __init__(self, task: str, hub: Hub, patience: float) -> None:
        self._task = task
        self._hub = hub
        self._patience = patience
        self._incarnation = 0
        self._link: Link | None = None

    @property
    def task(self) -> str:
        """Its name."""
        return self._task

    def contact(self) -> Hashable:
        """The link, opened if need be.

        Raises:
            UnavailableError: the task cannot be reached.
            AbortedError: it was restarted since the first contact.
        """
        link = self._link
        if link is not None and link.error is None:
            return link
        link = self._hub.link(self._task, 0 if self._incarnation else self._patience)
        if self._incarnation and link.incarnation != self._incarnation:
            raise AbortedError(
                f"task {self._task} was restarted: its variables and queues are lost",
                do="make a new session and initialise or restore its variables",
                task=self._task,
            )
        self._incarnation = link.incarnation
        self._link = link
        return link

    def _live(self) -> Link:
        link = self.contact()
        assert isinstance(link, Link)
        return link

    def register(self, session: int, graph: Graph, request: Request) -> int:
        """See `Worker`."""
        packed = Packed(graph.nodes, graph.library)

        def build(packet: Packet, encoder: Encoder) -> None:
            message = packet.register_graph
            message.session = session
            packed.fill(message, encoder)
            fill_request(message, request)

        _, came = self._live().call(build)
        return int(came.result()[0].handle)

    def start(self, run: Run, done: Done) -> None:
        """See `Worker`."""

        def build(packet: Packet, encoder: Encoder) -> None:
            message = packet.run_graph
            message.handle = run.handle
            message.step = run.step
            message.trace = run.trace
            for value in run.feeds:
                encoder.fill(message.feed.add(), value)

        def answered(came: Answer) -> None:
            if came.error is not None:
                done(None, [], came.error)
            else:
                reply, values = came.result()
                done(values, spans_of(reply.span), None)

        try:
            link = self._live()
        except GraphvmError as error:
            done(None, [], error)
            return
        number, _ = link.call(build, answered)
        run.call = link, number

    def cancel(self, run: Run, error: GraphvmError) -> None:
        """See `Worker`."""
        if run.call is not None:
            link, number = run.call
            link.cancel(number, error)

    def drop(self, run: Run, error: GraphvmError) -> None:
        """See `Worker`."""
        link = self._link
        if link is not None and link.error is None:
            link.drop(run.step, error)

    def cleanup(self, session: int) -> None:
        """See `Worker`."""
        link = self._link
        if link is not None and link.error is None:

            def build(packet: Packet, encoder: Encoder) -> None:
                packet.cleanup_session.session = session

            link.call(build)


def _outside(name: str) -> Node:
    raise GraphError(f"the graph has no operation {name!r}")


class TaskHandler(Handler):
    """What a process does with what the links to other tasks bring.

    Args:
        worker: the worker of this process.
        serves: whether others may register and run graphs here.
    """

    def __init__(self, worker: LocalWorker, serves: bool) -> None:
        self._worker = worker
        self._serves = serves
        self.hub: Hub | None = None
        self._calls = CallTable()

    def greeted(self, link: Link) -> None:
        """See `Handler`."""
        if self.hub is not None:
            self.hub.keep(link)

    def tensors(self, link: Link, step: int, channel: int, sequence: int, value: Any) -> None:
        """See `Handler`."""
        self._worker.deliver(step, link.peer, channel, sequence, value)

    def called(self, link: Link, packet: Packet) -> bool:
        """See `Handler`."""
        kind = packet.WhichOneof("kind")
        number = packet.id
        if not self._serves or kind not in ("register_graph", "run_graph", "cleanup_session"):
            link.refuse(
                number,
                PermissionDeniedError(f"{self._worker.task} does not take calls of kind {kind}"),
                self._worker.task,
            )
            return False
        if kind == "cleanup_session":
            self._worker.cleanup(packet.cleanup_session.session)
            link.reply(number, with_nothing)
            return False
        # values are taken off the link before another thread reads on
        if kind == "register_graph":
            work = self._register(link, packet)
            link.read_on()
            answer(link, number, work, self._worker.task)
            return True
        run, trace = self._run_of(link, packet)
        cancel = self._calls.begin(link, number)
        if cancel.error is not None:
            self._worker.unwanted(run.step, cancel.error)
        link.read_on()

        def execute() -> Build:
            return with_values(
                self._worker.execute(run, cancel, link, trace), trace, self._worker.task
            )

        try:
            answer(link, number, execute, self._worker.task)
        finally:
            self._calls.end(link, number)
        return True

    def _register(self, link: Link, packet: Packet) -> Work:
        message = packet.register_graph
        data, constants = received(message, link.decoder)

        def work() -> Build:
            nodes, library = unpacked(data, constants, _outside)
            graph = Graph(tuple(nodes), library)
            request = request_of(message)
            return with_handle(self._worker.register(message.session, graph, request, link))

        return work

    @staticmethod
    def _run_of(link: Link, packet: Packet) -> tuple[Run, Trace | None]:
        message = packet.run_graph
        feeds = link.decoder.values(message.feed)
        run = Run(message.handle, message.step, feeds, message.trace)
        return run, Trace() if message.trace else None

    def cancelled(self, link: Link, number: int, error: GraphvmError) -> None:
        """See `Handler`."""
        self._calls.cancel(link, number, error)

    def unwanted(self, link: Link, step: int, error: GraphvmError) -> None:
        """See `Handler`."""
        self._worker.unwanted(step, error)

    def lost(self, link: Link, error: GraphvmError) -> None:
        """See `Handler`."""
        if self.hub is not None:
            self.hub.dropped(link)
        self._calls.lost(link, error)
        self._worker.gone(link, error)
        if link.peer:
            self._worker.gone(link.peer, error)
