"""The session of this process: its plans go from interpreted to emitted with use."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from graphvm_runtime import config
from graphvm_runtime.compiler.pipeline import Compilation, Pipeline
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.engine.graph_store import GraphStore
from graphvm_runtime.engine.plans import Plans
from graphvm_runtime.engine.steps import Steps
from graphvm_runtime.ir.graph import Function, Graph, Node
from graphvm_runtime.ops.functional import LOOPS
from graphvm_runtime.trace import Trace
from graphvm_runtime.values.resources import ResourceManager
from graphvm_runtime.vm.executable import Executable, Mode, executable_of

EMIT_AFTER = 2  # runs that are interpreted first; a loop is emitted at once


class LocalSession:
    """State and programs of one client: in this process, on this machine's CPU.

    Args:
        resources: variables, queues and the like; shared where a server gives its own.
        pipeline: passes, dumps and a user's own passes.

    Thread-safe: any number of runs may go on at the same time.
    """

    def __init__(
        self, resources: ResourceManager | None = None, pipeline: Pipeline | None = None
    ) -> None:
        self.graphs = GraphStore(pipeline)
        self.steps = Steps(resources)
        self._plans: Plans[LocalPlan] = Plans()

    def extend(self, nodes: Iterable[Node], library: Mapping[str, Function]) -> None:
        """See `Session`."""
        self.graphs.extend(nodes, library)

    def plan(self, request: Request) -> LocalPlan:
        """See `Session`."""
        mode = Mode.EMITTED
        if config.CHECK_NUMERICS.get():
            mode = Mode.CHECKED
        elif config.INTERPRET.get():
            mode = Mode.INTERPRETED
        return self._plans.get(
            (request, mode, config.EMIT.get()),
            lambda: LocalPlan(self.graphs, self.steps, request, mode),
        )

    def list_devices(self) -> list[str]:
        """See `Session`."""
        return ["/job:localhost/replica:0/task:0/device:CPU:0"]

    def close(self) -> None:
        """See `Session`."""
        self._plans.close()
        self.steps.close()


class LocalPlan:
    """One request of a session, in the tier that its use has earned.

    `run(*feeds)` gives a list of the fetched values. Thread-safe.
    """

    def __init__(
        self, graphs: GraphStore, steps: Steps, request: Request, mode: Mode = Mode.EMITTED
    ) -> None:
        self.request = request
        self._graphs = graphs
        self._steps = steps
        self._mode = mode
        self._lock = threading.Lock()
        self._runs = 0
        # one tuple, so that a run sees both of the same tier: what runs, and whether with a step
        self._current: tuple[Executable, bool] | None = None
        self._traced: Executable | None = None
        self._final = False

    def run(
        self, feeds: Sequence[Any], timeout: float | None = None, trace: Trace | None = None
    ) -> Sequence[Any]:
        """See `Plan`; a traced step is interpreted."""
        if trace is not None:
            executable, needs_step = self._tracing(), True
        else:
            if not self._final:
                self._advance()
            assert self._current is not None
            executable, needs_step = self._current
        if not needs_step and timeout is None:
            return executable.run(None, *feeds)
        steps = self._steps
        step = steps.begin(timeout, trace)
        try:
            return executable.run(step, *feeds)
        except KeyboardInterrupt:
            step.cancel.cancel()
            raise
        finally:
            steps.end(step)

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
        return self._last_tier().text()

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
                compilation = self._graphs.compiled(self.request, optimise=False)
                graph = compilation.graph
                final = self._mode is not Mode.EMITTED or graph.is_dataflow
                if final or not (config.EMIT.get() or _has_loop(graph)):
                    mode = self._mode if final else Mode.INTERPRETED
                    self._use(_made(compilation, mode), final)
                    return
            elif self._runs <= EMIT_AFTER:
                return
            compilation = self._graphs.compiled(self.request, optimise=True)
            self._use(_made(compilation, Mode.EMITTED), final=True)

    def _use(self, executable: Executable, final: bool) -> None:
        self._current = executable, executable.needs_step
        self._final = final

    def _tracing(self) -> Executable:
        """What runs a step one instruction at a time and records each."""
        with self._lock:
            if self._traced is None:
                compilation = self._graphs.compiled(self.request, optimise=False)
                self._traced = _made(compilation, Mode.TRACED)
            return self._traced


def _made(compilation: Compilation, mode: Mode) -> Executable:
    made = executable_of(compilation.graph, compilation.request, mode)
    compilation.tell("program", made.text)
    return made


def _has_loop(graph: Graph) -> bool:
    return any(n.op.name in LOOPS for n in graph.all_nodes())
