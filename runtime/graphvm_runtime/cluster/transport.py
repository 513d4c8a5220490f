"""Streams between processes: one a pair, open for good, for everything they say to each other.

What is put on a link while its sender is busy goes out together as one message, so several
tensors for one peer cost one hop.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias

from graphvm_runtime.cluster.codec import (
    Decoder,
    Encoder,
    as_known,
    chunks,
    copied,
    error_of,
    failure,
    fill_failure,
)  # fmt: skip
from graphvm_runtime.cluster.rendezvous import Spoiled
from graphvm_runtime.cluster.threads import Threads
from graphvm_runtime.errors import (
    AbortedError,
    CancelledError,
    DataLossError,
    GraphvmError,
    InternalError,
    InvalidArgumentError,
    UnavailableError,
)  # fmt: skip
from graphvm_runtime.protos.worker_pb2 import Hello, Packet, Reply

PROTOCOL = 1
_TOGETHER = 256  # tensors in one message at most


@dataclass(frozen=True, slots=True)
class Limits:
    """What a process takes from others.

    Attributes:
        value: bytes of a value, and of all values of one link that are under way.
        nodes: nodes of a graph.
        connect: seconds to wait for a task that does not answer.
        keepalive: seconds after which a silent peer is asked whether it lives.
        answer: seconds in which it must answer that; else it counts as dead.
    """

    value: int = 1 << 33
    nodes: int = 1_000_000
    connect: float = 10.0
    keepalive: float = 2.0
    answer: float = 5.0

    def __post_init__(self) -> None:
        """Raises InvalidArgumentError for a limit that lets nothing through."""
        for field in fields(self):
            number = getattr(self, field.name)
            if not number > 0:
                raise InvalidArgumentError(
                    f"the limit {field.name!r} is {number}, and must be above 0"
                )


Build: TypeAlias = Callable[[Encoder], Packet]
_Tensor: TypeAlias = tuple[int, int, int, Any]  # step, channel, sequence, value


class Answer:
    """The reply to a call, once it is there."""

    __slots__ = ("_callback", "_error", "_lock", "_value")

    def __init__(self, callback: Callable[[Answer], None] | None = None) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        self._callback = callback
        self._error: GraphvmError | None = None
        self._value: tuple[Reply, list[Any]] | None = None

    def finish(self, value: tuple[Reply, list[Any]] | None, error: GraphvmError | None) -> None:
        """Sets the reply or the error."""
        self._value, self._error = value, error
        self._lock.release()
        if self._callback is not None:
            self._callback(self)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it came within so many seconds."""
        if self._lock.acquire(timeout=-1 if timeout is None else timeout):
            self._lock.release()
            return True
        return False

    @property
    def error(self) -> GraphvmError | None:
        """What went wrong, None when all is well."""
        return self._error

    def result(self) -> tuple[Reply, list[Any]]:
        """The reply and its values; waits for it. Raises what the other side raised."""
        self.wait()
        if self._error is not None:
            raise self._error
        assert self._value is not None
        return self._value


class Handler:
    """What a process does with what its links bring; called on the thread that reads."""

    def tensors(self, link: Link, step: int, channel: int, sequence: int, value: Any) -> None:
        """A value for a receiver; `Spoiled` stands for one that could not be taken in."""

    def greeted(self, link: Link) -> None:
        """The other side has said who it is; nothing else has come yet."""

    def called(self, link: Link, packet: Packet) -> bool:
        """A call; must be answered with `link.reply`, now or later.

        Values must be taken off the link before another thread reads it.

        Returns:
            Whether another thread reads the link now (see `read_on`).

        Raises:
            GraphvmError: the answer to the call, which could not be read.
        """
        link.refuse(packet.id, InternalError("nobody takes calls here"))
        return False

    def cancelled(self, link: Link, number: int, error: GraphvmError) -> None:
        """The caller of call `number` wants it stopped."""

    def unwanted(self, link: Link, step: int, error: GraphvmError) -> None:
        """A step will never begin here."""

    def lost(self, link: Link, error: GraphvmError) -> None:
        """The link has ended; calls on it have been answered with the error."""


class Link:
    """One end of a stream.

    Args:
        handler: told what comes.
        threads: where it reads, and runs what takes long.
        limits: what is taken from the other side.
        hello: what this side says first.
        peer: name of the task at the other end, as far as it is known.

    Attributes:
        peer: its name, once `greeted` is set.
        incarnation: of the process at the other end.
        accepted: the other side has opened it.
    """

    def __init__(
        self, handler: Handler, threads: Threads, limits: Limits, hello: Hello, peer: str = ""
    ) -> None:
        self.peer = peer
        self.incarnation = 0
        self.greeted = threading.Event()
        self.error: GraphvmError | None = None
        self.accepted = False
        self.on_closed: Callable[[], None] = lambda: None
        self._handler = handler
        self._threads = threads
        self.decoder = Decoder(limits.value)
        self.last_call = 0  # highest number of a call that came
        self._out: SimpleQueue[Any] = SimpleQueue()
        self._urgent: deque[bytes] = deque()
        self._sent = threading.Event()
        self._hello = Packet(hello=hello).SerializeToString()
        self._task = hello.task
        self._lock = threading.Lock()
        self._calls: dict[int, Answer] = {}
        self._numbers = itertools.count(1)
        self._incoming: Iterator[bytes] = iter(())

    def __repr__(self) -> str:
        return f"<Link to {self.peer or 'somebody'}{' (lost)' if self.error else ''}>"

    # -- sending ---------------------------------------------------------------------------

    def send_tensor(self, step: int, channel: int, sequence: int, value: Any) -> None:
        """Sends a value to a receiver. Raises UnavailableError."""
        if self.error is not None:
            raise copied(self.error)
        self._out.put((step, channel, sequence, value))

    def send(self, build: Build) -> None:
        """Sends what `build` makes on the sender's thread."""
        self._out.put(build)

    def call(
        self,
        build: Callable[[Packet, Encoder], None],
        callback: Callable[[Answer], None] | None = None,
    ) -> tuple[int, Answer]:
        """Calls the other side.

        Args:
            build: fills the packet, on the sender's thread.
            callback: told of the answer on the thread that reads.

        Returns:
            The number of the call, and what will hold its answer.
        """
        answer = Answer(callback)

        def filled(encoder: Encoder) -> Packet:
            packet = Packet(id=number)
            try:
                build(packet, encoder)
            except BaseException as problem:
                self._finish(number, None, as_known(problem))
                raise
            return packet

        with self._lock:  # calls are sent in the order of their numbers
            number = next(self._numbers)
            error = self.error
            if error is None:
                self._calls[number] = answer
                self._out.put(filled)
        if error is not None:
            answer.finish(None, copied(error))
        return number, answer

    def reply(self, number: int, build: Callable[[Reply, Encoder], None]) -> None:
        """Answers a call; what `build` raises is the answer too."""

        def filled(encoder: Encoder) -> Packet:
            packet = Packet(id=number)
            packet.reply.SetInParent()
            try:
                build(packet.reply, encoder)
            except Exception as error:
                encoder.blobs.clear()
                packet.reply.Clear()
                fill_failure(packet.reply.failure, error)
            return packet

        self._out.put(filled)

    def refuse(self, number: int, error: BaseException, task: str = "") -> None:
        """Answers a call with an error."""
        packet = Packet(id=number)
        fill_failure(packet.reply.failure, error, task)
        self._urgent.append(packet.SerializeToString())
        self._out.put(b"")

    def cancel(self, number: int, error: GraphvmError) -> None:
        """Asks the other side to stop a call; overtakes what waits to be sent."""
        packet = Packet(id=number)
        packet.cancel.failure.CopyFrom(failure(error))
        self._urgent.append(packet.SerializeToString())
        self._out.put(b"")

    def drop(self, step: int, error: GraphvmError) -> None:
        """Tells the other side that a step will never begin there."""
        packet = Packet()
        packet.cancel.failure.CopyFrom(failure(error))
        packet.cancel.step = step
        self._urgent.append(packet.SerializeToString())
        self._out.put(b"")

    def outgoing(self) -> Iterator[bytes]:
        """What gRPC sends, on a thread of its own."""
        yield self._hello
        encoder = Encoder()
        item: Any = None
        while True:
            if item is None:
                item = self._out.get()
            while self._urgent:
                yield self._urgent.popleft()
            following = None
            if type(item) is bytes:
                if item:
                    yield item
                item = None
                continue
            if item is self:
                while self._urgent:
                    yield self._urgent.popleft()
                self._sent.set()
                return
            encoder.begin()
            try:
                if type(item) is tuple:
                    packet, following = self._tensors(item, encoder)
                else:
                    packet = item(encoder)
            except Exception as error:
                encoder.blobs.clear()
                # a call that cannot be written has its error; for anything else somebody waits
                if not isinstance(error, GraphvmError):
                    self.close(InternalError(f"a message could not be written: {error}"), tell=True)
                item = None
                continue
            if encoder.blobs:
                blobs, encoder.blobs = encoder.blobs, []
                for number, data in blobs:
                    for chunk in chunks(number, data):
                        while self._urgent:
                            yield self._urgent.popleft()
                        yield chunk
                del blobs
            yield packet.SerializeToString()
            item = following

    def _tensors(self, item: _Tensor, encoder: Encoder) -> tuple[Packet, Any]:
        """One message of all tensors of a step that wait in line, and what comes after them."""
        packet = Packet()
        tensors = packet.tensors
        step = tensors.step = item[0]
        following: Any = item
        for _ in range(_TOGETHER):
            _, channel, sequence, value = following
            added = tensors.tensor.add(channel=channel, sequence=sequence)
            try:
                encoder.fill(added.value, value)
            except GraphvmError as error:  # it ends its step, not the link
                del tensors.tensor[-1]
                self.drop(step, error)
            if encoder.blobs:
                return packet, None
            try:
                following = self._out.get_nowait()
            except Empty:
                return packet, None
            if type(following) is not tuple or following[0] != step:
                return packet, following
        return packet, following

    # -- receiving -------------------------------------------------------------------------

    def read(self, incoming: Iterable[bytes]) -> None:
        """Reads the stream on a thread of its own until it ends."""
        self._incoming = iter(incoming)
        self._threads.start(self._read)

    def read_on(self) -> None:
        """Lets another thread read on: this one, which reads, has something long to do."""
        self._threads.start(self._read)

    def _read(self) -> None:
        decode = self.decoder.packet
        incoming = self._incoming
        while self.error is None:
            try:
                data = next(incoming, None)
            except Exception as error:
                self.close(_broken(self._name(), self.peer, error))
                return
            if data is None:
                self.close(UnavailableError(f"{self._name()} ended the connection", task=self.peer))
                return
            try:
                packet = decode(data)
                if packet is not None and self._take(packet):
                    return
            except Exception as error:
                self.close(as_known(error), tell=True)
                return

    def _take(self, packet: Packet) -> bool:
        """Does what a message says; whether this thread is to read no more.

        Raises:
            GraphvmError: the message is malformed, so the link must end.
        """
        handler, decoder = self._handler, self.decoder
        kind = packet.WhichOneof("kind")
        if kind == "tensors":
            step = packet.tensors.step
            for each in packet.tensors.tensor:
                try:
                    value = decoder.value(each.value)
                except GraphvmError as error:  # it ends its step, not the link
                    value = Spoiled(copied(error))
                handler.tensors(self, step, each.channel, each.sequence, value)
            decoder.forget()
        elif kind == "reply":
            reply = packet.reply
            if not packet.id:  # a farewell
                self.close(error_of(reply.failure))
                return True
            if reply.HasField("failure"):
                self._finish(packet.id, None, error_of(reply.failure))
                return False
            try:
                values = decoder.values(reply.value)
            except GraphvmError as error:
                self._finish(packet.id, None, copied(error))
            else:
                self._finish(packet.id, (reply, values), None)
            decoder.forget()
        elif kind == "cancel":
            problem = error_of(packet.cancel.failure)
            if packet.id:
                handler.cancelled(self, packet.id, problem)
            else:
                handler.unwanted(self, packet.cancel.step, problem)
        elif kind == "hello":
            self._greet(packet.hello)
        elif kind is None or kind == "chunk":
            raise DataLossError("a message of no known kind")
        elif not packet.id:
            raise DataLossError(f"a call of kind {kind} has no number")
        else:
            self.last_call = packet.id
            try:
                if handler.called(self, packet):
                    return True
            except GraphvmError as error:
                self.refuse(packet.id, error, self._task)
            decoder.forget()
        return False

    def _greet(self, hello: Hello) -> None:
        if hello.protocol != PROTOCOL:
            raise AbortedError(
                f"{hello.task} speaks version {hello.protocol} of the protocol, "
                f"this process speaks version {PROTOCOL}",
                do="run the same version of GraphVM everywhere",
            )
        self.peer = hello.task or self.peer
        self.incarnation = hello.incarnation
        self._handler.greeted(self)
        self.greeted.set()

    def _name(self) -> str:
        return f"task {self.peer}" if self.peer else "the other side"

    def _finish(
        self, number: int, value: tuple[Reply, list[Any]] | None, error: GraphvmError | None
    ) -> None:
        with self._lock:
            answer = self._calls.pop(number, None)
        if answer is not None:
            answer.finish(value, error)

    def close(self, error: GraphvmError | None = None, tell: bool = False) -> None:
        """Ends the stream; calls that wait for an answer get the error.

        Args:
            error: why.
            tell: tell the other side too.
        """
        error = copied(error or CancelledError("the connection was closed"))
        with self._lock:
            if self.error is not None:
                return
            self.error = error
            calls = list(self._calls.values())
            self._calls.clear()
        if tell:
            packet = Packet()
            fill_failure(packet.reply.failure, error)
            self._urgent.append(packet.SerializeToString())
        self._out.put(self)
        self.greeted.set()
        # gRPC's objects keep files open as long as they live, and chunks memory
        self._incoming = iter(())
        self.decoder = Decoder(0)
        on_closed, self.on_closed = self.on_closed, lambda: None
        try:
            self._threads.start(self._part, on_closed, tell)
        except RuntimeError:
            on_closed()
        for answer in calls:
            answer.finish(None, copied(error))
        self._handler.lost(self, error)

    def _part(self, on_closed: Callable[[], None], told: bool) -> None:
        """Lets gRPC go, on a thread that is none of its own; a farewell gets a moment to leave."""
        if told and self._sent.wait(1.0) and self.accepted:
            return  # the server's end is over with its last message
        on_closed()


def _broken(name: str, peer: str, error: Exception) -> GraphvmError:
    details = getattr(error, "details", None)
    said = details() if callable(details) else str(error)
    return UnavailableError(
        f"{name} cannot be reached: {said or type(error).__name__}",
        task=peer,
        do="see whether that process runs; a new session works once it is back",
    )
