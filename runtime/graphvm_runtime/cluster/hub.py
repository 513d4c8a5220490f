"""The links of one process: dialled when they are first needed, kept for good."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# gRPC's core tells of each connection that ends; we tell of those that matter ourselves
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

import grpc

from graphvm_runtime import config
from graphvm_runtime.cluster.codec import copied
from graphvm_runtime.cluster.rendezvous import Route
from graphvm_runtime.cluster.threads import Threads
from graphvm_runtime.cluster.transport import PROTOCOL, Handler, Limits, Link
from graphvm_runtime.errors import (
    GraphvmError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)  # fmt: skip
from graphvm_runtime.protos.worker_pb2 import Hello

LINK = "/graphvm.WorkerService/Link"
SESSION = "/graphvm.MasterService/Session"
_MESSAGE = 16 << 20  # bytes; chunks keep messages far below it


@dataclass(frozen=True, slots=True)
class Keys:
    """Files for TLS in which both sides show a certificate.

    Attributes:
        authority: certificates of those whom to trust.
        certificate: this process's own.
        key: its private key.
    """

    authority: str
    certificate: str
    key: str

    def _read(self) -> tuple[bytes, bytes, bytes]:
        try:
            return (
                Path(self.authority).read_bytes(),
                Path(self.certificate).read_bytes(),
                Path(self.key).read_bytes(),
            )
        except OSError as error:
            raise NotFoundError(f"a TLS file cannot be read: {error}") from error

    def of_server(self) -> grpc.ServerCredentials:
        """What a server shows and asks for."""
        authority, certificate, key = self._read()
        return grpc.ssl_server_credentials([(key, certificate)], authority, True)

    def of_client(self) -> grpc.ChannelCredentials:
        """What a caller shows and asks for."""
        authority, certificate, key = self._read()
        return grpc.ssl_channel_credentials(authority, key, certificate)


def options(limits: Limits) -> list[tuple[str, Any]]:
    """Settings for gRPC, on both sides: a silent peer is asked whether it lives."""
    period = max(200, int(limits.keepalive * 1000))
    answer = max(200, int(limits.answer * 1000))
    return [
        ("grpc.max_receive_message_length", _MESSAGE),
        ("grpc.max_send_message_length", _MESSAGE),
        ("grpc.keepalive_time_ms", period),
        ("grpc.keepalive_timeout_ms", answer),
        ("grpc.http2.ping_timeout_ms", answer),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.max_ping_strikes", 0),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 100),
        # whole chunks in a frame, and several under way
        ("grpc.http2.max_frame_size", 4 << 20),
        ("grpc.http2.lookahead_bytes", 8 << 20),
        ("grpc.http2.write_buffer_size", 8 << 20),
        ("grpc.tcp_read_chunk_size", 1 << 20),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 500),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        ("grpc.enable_http_proxy", 0),
        ("grpc.so_reuseport", 0),
    ]


def dial(
    address: str,
    method: str,
    handler: Handler,
    threads: Threads,
    limits: Limits,
    hello: Hello,
    keys: Keys | None = None,
    patience: float = 0.0,
) -> Link:
    """Opens a stream.

    Args:
        address: `host:port` or `unix:path`.
        method: `LINK` or `SESSION`.
        handler: told what comes.
        threads: where the stream is read.
        limits: what is taken from the other side.
        hello: what to say first; `hello.expects` names the task that must be there.
        keys: for TLS.
        patience: seconds to wait for a process that does not listen yet; 0 for none.

    Raises:
        UnavailableError: nobody answers.
        InvalidArgumentError: somebody else is there.
    """
    settings = options(limits)
    channel = (
        grpc.insecure_channel(address, settings)
        if keys is None
        else grpc.secure_channel(address, keys.of_client(), settings)
    )
    link = Link(handler, threads, limits, hello, hello.expects)
    try:
        call: Any = channel.stream_stream(method)  # bytes both ways, so nothing to convert
        stream = call(link.outgoing(), wait_for_ready=patience > 0)
    except BaseException:
        channel.close()
        raise

    link.on_closed = channel.close
    link.read(stream)
    if not link.greeted.wait(max(patience, limits.connect / 2)):
        link.close(UnavailableError(
            f"nobody answers at {address}", task=hello.expects,
            do="start that task, or correct its address in the cluster",
        ))  # fmt: skip
    if link.error is not None:
        raise copied(link.error)
    if hello.expects and link.peer != hello.expects:
        wrong = InvalidArgumentError(
            f"{address} is {link.peer}, not {hello.expects}",
            do="give all tasks the same cluster",
        )
        link.close(wrong)
        raise wrong
    return link


class Hub:
    """All links of a process to tasks, by name.

    Args:
        task: name of this task.
        addresses: of the tasks of the cluster.
        handler: told what the links bring.
        threads: where they are read.
        limits: what is taken from others.
        keys: for TLS.

    Attributes:
        incarnation: number of this process.
    """

    def __init__(
        self,
        task: str,
        addresses: Mapping[str, str],
        handler: Handler,
        threads: Threads,
        limits: Limits,
        keys: Keys | None = None,
    ) -> None:
        self.task = task
        self.addresses = dict(addresses)
        self.incarnation = secrets.randbits(63) | 1
        self._handler = handler
        self._threads = threads
        self._limits = limits
        self._keys = keys
        self._lock = threading.Lock()
        self._dialling: dict[str, threading.Lock] = {}
        self._links: dict[str, Link] = {}
        self._all: set[Link] = set()
        self._closed = False

    @property
    def open_links(self) -> int:
        """Number of links that are open."""
        return len(self._all)

    def hello(self, expects: str = "") -> Hello:
        """What this process says first."""
        return Hello(
            task=self.task, incarnation=self.incarnation, expects=expects, protocol=PROTOCOL
        )

    def link(self, task: str, patience: float = 0.0) -> Link:
        """The link to a task, opened if there is none.

        Raises:
            UnavailableError: it cannot be reached.
            InvalidArgumentError: the cluster has no such task.
        """
        found = self._links.get(task)
        if found is not None and found.error is None:
            return found
        address = self.addresses.get(task)
        if address is None:
            if found is not None and found.error is not None:
                raise copied(found.error)
            raise InvalidArgumentError(
                f"the cluster has no task {task}",
                do=f"known are {', '.join(sorted(self.addresses))}",
            )
        with self._lock:
            one_at_a_time = self._dialling.setdefault(task, threading.Lock())
        with one_at_a_time:
            found = self._links.get(task)
            if found is not None and found.error is None:
                return found
            link = dial(
                address, LINK, self._handler, self._threads, self._limits, self.hello(task),
                self._keys, patience,
            )  # fmt: skip
            return link

    def accept(self, incoming: Iterator[bytes], context: Any) -> Iterator[bytes]:
        """The server's end of a link that somebody else opened."""
        link = Link(self._handler, self._threads, self._limits, self.hello())
        link.accepted = True
        link.on_closed = context.cancel
        link.read(incoming)
        return link.outgoing()

    def keep(self, link: Link) -> None:
        """Takes in a link whose other end has said who it is."""
        with self._lock:
            if not self._closed and link.error is None:
                self._all.add(link)
                there = self._links.get(link.peer)
                if there is None or there.error is not None:
                    self._links[link.peer] = link
                config.log("rpc", "%s is linked to %s", self.task, link.peer)
                return
        link.close()

    def dropped(self, link: Link) -> None:
        """Forgets a link that has ended."""
        config.log("rpc", "%s lost %s: %s", self.task, link.peer or "a caller", link.error)
        with self._lock:
            self._all.discard(link)
            if self._links.get(link.peer) is link and link.peer not in self.addresses:
                del self._links[link.peer]

    def route(self, step: int) -> Route:
        """The way out for the values of one step."""
        return _Links(self, step)

    def close(self, error: GraphvmError | None = None) -> None:
        """Ends all links."""
        with self._lock:
            self._closed = True
            links = list(self._all)
        for link in links:
            link.close(error, tell=error is not None)


class _Links:
    """The links that one step uses; it stays with them, since order holds on each alone."""

    __slots__ = ("_hub", "_links", "_step")

    def __init__(self, hub: Hub, step: int) -> None:
        self._hub = hub
        self._step = step
        self._links: dict[str, Callable[[int, int, int, Any], None]] = {}

    def send(self, task: str, channel: int, sequence: int, value: Any) -> None:
        """Sends a value to a task. Raises UnavailableError."""
        send = self._links.get(task)
        if send is None:
            send = self._links[task] = self._hub.link(task).send_tensor
        send(self._step, channel, sequence, value)
