"""A worker of another process: its calls as packets, on both sides of the link."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from graphvm_runtime.cluster.codec import Encoder, copied, fill_spans, spans_of
from graphvm_runtime.cluster.graphs import Packed, received, unpacked
from graphvm_runtime.cluster.hub import Hub
from graphvm_runtime.cluster.transport import Answer, Handler, Link
from graphvm_runtime.cluster.worker import Done, LocalWorker, Run
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.errors import AbortedError, GraphError, GraphvmError, PermissionDeniedError
from graphvm_runtime.ir.graph import Graph, Node, endpoint
from graphvm_runtime.protos.worker_pb2 import Packet, Reply
from graphvm_runtime.trace import Trace
from graphvm_runtime.values.resources import Cancellation

Build: TypeAlias = Callable[[Reply, Encoder], None]
Work: TypeAlias = Callable[[], Build]


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
            message.feed.extend(map(str, request.feeds))
            message.fetch.extend(map(str, request.fetches))
            message.target.extend(request.targets)

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


def answer(link: Link, number: int, work: Work, task: str) -> None:
    """Does the work of a call and answers it; whatever is raised is the answer too."""
    try:
        build = work()
    except Exception as error:
        link.refuse(number, error, task)
    else:
        link.reply(number, build)


def _nothing(name: str) -> Node:
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
        self._lock = threading.Lock()
        self._running: dict[tuple[Link, int], Cancellation] = {}
        self._early: dict[tuple[Link, int], GraphvmError] = {}

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
            link.reply(number, lambda reply, encoder: None)
            return False
        # values are taken off the link before another thread reads on
        if kind == "register_graph":
            work = self._register(link, packet)
        else:
            cancel = Cancellation()
            work = self._run(link, packet, cancel)
            with self._lock:
                early = self._early.pop((link, number), None)
                self._running[link, number] = cancel
            if early is not None:
                self._worker.unwanted(packet.run_graph.step, early)
                cancel.cancel(early)
        link.read_on()
        try:
            answer(link, number, work, self._worker.task)
        finally:
            with self._lock:
                self._running.pop((link, number), None)
        return True

    def _register(self, link: Link, packet: Packet) -> Work:
        message = packet.register_graph
        data, constants = received(message, link.decoder)

        def work() -> Build:
            request = Request(
                tuple(map(endpoint, message.feed)),
                tuple(map(endpoint, message.fetch)),
                tuple(message.target),
            )
            nodes, library = unpacked(data, constants, _nothing)
            graph = Graph(tuple(nodes), library)
            handle = self._worker.register(message.session, graph, request, link)

            def build(reply: Reply, encoder: Encoder) -> None:
                reply.handle = handle

            return build

        return work

    def _run(self, link: Link, packet: Packet, cancel: Cancellation) -> Work:
        message = packet.run_graph
        run = Run(message.handle, message.step, link.decoder.values(message.feed), message.trace)
        trace = Trace() if message.trace else None

        def work() -> Build:
            results = self._worker.execute(run, cancel, link, trace)

            def build(reply: Reply, encoder: Encoder) -> None:
                for value in results:
                    encoder.fill(reply.value.add(), value)
                if trace is not None:
                    fill_spans(reply.span, trace.spans, self._worker.task)

            return build

        return work

    def cancelled(self, link: Link, number: int, error: GraphvmError) -> None:
        """See `Handler`."""
        with self._lock:
            cancel = self._running.get((link, number))
            if cancel is None and number > link.last_call:
                self._early[link, number] = error  # it has overtaken the call itself
        if cancel is not None:
            cancel.cancel(error)

    def unwanted(self, link: Link, step: int, error: GraphvmError) -> None:
        """See `Handler`."""
        self._worker.unwanted(step, error)

    def lost(self, link: Link, error: GraphvmError) -> None:
        """See `Handler`."""
        if self.hub is not None:
            self.hub.dropped(link)
        with self._lock:
            for key in [k for k in self._early if k[0] is link]:
                del self._early[key]
            running = [c for key, c in self._running.items() if key[0] is link]
        for cancel in running:
            cancel.cancel(copied(error))
        self._worker.gone(link, error)
        if link.peer:
            self._worker.gone(link.peer, error)
