"""A compiled request, ready to run: interpreted or emitted, on one strand or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graphvm_runtime import config
from graphvm_runtime.compiler.assemble import Assembler
from graphvm_runtime.compiler.emit import Emitted, Guard, emitted, emitted_strand
from graphvm_runtime.compiler.program import Program, Subprogram
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.compiler.values import handed
from graphvm_runtime.dtypes import string
from graphvm_runtime.errors import InvalidArgumentError, clipped
from graphvm_runtime.ir.graph import Graph, Node
from graphvm_runtime.kernels.precision import as_strings
from graphvm_runtime.values.resources import Step
from graphvm_runtime.vm.error_translation import raise_translated
from graphvm_runtime.vm.interpreter import Interpreter, Watcher
from graphvm_runtime.vm.strands import run_strands
from graphvm_runtime.vm.suppress_warnings import SETTING, without_warnings

if TYPE_CHECKING:
    from graphvm_runtime.vm.dataflow import Dataflow


class Mode(Enum):
    """How a compiled graph is run; one with TF1's primitives is always run as dataflow."""

    EMITTED = "emitted"
    INTERPRETED = "interpreted"
    CHECKED = "checked"  # interpreted; stops at the first NaN or infinity
    TRACED = "traced"  # interpreted; each kernel call is a span in the trace of the step
    DATAFLOW = "dataflow"


class Executable(Protocol):
    """What runs a compiled request."""

    @property
    def run(self) -> Callable[..., Sequence[Any]]:
        """`run(step, *feeds)` gives the values of the fetches as the caller gets them."""

    @property
    def needs_step(self) -> bool:
        """Whether it reads its step; without, `run(None, *feeds)` will do."""

    def stats(self) -> dict[str, int]:
        """Counts of instructions."""

    def text(self) -> str:
        """The program, and its Python source where it is emitted."""


def executable_of(
    graph: Graph, request: Request, mode: Mode = Mode.EMITTED, task: str = ""
) -> Executable:
    """What runs a graph that has gone through the passes.

    Args:
        graph: the graph.
        request: what is fed, fetched and run, in the graph's terms.
        mode: how it is run.
        task: the name of this task, for the spans of a trace.

    Raises:
        GraphvmError: an op has no kernel here, a function is missing.
    """
    dataflow = mode is Mode.DATAFLOW or graph.is_dataflow
    # planned memory pays only for programs that run often, which are those that are emitted
    assembler = Assembler(graph.library, dataflow or mode is Mode.EMITTED, Called)
    if dataflow:
        return _dataflow(graph, request, assembler)
    program = assembler.program("main", graph.nodes, request.feeds, request.fetches)
    match mode:
        case Mode.CHECKED:
            return Interpreted(program, check_numbers)
        case Mode.TRACED:
            return Interpreted(program, _recorder(task))
        case Mode.INTERPRETED:
            return Interpreted(program)
    return Compiled(program)


def _dataflow(graph: Graph, request: Request, assembler: Assembler) -> DataflowRun:
    # loaded late: most graphs have no primitives
    from graphvm_runtime.vm.dataflow import Dataflow

    def program_for(name: str) -> Executable:
        return Compiled(assembler.function(name).ready)

    dataflow = Dataflow(
        graph, request.feeds, request.fetches, request.targets, program_for, assembler.called
    )
    return DataflowRun(dataflow, len(request.fetches))


def _recorder(task: str) -> Watcher:
    def record(step: Step, node: Node, result: Any, start: float, end: float) -> None:
        step.trace.add(node.name, node.op.name, start, end, task)

    return record


def check_numbers(step: Step, node: Node, result: Any, start: float, end: float) -> None:
    """Raises InvalidArgumentError when a kernel gave NaN or infinity, naming its node."""
    for index, value in enumerate(result if len(node.outputs) > 1 else (result,)):
        array = np.asarray(value)
        if array.dtype.kind in "fc" and not np.isfinite(array).all():
            raise InvalidArgumentError(
                f"output {index} of {node.name!r} has NaN or infinity: {clipped(array)}"
            )


class Interpreted:
    """A program run one instruction at a time.

    Args:
        program: what to run.
        watch: told of each kernel call.
    """

    def __init__(self, program: Program, watch: Watcher | None = None) -> None:
        self.program = program
        self.needs_step = program.needs_step
        self._interpreter = Interpreter(self._strands, watch)
        self.run: Callable[..., Sequence[Any]] = without_warnings(self._run)

    def _run(self, step: Step, *args: Any) -> Sequence[Any]:
        results = self._interpreter.run(self.program, step, args)
        return handed(results, self.program.result_copies)

    def _strands(self, program: Program, step: Step, args: Sequence[Any]) -> Sequence[Any]:
        return run_strands(program, step, args, self._strand)

    def _strand(self, program: Program, number: int, registers: list[Any], step: Step) -> None:
        code = [program.code[at] for at in program.strands[number].code]
        self._interpreter.execute(code, registers, step, free=False)

    def stats(self) -> dict[str, int]:
        """Counts of instructions, and how many of them are emitted: none."""
        stats = self.program.stats()
        return {**stats, "emitted": 0, "interpreted": _instructions(stats)}

    def text(self) -> str:
        """The program."""
        return str(self.program)


class Compiled:
    """A program run as an emitted function."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.needs_step = program.needs_step
        self._strand_code: dict[tuple[int, int], tuple[Emitted, Callable[..., Any]]] = {}
        for each in program.closure():
            self._emit_strands(each)
        if len(program.strands) > 1:
            self.run: Callable[..., Sequence[Any]] = without_warnings(self._run_strands)
            self._written = sum(e.instructions for e, _ in self._strand_code.values())
            self.source = "\n".join(e.source for e, _ in self._strand_code.values())
        else:
            variable, value = SETTING or (None, None)
            code = emitted(program, self._strands, Guard(self._fault, variable, value))
            self._code = code
            self._written = code.instructions
            self.source = code.source
            self.run = code.run if variable is not None else without_warnings(code.run)

    def _fault(self, error: Exception) -> None:
        raise_translated(error, *self._code.fault(error))

    def _emit_strands(self, program: Program) -> None:
        if len(program.strands) > 1:
            for number, strand in enumerate(program.strands):
                code = emitted_strand(program, strand, self._strands)
                self._strand_code[id(program), number] = code, _guarded_strand(code)

    def _run_strands(self, step: Step, *args: Any) -> Sequence[Any]:
        results = self._strands(self.program, step, args)
        return handed(results, self.program.result_copies)

    def _strands(self, program: Program, step: Step, args: Sequence[Any]) -> Sequence[Any]:
        return run_strands(program, step, args, self._strand)

    def _strand(self, program: Program, number: int, registers: list[Any], step: Step) -> None:
        self._strand_code[id(program), number][1](step, registers)

    def stats(self) -> dict[str, int]:
        """Counts of instructions; `interpreted` is what emission left over: nothing."""
        stats = self.program.stats()
        return {**stats, "emitted": self._written, "interpreted": 0}

    def text(self) -> str:
        """The program and its Python source."""
        return f"{self.program}\n\n{self.source}"


def _instructions(stats: dict[str, int]) -> int:
    return sum(stats.get(kind, 0) for kind in ("Call", "If", "While", "Invoke"))


def _guarded_strand(code: Emitted) -> Callable[..., Any]:
    run = code.run

    def guarded(step: Step, registers: list[Any]) -> None:
        try:
            run(step, registers)
        except Exception as error:
            raise_translated(error, *code.fault(error))

    return guarded


class DataflowRun:
    """A graph of TF1's primitives that could not be raised.

    Args:
        dataflow: what runs it.
        fetches: how many tensors it gives.
    """

    needs_step = True

    def __init__(self, dataflow: Dataflow, fetches: int) -> None:
        self._run = without_warnings(dataflow.run)
        self._fetches = fetches

    def run(self, step: Step, *args: Any) -> Sequence[Any]:
        """Values of the fetches, as the caller gets them."""
        return handed(self._run(step, args), (True,) * self._fetches)

    def stats(self) -> dict[str, int]:
        """No instruction: nodes are run one by one."""
        return {"dataflow": 1, "emitted": 0, "interpreted": 0}

    def text(self) -> str:
        """No program."""
        return "a graph of dataflow primitives"


class Called:
    """What a kernel calls that takes a function: its program, made ready by the first call."""

    __slots__ = ("_function", "_run", "_texts")

    def __init__(self, function: Subprogram) -> None:
        self._function = function
        self._run: Callable[..., Sequence[Any]] | None = None
        self._texts: tuple[int, ...] = ()  # results that are strings

    @property
    def waits(self) -> bool:
        """Whether the function may wait for another op, step or process."""
        return self._function.ready.blocking

    def __call__(self, step: Step, *args: Any) -> Sequence[Any]:
        """The results of the function."""
        if self._run is None:
            program = self._function.ready
            types = [program.types[r].dtype for r in program.results]
            self._texts = tuple(i for i, t in enumerate(types) if t is string)
            made = Interpreted(program) if config.INTERPRET.get() else Compiled(program)
            self._run = made.run
        results = self._run(step, *args)
        if self._texts:
            results = list(results)
            for i in self._texts:
                results[i] = as_strings(results[i])
        return results
