"""Sessions: the program cache, steps, and the state that lives from run to run."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from graphvm_runtime import config
from graphvm_runtime.compiler.assemble import Assembler
from graphvm_runtime.compiler.passes.cut_feeds import placeholder
from graphvm_runtime.compiler.passes.prune import used
from graphvm_runtime.compiler.pipeline import Pipeline, configured
from graphvm_runtime.compiler.program import Program
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.engine.deadlines import DEADLINES
from graphvm_runtime.errors import (
    CancelledError,
    DeadlineExceededError,
    GraphError,
    InvalidArgumentError,
    clipped,
)  # fmt: skip
from graphvm_runtime.ir.graph import Function, Graph, Node, reachable
from graphvm_runtime.ops.functional import LOOPS
from graphvm_runtime.trace import Trace
from graphvm_runtime.values.resources import Cancellation, ResourceManager, Step
from graphvm_runtime.vm.executable import Called, Compiled, DataflowRun, Interpreted

EMIT_AFTER = 2  # runs that are interpreted first; a loop is emitted at once


class Executable(Protocol):
    """What runs a compiled request."""

    @property
    def run(self) -> Callable[..., Sequence[Any]]:
        """`run(step, *feeds)` gives the values of the fetches as the caller gets them."""

    def stats(self) -> dict[str, int]:
        """Counts of instructions."""


class Session:
    """State and programs of one client: in this process, on this machine's CPU.

    Args:
        resources: variables, queues and the like; shared where a server gives its own.
        pipeline: passes, dumps and a user's own passes.

    Thread-safe: any number of runs may go on at the same time.
    """

    def __init__(
        self, resources: ResourceManager | None = None, pipeline: Pipeline | None = None
    ) -> None:
        self.resources = ResourceManager() if resources is None else resources
        self.state: dict[str, Any] = {}  # random streams and the like
        self.pipeline = configured(pipeline or Pipeline())
        self._lock = threading.Lock()
        self._nodes: dict[str, Node] = {}
        self._library: dict[str, Function] = {}
        self._plans: dict[tuple[Request, bool, bool, bool], Plan] = {}
        self._steps = itertools.count(1)
        self._running: set[Cancellation] = set()
        self._closed = False
        self.producer = 0

    def extend(self, nodes: Iterable[Node], library: Mapping[str, Function]) -> None:
        """Adds nodes to the session's graph; programs made before stay as they are.

        Raises:
            GraphError: a node of that name is there already.
        """
        with self._lock:
            self._library.update(library)
            for node in nodes:
                if self._nodes.setdefault(node.name, node) is not node:
                    raise GraphError(
                        f"the session's graph has a node {node.name!r} already",
                        node=node.signature(),
                    )

    def plan(self, request: Request) -> Plan:
        """The plan of a request, made once.

        Raises:
            InvalidArgumentError: the session is closed.
        """
        interpret = config.INTERPRET.get() or config.CHECK_NUMERICS.get()
        key = (request, interpret, config.CHECK_NUMERICS.get(), config.EMIT.get())
        found = self._plans.get(key)
        if found is None:
            with self._lock:
                if self._closed:
                    raise InvalidArgumentError("the session is closed", do="make a new one")
                found = self._plans.setdefault(key, Plan(self, request, interpret))
        return found

    def compiled(self, request: Request, optimise: bool) -> tuple[Graph, Request]:
        """The graph of a request after the passes."""
        with self._lock:
            library = dict(self._library)
        graph = self._closure(request, library)
        pipeline = self.pipeline.optimising() if optimise else self.pipeline
        start = time.perf_counter()
        result = pipeline(graph, request)
        config.log(
            "compile", "%d nodes to %d in %.1f ms%s", len(graph.nodes), len(result[0].nodes),
            (time.perf_counter() - start) * 1e3, ", optimised" if optimise else "",
        )  # fmt: skip
        return result

    def _closure(self, request: Request, library: Mapping[str, Function]) -> Graph:
        """The part of the session's graph that the request can reach."""
        for end in (*request.fetches, *request.feeds):
            node = self._nodes.get(end.node)
            if node is None or end.index >= len(node.outputs):
                raise InvalidArgumentError(f"the graph has no tensor {end}")
        for name in request.targets:
            if name not in self._nodes:
                raise InvalidArgumentError(f"the graph has no operation {name!r}")
        fed = {e.node for e in request.feeds}
        cut = {n for n in fed if len(self._nodes[n].outputs) == 1}
        nodes = reachable(self._nodes, [r for r in request.roots() if r not in cut], cut)
        present = {n.name for n in nodes}
        fed_nodes = [placeholder(self._nodes[n]) for n in cut]
        missing = [
            n
            for end in request.feeds
            if end.node not in cut and end.node not in present
            for n in reachable(self._nodes, [end.node], cut | present)
        ]
        every = fed_nodes + nodes + missing
        return Graph(tuple(every), used(every, library), producer=self.producer)

    def step(self, timeout: float | None = None, trace: Trace | None = None) -> Step:
        """A new step; it must be ended with `ended`."""
        step = Step(self.resources, self.state, next(self._steps), trace=trace)
        with self._lock:
            if self._closed:
                raise InvalidArgumentError("the session is closed", do="make a new one")
            self._running.add(step.cancel)
        if timeout is not None:
            error = DeadlineExceededError(
                f"the step took longer than its {timeout:g} seconds",
                do="give it more time, or look for an op that waits for ever",
            )
            step.timely = DEADLINES.add(timeout, lambda: step.cancel.cancel(error))
        return step

    def ended(self, step: Step) -> None:
        """Forgets a step."""
        if step.timely is not None:
            step.timely()
        with self._lock:
            self._running.discard(step.cancel)

    def list_devices(self) -> list[str]:
        """Full names of the devices that nodes can be placed on."""
        return ["/job:localhost/replica:0/task:0/device:CPU:0"]

    def close(self) -> None:
        """Cancels what runs and lets go of the state."""
        with self._lock:
            self._closed = True
            running = list(self._running)
            self._plans.clear()
        for cancel in running:
            cancel.cancel(CancelledError("the session was closed"))


class Plan:
    """One request of a session, in the tier that its use has earned.

    `run(*feeds)` gives a list of the fetched values. Thread-safe.
    """

    def __init__(self, session: Session, request: Request, interpret: bool = False) -> None:
        self.session = session
        self.request = request
        self._interpret = interpret
        self._lock = threading.Lock()
        self._runs = 0
        # one tuple, so that a run sees both of the same tier: what runs, and whether with a step
        self._current: tuple[Executable, bool] | None = None
        self._traced: Executable | None = None
        self._final = False

    def run(
        self, feeds: Sequence[Any], timeout: float | None = None, trace: Trace | None = None
    ) -> Sequence[Any]:
        """Values of the fetches.

        Args:
            feeds: arrays, one for each feed of the request, of its type.
            timeout: seconds that the step may take.
            trace: where spans of the step go; the step is then interpreted.

        Raises:
            GraphvmError: the graph cannot be compiled, or a node failed.
        """
        if trace is not None:
            executable, needs_step = self._tracing(), True
        else:
            if not self._final:
                self._advance()
            assert self._current is not None
            executable, needs_step = self._current
        if not needs_step and timeout is None:
            return executable.run(None, *feeds)
        session = self.session
        step = session.step(timeout, trace)
        try:
            return executable.run(step, *feeds)
        except KeyboardInterrupt:
            step.cancel.cancel()
            raise
        finally:
            session.ended(step)

    def direct(self) -> Callable[..., Sequence[Any]] | None:
        """The emitted function `run(None, *feeds)` itself, where it needs no step; else None."""
        if not self._final or self._current is None or self._current[1]:
            return None
        return self._current[0].run

    def stats(self) -> dict[str, int]:
        """Counts of instructions of the last tier; compiles up to it."""
        return self._last_tier().stats()

    def text(self) -> str:
        """The program of the last tier, and its Python source where it is emitted."""
        executable = self._last_tier()
        if isinstance(executable, Compiled):
            return f"{executable.program}\n\n{executable.source}"
        return str(getattr(executable, "program", "a graph of dataflow primitives"))

    def _last_tier(self) -> Executable:
        while not self._final:
            self._advance()
        assert self._current is not None
        return self._current[0]

    def _advance(self) -> None:
        with self._lock:
            if self._final:
                return
            self._runs += 1
            if self._current is None:
                graph, request = self.session.compiled(self.request, optimise=False)
                if graph.is_dataflow:
                    self._use(dataflow_of(graph, request))
                    self._final = True
                    return
                at_once = config.EMIT.get() or _has_loop(graph)
                if self._interpret or not at_once:
                    program = program_of(graph, request, plans=False)
                    watch = check_numbers if config.CHECK_NUMERICS.get() else None
                    self._use(Interpreted(program, watch), program.needs_step)
                    self._final = self._interpret
                    return
            elif self._runs <= EMIT_AFTER:
                return
            graph, request = self.session.compiled(self.request, optimise=True)
            program = program_of(graph, request)
            self._use(Compiled(program), program.needs_step)
            self._final = True

    def _use(self, executable: Executable, needs_step: bool = True) -> None:
        self._current = executable, needs_step

    def _tracing(self) -> Executable:
        """What runs a step one instruction at a time and records each."""
        with self._lock:
            if self._traced is None:
                graph, request = self.session.compiled(self.request, optimise=False)
                if graph.is_dataflow:
                    self._traced = dataflow_of(graph, request)
                else:
                    self._traced = Interpreted(program_of(graph, request, plans=False), record)
            return self._traced


def dataflow_of(graph: Graph, request: Request) -> Executable:
    """What runs a graph of dataflow primitives."""
    # loaded late: most graphs have none
    from graphvm_runtime.vm.dataflow import Dataflow

    assembler = Assembler(graph.library, runs=Called)

    def program_for(name: str) -> Executable:
        return Compiled(assembler.function(name).ready)

    dataflow = Dataflow(
        graph, request.feeds, request.fetches, request.targets, program_for, assembler.called
    )
    return DataflowRun(dataflow, len(request.fetches))


def program_of(graph: Graph, request: Request, plans: bool = True) -> Program:
    """The program of a graph that has gone through the passes; `plans`: see `Assembler`."""
    assembler = Assembler(graph.library, plans, Called)
    return assembler.program("main", graph.nodes, request.feeds, request.fetches)


def record(step: Step, node: Node, result: Any, start: float, end: float) -> None:
    """Adds a kernel call to the trace of its step."""
    step.trace.add(node.name, node.op.name, start, end)


def check_numbers(step: Step, node: Node, result: Any, start: float, end: float) -> None:
    """Raises InvalidArgumentError when a kernel gave NaN or infinity, naming its node."""
    for index, value in enumerate(result if len(node.outputs) > 1 else (result,)):
        array = np.asarray(value)
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            raise InvalidArgumentError(
                f"output {index} of {node.name!r} has NaN or infinity: {clipped(array)}"
            )


def _has_loop(graph: Graph) -> bool:
    return any(
        n.op.name in LOOPS
        for nodes in (graph.nodes, *(f.body.nodes for f in graph.library.values()))
        for n in nodes
    )
