"""The master of a cluster: a session whose steps several workers run."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphvm_runtime import config
from graphvm_runtime.cluster.codec import as_known
from graphvm_runtime.cluster.state import (
    AwaitGrace,
    Cancel,
    Ended,
    Failed,
    Finish,
    GraceOver,
    Phase,
    StepEvent,
    StepState,
    Stopped,
)  # fmt: skip
from graphvm_runtime.cluster.worker import LocalWorker, Run, Worker
from graphvm_runtime.compiler.passes.partition import GraphPart
from graphvm_runtime.compiler.passes.place import Place
from graphvm_runtime.compiler.pipeline import Pipeline
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.compiler.values import handed_out
from graphvm_runtime.device_spec import parsed
from graphvm_runtime.engine.dropped import close_later
from graphvm_runtime.engine.graph_store import GraphStore
from graphvm_runtime.engine.plans import Plans
from graphvm_runtime.engine.steps import Steps
from graphvm_runtime.errors import (
    CancelledError,
    GraphvmError,
)  # fmt: skip
from graphvm_runtime.ir.graph import Function, Node
from graphvm_runtime.trace import Span, Trace
from graphvm_runtime.values.resources import Cancellation, Step

GRACE = 2.0  # seconds that the others have to stop once a step has failed
CPU = "/device:CPU:0"


class MasterSession:
    """A session over the tasks of a cluster.

    Args:
        workers: of all tasks; at most one `LocalWorker` runs on the caller's thread.
        default: the task of nodes that ask for none.
        soft: take the CPU where another kind of device is asked for.
        pipeline: passes, dumps and a user's own passes.
        on_close: called when the session is closed.
    """

    def __init__(
        self,
        workers: Sequence[Worker],
        default: str,
        soft: bool = True,
        pipeline: Pipeline | None = None,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self.graphs = GraphStore(pipeline)
        self.steps = Steps()
        self.workers: Mapping[str, Worker] = {w.task: w for w in workers}
        self._place = Place(
            tuple(parsed(w.task + CPU) for w in workers), parsed(default + CPU), soft
        )
        self.number = secrets.randbits(63)
        self._on_close = on_close
        self._numbers = itertools.count(secrets.randbits(31) << 32)
        self._plans: Plans[MasterPlan] = Plans()

    def extend(self, nodes: Iterable[Node], library: Mapping[str, Function]) -> None:
        """See `Session`."""
        self.graphs.extend(nodes, library)

    def plan(self, request: Request) -> MasterPlan:
        """See `Session`."""
        return self._plans.get(request, lambda: MasterPlan(self, request))

    def shares(self, request: Request) -> list[GraphPart]:
        """The shares of a request, compiled, placed and cut.

        Raises:
            GraphvmError: it cannot be compiled, placed or cut.
        """
        shares = self.graphs.shares(request, self._place)
        for share in shares:
            config.log("place", "%s: %d nodes", share.device, len(share.graph.nodes))
        return shares

    def next_step(self) -> int:
        """A number for a step that no other session of the cluster uses."""
        return next(self._numbers)

    def list_devices(self) -> list[str]:
        """See `Session`."""
        return list(map(str, self._place.devices))

    def __del__(self) -> None:
        if hasattr(self, "_plans") and not self._plans.closed:
            close_later(self)

    def close(self) -> None:
        """See `Session`; lets the workers forget the session too."""
        if not self._plans.close():
            return
        self.steps.close()
        for worker in self.workers.values():
            worker.cleanup(self.number)
        self._on_close()


@dataclass(slots=True, eq=False)
class _Part:
    """A share and the worker that runs it."""

    worker: Worker
    share: GraphPart
    handle: int = 0
    contact: Hashable = None


class MasterPlan:
    """One request of a master: the shares of its workers."""

    def __init__(self, session: MasterSession, request: Request) -> None:
        self.request = request
        self._session = session
        self._lock = threading.Lock()
        self._parts: list[_Part] | None = None

    def run(
        self,
        feeds: Sequence[Any],
        timeout: float | None = None,
        trace: Trace | None = None,
        cancel: Cancellation | None = None,
    ) -> Sequence[Any]:
        """See `Plan`; `cancel` stops the step from outside."""
        parts = self._registered()
        session = self._session
        bound = session.steps.begin(timeout)
        if len(parts) == 1 and isinstance(parts[0].worker, LocalWorker):
            return self._run_here(parts[0], feeds, bound, trace, cancel)
        step = _Step(session.next_step(), parts, feeds, trace)
        forget = [bound.cancel.on_cancel(step.stop)]
        if cancel is not None:
            forget.append(cancel.on_cancel(step.stop))
        try:
            return step.run(len(self.request.fetches))
        finally:
            for each in forget:
                each()
            session.steps.end(bound)

    def _run_here(
        self,
        part: _Part,
        feeds: Sequence[Any],
        bound: Step,
        trace: Trace | None,
        cancel: Cancellation | None,
    ) -> Sequence[Any]:
        """Runs a step that needs no other task."""
        worker = part.worker
        assert isinstance(worker, LocalWorker)
        run = Run(part.handle, bound.step_id, [feeds[i] for i in part.share.feeds])
        forget = None if cancel is None else cancel.on_cancel(bound.cancel.cancel)
        try:
            values = worker.execute(run, bound.cancel, trace=trace)
        except GraphvmError as error:
            error.task = error.task or worker.task
            raise
        except KeyboardInterrupt:
            bound.cancel.cancel()
            raise
        finally:
            if forget is not None:
                forget()
            self._session.steps.end(bound)
        return values  # one share has all fetches, in their order

    def direct(self) -> None:
        """None: it always needs a step."""
        return

    def stats(self) -> dict[str, int]:
        """Counts of nodes: of all shares, and of values that cross."""
        shares = [p.share for p in self._prepared()]
        nodes = [n for s in shares for n in s.graph.all_nodes()]
        sends = sum(n.op.name == "_Send" for n in nodes)
        return {"shares": len(shares), "nodes": len(nodes), "sends": sends, "interpreted": 0}

    def text(self) -> str:
        """The graphs of all shares."""
        from graphvm_runtime.ir.text import print_graph

        return "\n".join(
            f"# {p.share.device}\n{print_graph(p.share.graph)}" for p in self._prepared()
        )

    def _prepared(self) -> list[_Part]:
        with self._lock:
            if self._parts is None:
                self._parts = [
                    _Part(self._session.workers[str(s.device.task_only())], s)
                    for s in self._session.shares(self.request)
                ]
                # the share of this process runs last, on the caller's thread
                self._parts.sort(key=lambda p: isinstance(p.worker, LocalWorker))
            return self._parts

    def _registered(self) -> list[_Part]:
        """The parts, each known to its worker."""
        parts = self._parts or self._prepared()
        for part in parts:
            contact = part.worker.contact()
            if part.contact is not contact:
                with self._lock:
                    if part.contact is not contact:
                        part.handle = part.worker.register(
                            self._session.number, part.share.graph, part.share.request
                        )
                        part.contact = contact
        return parts


class _Step:
    """One step that runs: does what its state says."""

    def __init__(
        self, number: int, parts: Sequence[_Part], feeds: Sequence[Any], trace: Trace | None
    ) -> None:
        self._parts = {p.worker.task: p for p in parts}
        self._runs = {
            p.worker.task: Run(
                p.handle, number, [feeds[i] for i in p.share.feeds], trace is not None
            )
            for p in parts
        }
        self._trace = trace
        self._lock = threading.Lock()
        self._state = StepState(self._parts)
        self._values: dict[int, Any] = {}
        self._error: GraphvmError | None = None
        self._over = threading.Lock()
        self._over.acquire()
        self._grace: threading.Timer | None = None

    def run(self, fetches: int) -> list[Any]:
        """Starts all shares and waits for them; gives the values of the fetches."""
        if not self._parts:
            return []
        try:
            here: LocalWorker | None = None
            for task, part in self._parts.items():
                if isinstance(part.worker, LocalWorker) and task == next(reversed(self._parts)):
                    here = part.worker
                else:
                    self._start(task, part)
            if here is not None:
                self._run_here(here)
            self._over.acquire()
        except KeyboardInterrupt:
            self.stop(CancelledError("the step was interrupted"))
            self._over.acquire(timeout=2 * GRACE)
            raise
        finally:
            if self._grace is not None:
                self._grace.cancel()
        if self._error is not None:
            raise self._error
        return [handed_out(self._values[i], False) for i in range(fetches)]

    def stop(self, error: GraphvmError) -> None:
        """Ends the step with this error."""
        self._handle(Stopped(error))

    def _start(self, task: str, part: _Part) -> None:
        run = self._runs[task]

        def done(values: list[Any] | None, spans: list[Span], error: GraphvmError | None) -> None:
            self._ended(task, values, spans, error)

        if self._state.phase is not Phase.RUNNING:
            error = CancelledError("the step was cancelled")
            part.worker.drop(run, error)
            done(None, [], error)
            return
        part.worker.start(run, done)
        # it may have been stopped before it could be told
        failed = self._state.error
        if failed is not None:
            part.worker.cancel(run, failed)

    def _run_here(self, worker: LocalWorker) -> None:
        task = worker.task
        run = self._runs[task]
        cancel = run.call = Cancellation()
        if self._state.phase is not Phase.RUNNING:
            error = CancelledError("the step was cancelled")
            worker.drop(run, error)
            self._ended(task, None, [], error)
            return
        failed = self._state.error
        if failed is not None:
            cancel.cancel(failed)
        try:
            values = worker.execute(run, cancel, trace=self._trace)
        except Exception as error:
            self._ended(task, None, [], as_known(error))
        else:
            self._ended(task, values, [], None)

    def _ended(
        self, task: str, values: list[Any] | None, spans: list[Span], error: GraphvmError | None
    ) -> None:
        if error is not None:
            error.task = error.task or task
            self._handle(Failed(task, error))
            return
        for index, value in zip(self._parts[task].share.fetches, values or (), strict=True):
            self._values[index] = value
        if self._trace is not None:
            self._trace.spans.extend(spans)
        self._handle(Ended(task))

    def _handle(self, event: StepEvent) -> None:
        with self._lock:
            actions = self._state.handle(event)
        for action in actions:
            match action:
                case Cancel(task, error):
                    self._parts[task].worker.cancel(self._runs[task], error)
                case AwaitGrace():
                    self._grace = threading.Timer(GRACE, self._handle, [GraceOver()])
                    self._grace.daemon = True
                    self._grace.start()
                case Finish(error):
                    self._error = error
                    self._over.release()
