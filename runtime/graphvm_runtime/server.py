"""The gRPC face of a task: a worker for masters, a master for clients."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import grpc

from graphvm_runtime import kernels
from graphvm_runtime.cluster.addresses import addresses_of, is_local, taken, to_bind
from graphvm_runtime.cluster.calls import (
    Build,
    CallTable,
    Work,
    answer,
    request_of,
    with_handle,
    with_nothing,
    with_values,
)
from graphvm_runtime.cluster.codec import Encoder
from graphvm_runtime.cluster.graphs import received, unpacked
from graphvm_runtime.cluster.hub import Hub, Keys, options
from graphvm_runtime.cluster.remote import RemoteWorker, TaskHandler
from graphvm_runtime.cluster.threads import Threads
from graphvm_runtime.cluster.transport import Handler, Limits, Link
from graphvm_runtime.cluster.worker import LocalWorker, Policy
from graphvm_runtime.engine.master import MasterPlan, MasterSession
from graphvm_runtime.errors import (
    CancelledError,
    GraphError,
    GraphvmError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)  # fmt: skip
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.ops.registry import known
from graphvm_runtime.protos.worker_pb2 import (
    GetStatusRequest,
    GetStatusResponse,
    Packet,
    Reply,
)  # fmt: skip
from graphvm_runtime.trace import Trace
from graphvm_runtime.values.resources import ResourceManager

_STREAMS = 512  # open at a time


def task_name(job: str, index: int) -> str:
    """The full name of a task."""
    return f"/job:{job}/replica:0/task:{index}"


@dataclass(frozen=True, slots=True)
class Safety:
    """Who may reach a server, and what it runs for them.

    Attributes:
        insecure: listen on any address, without TLS.
        keys: files for TLS.
        allowed: ops that touch the host and may run nevertheless.
    """

    insecure: bool = False
    keys: Keys | None = None
    allowed: frozenset[str] = frozenset()


class Server:
    """A task of a cluster.

    Args:
        cluster: for each job the addresses of its tasks by number.
        job: this task's job.
        task: this task's number.
        safety: who may reach it.
        limits: what it takes from others.

    Raises:
        InvalidArgumentError: the cluster has no such task, or is malformed; an op that is to be
            allowed does not exist.
        PermissionDeniedError: the address can be reached from elsewhere, and neither TLS nor
            `insecure` was asked for.
        UnavailableError: the address is taken.
    """

    def __init__(
        self,
        cluster: Mapping[str, Mapping[int, str]],
        job: str,
        task: int,
        safety: Safety | None = None,
        limits: Limits | None = None,
    ) -> None:
        cluster = addresses_of(cluster)
        address = cluster.get(job, {}).get(task)
        if address is None:
            raise InvalidArgumentError(
                f"the cluster has no task {task} of job {job!r}",
                do=f"its jobs are {', '.join(f'{j} ({len(t)} tasks)' for j, t in cluster.items())}",
            )
        self.safety = safety or Safety()
        self.limits = limits or Limits()
        unknown = [op for op in sorted(self.safety.allowed) if not known(op)]
        if unknown:
            raise InvalidArgumentError(
                f"no op has the name {unknown[0]!r}, which is to be allowed",
                do="allow ops by their names, such as SaveV2 RestoreV2",
            )
        if not (is_local(address) or self.safety.insecure or self.safety.keys):
            raise PermissionDeniedError(
                f"{address} can be reached from other machines, and whoever reaches this task can "
                "run programs on it",
                do="listen on localhost, give files for TLS, or say --insecure",
            )
        bound = [address] if address.startswith("unix:") else to_bind(address)
        keys = self.safety.keys
        credentials = None if keys is None else keys.of_server()
        kernels.load_all()  # no client should wait for one
        self.name = task_name(job, task)
        self._threads = Threads(f"graphvm-{job}-{task}")
        self.resources = ResourceManager()
        policy = Policy(self.safety.allowed, self.limits.nodes)
        self.worker = LocalWorker(self.name, self.resources, self._threads, policy)
        handler = TaskHandler(self.worker, serves=True)
        addresses = {task_name(j, i): a for j, tasks in cluster.items() for i, a in tasks.items()}
        self._ended = threading.Event()
        face = grpc.server(
            self._threads,  # type: ignore[arg-type]  # any Executor will do
            options=options(self.limits),
            maximum_concurrent_rpcs=_STREAMS,
        )
        self.address = self._listen(face, address, bound, credentials)
        addresses[self.name] = self.address
        self.hub = Hub(self.name, addresses, handler, self._threads, self.limits, self.safety.keys)
        handler.hub = self.hub
        self.worker.network = self.hub
        self._lock = threading.Lock()
        self._clients: set[_Client] = set()
        self._stopped = False
        face.add_generic_rpc_handlers((
            grpc.method_handlers_generic_handler("graphvm.WorkerService", {
                "Link": grpc.stream_stream_rpc_method_handler(self.hub.accept),
                "GetStatus": grpc.unary_unary_rpc_method_handler(
                    self._status, GetStatusRequest.FromString, GetStatusResponse.SerializeToString
                ),
            }),
            grpc.method_handlers_generic_handler("graphvm.MasterService", {
                "Session": grpc.stream_stream_rpc_method_handler(self._session),
            }),
        ))  # fmt: skip
        # None once it is stopped, since it keeps files open as long as it lives
        self._grpc: grpc.Server | None = face

    @property
    def target(self) -> str:
        """What a session takes to have this server as its master."""
        return f"grpc://{self.address}"

    def start(self) -> None:
        """Begins to serve."""
        if self._grpc is not None:
            self._grpc.start()

    def join(self, timeout: float | None = None) -> bool:
        """Waits until the server is stopped; whether it was, where there is a timeout."""
        return self._ended.wait(timeout)

    def stop(self) -> None:
        """Ends all sessions, steps and streams."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            clients = list(self._clients)
        error = UnavailableError(f"task {self.name} was stopped", task=self.name)
        for client in clients:
            client.end(error)
        self.worker.close(error)
        self.hub.close(error)
        if self._grpc is not None:
            self._grpc.stop(None).wait(5)
            self._grpc = None
        self._threads.shutdown()
        self._ended.set()

    @staticmethod
    def _listen(
        face: grpc.Server,
        address: str,
        bound: list[str],
        credentials: grpc.ServerCredentials | None,
    ) -> str:
        """Binds the address; gives it with its port, which may have been 0."""
        try:
            for each in bound:
                if credentials is None:
                    port = face.add_insecure_port(each)
                else:
                    port = face.add_secure_port(each, credentials)
                if not port:
                    raise taken(address, "no port")
        except RuntimeError as error:
            raise taken(address, str(error)) from error
        if address.startswith("unix:"):
            return address
        return f"{address.rpartition(':')[0]}:{bound[0].rpartition(':')[2]}"

    def _status(self, request: GetStatusRequest, context: Any) -> GetStatusResponse:
        with self._lock:
            clients = len(self._clients)
        return GetStatusResponse(
            task=self.name,
            incarnation=self.hub.incarnation,
            links=self.hub.open_links,
            sessions=clients + self.worker.open_sessions,
            steps=self.worker.open_steps,
        )

    def _session(self, incoming: Iterator[bytes], context: Any) -> Iterator[bytes]:
        workers = [
            self.worker if task == self.name else RemoteWorker(task, self.hub, self.limits.connect)
            for task in self.hub.addresses
        ]
        client = _Client(self, MasterSession(workers, self.name))
        link = Link(client, self._threads, self.limits, self.hub.hello())
        link.accepted = True
        link.on_closed = context.cancel
        client.link = link
        with self._lock:
            if self._stopped:
                link.close()
            self._clients.add(client)
        link.read(incoming)
        return link.outgoing()

    def left(self, client: _Client) -> None:
        """Forgets a client that has gone."""
        with self._lock:
            self._clients.discard(client)


class _Client(Handler):
    """A session of a client; it lives as long as its stream."""

    def __init__(self, server: Server, session: MasterSession) -> None:
        self.session = session
        self.link: Link | None = None
        self._server = server
        self._task = server.name
        self._plans: list[MasterPlan] = []
        self._calls = CallTable()
        self._nodes: dict[str, Node] = {}

    def end(self, error: GraphvmError) -> None:
        """Ends the session."""
        if self.link is not None:
            self.link.close(error, tell=True)

    def called(self, link: Link, packet: Packet) -> bool:
        """See `Handler`."""
        works = {
            "extend_session": self._extend,
            "make_callable": self._make,
            "list_devices": self._devices,
            "run_callable": self._run,
            "describe_callable": self._describe,
        }
        kind = packet.WhichOneof("kind") or ""
        prepare = works.get(kind)
        if prepare is None:
            link.refuse(packet.id, PermissionDeniedError(f"clients may not ask for {kind}"))
            return False
        long = kind in ("run_callable", "describe_callable")
        work = prepare(link, packet)  # takes the values off the link
        if long:
            link.read_on()
        answer(link, packet.id, work, self._task)
        return long

    def _extend(self, link: Link, packet: Packet) -> Work:
        data, constants = received(packet.extend_session, link.decoder)

        def work() -> Build:
            nodes, library = unpacked(data, constants, self._node)
            count = len(self._nodes) + len(nodes)
            if count > self._server.limits.nodes:
                raise InvalidArgumentError(
                    f"a graph of {count} nodes; the limit is {self._server.limits.nodes}"
                )
            self.session.extend(nodes, library)
            self._nodes.update((n.name, n) for n in nodes)
            return with_nothing

        return work

    def _node(self, name: str) -> Node:
        found = self._nodes.get(name)
        if found is None:
            raise GraphError(f"the graph has no operation {name!r}")
        return found

    def _make(self, link: Link, packet: Packet) -> Work:
        message = packet.make_callable

        def work() -> Build:
            self._plans.append(self.session.plan(request_of(message)))
            return with_handle(len(self._plans))

        return work

    def _plan(self, handle: int) -> MasterPlan:
        if not 0 < handle <= len(self._plans):
            raise NotFoundError(f"the session has no callable {handle}")
        return self._plans[handle - 1]

    def _run(self, link: Link, packet: Packet) -> Work:
        message, number = packet.run_callable, packet.id
        feeds = link.decoder.values(message.feed)
        plan = self._plan(message.handle)
        if len(feeds) != len(plan.request.feeds):
            raise InvalidArgumentError(f"the callable takes {len(plan.request.feeds)} values")
        cancel = self._calls.begin(link, number)
        trace = Trace() if message.trace else None

        def work() -> Build:
            try:
                results = plan.run(feeds, message.timeout or None, trace, cancel)
            finally:
                self._calls.end(link, number)
            return with_values(results, trace, self._task)

        return work

    def _describe(self, link: Link, packet: Packet) -> Work:
        plan = self._plan(packet.describe_callable.handle)

        def work() -> Build:
            stats = "\n".join(f"{k}={v}" for k, v in plan.stats().items())
            text = plan.text()

            def build(reply: Reply, encoder: Encoder) -> None:
                reply.text.extend((stats, text))

            return build

        return work

    def _devices(self, link: Link, packet: Packet) -> Work:
        def build(reply: Reply, encoder: Encoder) -> None:
            reply.text.extend(self.session.list_devices())

        return lambda: build

    def cancelled(self, link: Link, number: int, error: GraphvmError) -> None:
        """See `Handler`."""
        self._calls.cancel(link, number, error)

    def lost(self, link: Link, error: GraphvmError) -> None:
        """See `Handler`."""
        self._calls.lost(link, CancelledError("the client has gone"))
        self.session.close()
        self._server.left(self)


__all__ = ["Keys", "Limits", "Safety", "Server", "addresses_of", "is_local", "task_name"]
