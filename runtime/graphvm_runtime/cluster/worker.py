"""Workers: what runs a device's share of a graph, in this process or in another."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from graphvm_runtime.cluster.codec import as_known, copied
from graphvm_runtime.cluster.rendezvous import Channels, Route
from graphvm_runtime.cluster.state import (
    Forget,
    Open,
    PeerLost,
    StepCancelled,
    StepFinished,
    StepStarted,
    Stop,
    TaskEvent,
    TaskState,
    ValueArrived,
)  # fmt: skip
from graphvm_runtime.cluster.threads import Threads
from graphvm_runtime.compiler.pipeline import Pipeline, configured
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.device_spec import parsed
from graphvm_runtime.errors import (
    AbortedError,
    GraphvmError,
    InvalidArgumentError,
    PermissionDeniedError,
    ResourceExhaustedError,
)  # fmt: skip
from graphvm_runtime.ir.graph import Graph, Node, source_text
from graphvm_runtime.ops.registry import Effects
from graphvm_runtime.trace import Span, Trace
from graphvm_runtime.values.resources import Cancellation, ResourceManager, Step
from graphvm_runtime.vm.executable import Mode, executable_of

# values of the fetches and spans of the trace, or what went wrong
Done = Callable[[list[Any] | None, list[Span], GraphvmError | None], None]


@dataclass(slots=True, eq=False)
class Run:
    """One task's part in one step.

    Attributes:
        handle: of the registered share.
        step: number of the step, the same at all tasks.
        feeds: values for the feeds of the share.
        call: what the worker itself notes, to cancel it.
    """

    handle: int
    step: int
    feeds: Sequence[Any]
    trace: bool = False
    call: Any = None


class Worker(Protocol):
    """A task as a master sees it."""

    @property
    def task(self) -> str:
        """Its name, /job:worker/replica:0/task:1."""

    def contact(self) -> Hashable:
        """What stays the same as long as the task keeps what was registered with it.

        Raises:
            UnavailableError: it cannot be reached.
            AbortedError: it was restarted since the first contact.
        """

    def register(self, session: int, graph: Graph, request: Request) -> int:
        """Compiles a share of a graph; gives its handle.

        Raises:
            GraphvmError: it cannot be compiled, or the task refuses it.
        """

    def start(self, run: Run, done: Done) -> None:
        """Begins a run and returns; `done` is called once, perhaps from another thread."""

    def cancel(self, run: Run, error: GraphvmError) -> None:
        """Asks a run that was started to stop; it still calls `done`."""

    def drop(self, run: Run, error: GraphvmError) -> None:
        """Says that a run will never be started, though others may have sent values for it."""

    def cleanup(self, session: int) -> None:
        """Lets the task forget a session; errors do not matter any more."""


class Network(Protocol):
    """How values get from this task to others."""

    def route(self, step: int) -> Route:
        """The way out for the values of one step."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a task accepts from others.

    Attributes:
        allowed: ops that touch the host and may run nevertheless; None allows all.
        nodes: most nodes in a graph.
    """

    allowed: frozenset[str] | None = None
    nodes: int = 1_000_000

    def check(self, graph: Graph) -> None:
        """Raises PermissionDeniedError for an op that may not run, ResourceExhaustedError."""
        nodes = list(graph.all_nodes())
        count = len(nodes)
        if count > self.nodes:
            raise ResourceExhaustedError(f"a graph of {count} nodes; the limit is {self.nodes}")
        if self.allowed is None:
            return
        for node in nodes:
            if node.effects & Effects.HOST and node.op.name not in self.allowed:
                raise PermissionDeniedError(
                    f"this task does not run {node.op.name}, which reaches the machine it runs on",
                    node=node.signature(),
                    made=source_text(node.source),
                    do=f"start it with --allow {node.op.name}, if you trust those who can reach it",
                )


class _Share:
    """A compiled share of a graph."""

    def __init__(self, graph: Graph, request: Request, task: str) -> None:
        nodes = list(graph.all_nodes())
        self.peers = frozenset(
            [_task_of(n, "send_device") for n in nodes if n.op.name == "_Recv"]
            + [_task_of(n, "recv_device") for n in nodes if n.op.name == "_Send"]
        )
        self.request = request
        executable = executable_of(graph, request)
        configured(Pipeline(passes=()))(graph, request).tell("program", executable.text)
        self.run = executable.run
        self._graph = graph
        self._task = task

    @cached_property
    def traced(self) -> Callable[..., Sequence[Any]]:
        """What runs it one instruction at a time and notes each in the trace of the step."""
        return executable_of(self._graph, self.request, Mode.TRACED, self._task).run


def _task_of(node: Node, attr: str) -> str:
    return str(parsed(node.attrs[attr].decode()).task_only())


@dataclass(slots=True)
class _Session:
    """What a task keeps for a session of a master."""

    owner: Hashable
    state: dict[str, Any] = field(default_factory=dict)
    handles: set[int] = field(default_factory=set)


class _Running:
    """What a task keeps for an open step; there is nothing to cancel until it has begun."""

    __slots__ = ("cancel", "channels")

    def __init__(self) -> None:
        self.channels = Channels()
        self.cancel: Cancellation | None = None


class LocalWorker:
    """The worker of this process.

    Args:
        task: its name.
        resources: variables, queues and the like; they outlive sessions.
        threads: where runs go that nobody waits for here.
        policy: what it accepts.

    Attributes:
        network: the way to the other tasks.
    """

    def __init__(
        self, task: str, resources: ResourceManager, threads: Threads, policy: Policy | None = None
    ) -> None:
        self._task = task
        self.resources = resources
        self.network: Network | None = None
        self._threads = threads
        self._policy = policy or Policy()
        self._lock = threading.Lock()
        self._handles = itertools.count(1)
        self._sessions: dict[int, _Session] = {}
        self._shares: dict[int, tuple[_Share, _Session]] = {}
        self._state = TaskState()
        self._running: dict[int, _Running] = {}

    @property
    def task(self) -> str:
        """Its name."""
        return self._task

    def contact(self) -> Hashable:
        """This process is always there."""
        return self

    @property
    def open_sessions(self) -> int:
        """Number of sessions that are kept."""
        return len(self._sessions)

    @property
    def open_steps(self) -> int:
        """Number of steps that run, or for which values have come."""
        return len(self._running)

    def register(self, session: int, graph: Graph, request: Request, owner: Hashable = None) -> int:
        """Compiles a share of a graph; `owner` is who must stay for the session to stay."""
        self._policy.check(graph)
        share = _Share(graph, request, self._task)
        handle = next(self._handles)
        with self._lock:
            kept = self._sessions.get(session)
            if kept is None:
                kept = self._sessions[session] = _Session(owner)
            kept.handles.add(handle)
            self._shares[handle] = share, kept
        return handle

    def start(self, run: Run, done: Done) -> None:
        """Runs on a thread of its own."""
        cancel = run.call = Cancellation()

        def job() -> None:
            trace = Trace() if run.trace else None
            try:
                values = self.execute(run, cancel, trace=trace)
            except Exception as error:
                done(None, [], as_known(error))
            else:
                done(values, trace.spans if trace else [], None)

        self._threads.start(job)

    def execute(
        self, run: Run, cancel: Cancellation, owner: Hashable = None, trace: Trace | None = None
    ) -> list[Any]:
        """Runs a share on this thread; gives the values of its fetches.

        Args:
            run: what to run.
            cancel: stops it.
            owner: who had it begun, and must stay for it to go on.
            trace: where spans go.

        Raises:
            GraphvmError: a node failed, the step was cancelled, or the handle is not known.
        """
        found = self._shares.get(run.handle)
        if found is None:
            raise AbortedError(
                f"task {self._task} does not know the graph: it was restarted, or the session "
                "has ended",
                do="make a new session and initialise its variables",
                task=self._task,
            )
        share, session = found
        if len(run.feeds) != len(share.request.feeds):
            raise InvalidArgumentError(f"the share takes other feeds than {len(run.feeds)} values")
        function = share.run if trace is None else share.traced
        cancel.check()
        if share.peers:
            return self._among_peers(run, share, session, function, cancel, owner, trace)
        step = Step(self.resources, session.state, run.step, cancel, None, trace)
        return list(function(step, *run.feeds))

    def _among_peers(
        self,
        run: Run,
        share: _Share,
        session: _Session,
        function: Callable[..., Sequence[Any]],
        cancel: Cancellation,
        owner: Hashable,
        trace: Trace | None,
    ) -> list[Any]:
        """Runs a share that takes values from other tasks, or sends them some."""
        assert self.network is not None
        with self._lock:
            self._handle(StepStarted(run.step, self if owner is None else owner, share.peers))
            running = self._running.get(run.step)
            if running is not None:
                running.cancel = cancel
        if running is None:
            raise AbortedError("the step was cancelled before it began", task=self._task)
        channels = running.channels
        channels.route = self.network.route(run.step)
        forget = cancel.on_cancel(channels.fail)
        try:
            step = Step(self.resources, session.state, run.step, cancel, channels, trace)
            return list(function(step, *run.feeds))
        finally:
            forget()
            with self._lock:
                self._handle(StepFinished(run.step))

    def cancel(self, run: Run, error: GraphvmError) -> None:
        """Stops a run that was started."""
        if run.call is not None:
            run.call.cancel(copied(error))

    def drop(self, run: Run, error: GraphvmError) -> None:
        """Drops what came for a step that will never begin here."""
        self.unwanted(run.step, error)

    def unwanted(self, step: int, error: GraphvmError) -> None:
        """Drops what came for a step, and does not let it begin."""
        self._decide(StepCancelled(step, error))

    def deliver(self, step: int, peer: Hashable, channel: int, sequence: int, value: Any) -> None:
        """Takes in a value from another task.

        Raises:
            InternalError: it is not the next one of its channel.
        """
        running = self._running.get(step)
        if running is None:
            with self._lock:
                self._handle(ValueArrived(step, peer))
                running = self._running.get(step)
            if running is None:
                return  # too late
        running.channels.deliver(channel, sequence, value)

    def gone(self, who: Hashable, error: GraphvmError) -> None:
        """Stops the steps that need somebody who cannot be reached, and drops his sessions."""
        self._decide(PeerLost(who, error))
        with self._lock:
            ended = [k for k, s in self._sessions.items() if s.owner == who and who is not None]
        for session in ended:
            self.cleanup(session)

    def cleanup(self, session: int) -> None:
        """Forgets a session and its graphs."""
        with self._lock:
            found = self._sessions.pop(session, None)
            for handle in found.handles if found else ():
                self._shares.pop(handle, None)

    def close(self, error: GraphvmError) -> None:
        """Stops all steps."""
        with self._lock:
            cancels = [r.cancel for r in self._running.values()]
        for cancel in cancels:
            if cancel is not None:
                cancel.cancel(copied(error))

    def _decide(self, event: TaskEvent) -> None:
        with self._lock:
            stops = self._handle(event)
        for cancel, error in stops:
            cancel.cancel(copied(error))

    def _handle(self, event: TaskEvent) -> list[tuple[Cancellation, GraphvmError]]:
        """Does what the state says; what must be done without the lock is given back."""
        stops: list[tuple[Cancellation, GraphvmError]] = []
        for action in self._state.handle(event):
            match action:
                case Open(step):
                    self._running[step] = _Running()
                case Forget(step):
                    self._running.pop(step, None)
                case Stop(step, error):
                    running = self._running.get(step)
                    if running is not None and running.cancel is not None:
                        stops.append((running.cancel, error))
        return stops


class Loopback:
    """Joins workers of one process; for tests, and for a cluster within one process."""

    def __init__(self, workers: Collection[LocalWorker]) -> None:
        self._workers = {w.task: w for w in workers}
        for worker in workers:
            worker.network = _From(worker.task, self._workers)


@dataclass(frozen=True, slots=True)
class _From:
    """The network as one of the workers sees it."""

    task: str
    workers: dict[str, LocalWorker]

    def route(self, step: int) -> Route:
        """Straight to the other workers."""
        return _Straight(self.task, self.workers, step)


@dataclass(frozen=True, slots=True)
class _Straight:
    sender: str
    workers: dict[str, LocalWorker]
    step: int

    def send(self, task: str, channel: int, sequence: int, value: Any) -> None:
        """Hands a value over, in memory of its own as if it had crossed a wire."""
        if isinstance(value, np.ndarray):
            value = value.copy() if value.ndim or value.dtype == object else value[()]
        self.workers[task].deliver(self.step, self.sender, channel, sequence, value)
