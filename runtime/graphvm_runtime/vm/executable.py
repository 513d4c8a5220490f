"""A compiled request, ready to run: interpreted or emitted, on one strand or several."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.compiler.emit import Emitted, emitted, emitted_strand, own
from graphvm_runtime.compiler.program import Program
from graphvm_runtime.resources import Step
from graphvm_runtime.vm.faults import located
from graphvm_runtime.vm.interpreter import Interpreter, Watcher
from graphvm_runtime.vm.strands import run_strands


def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with NumPy's warnings off: overflow and division by zero give what they give."""
    if int(np.__version__.split(".")[0]) >= 2:
        return np.errstate(all="ignore")(function)

    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):  # NumPy 1's decorator is not safe with threads
            return function(*args)

    return run


class Interpreted:
    """A program run one instruction at a time.

    Args:
        program: what to run.
        watch: told of each kernel call.
    """

    def __init__(self, program: Program, watch: Watcher | None = None) -> None:
        self.program = program
        self._interpreter = Interpreter(self._strands, watch)
        self.run: Callable[..., Sequence[Any]] = quiet(self._run)

    def _run(self, step: Step, *args: Any) -> Sequence[Any]:
        return self._interpreter.run(self.program, step, args)

    def _strands(self, program: Program, step: Step, args: Sequence[Any]) -> Sequence[Any]:
        return run_strands(program, step, args, self._strand)

    def _strand(self, program: Program, number: int, registers: list[Any], step: Step) -> None:
        code = [program.code[at] for at in program.strands[number].code]
        self._interpreter.execute(code, registers, step, free=False)

    def stats(self) -> dict[str, int]:
        """Counts of instructions, and how many of them are emitted: none."""
        stats = self.program.stats()
        return {**stats, "emitted": 0, "interpreted": _instructions(stats)}


class Compiled:
    """A program run as an emitted function."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._strand_code: dict[tuple[int, int], tuple[Emitted, Callable[..., Any]]] = {}
        if len(program.strands) > 1:
            for each in program.closure():
                self._emit_strands(each)
            self.run: Callable[..., Sequence[Any]] = quiet(self._run_strands)
            self._written = sum(e.instructions for e, _ in self._strand_code.values())
            self.source = "\n".join(e.source for e, _ in self._strand_code.values())
        else:
            code = emitted(program, self._strands)
            for each in program.closure():
                self._emit_strands(each)
            self._written = code.instructions
            self.source = code.source
            self.run = quiet(_guarded(code))

    def _emit_strands(self, program: Program) -> None:
        if len(program.strands) > 1:
            for number, strand in enumerate(program.strands):
                code = emitted_strand(program, strand, self._strands)
                self._strand_code[id(program), number] = code, _guarded(code)

    def _run_strands(self, step: Step, *args: Any) -> Sequence[Any]:
        return self._strands(self.program, step, args)

    def _strands(self, program: Program, step: Step, args: Sequence[Any]) -> Sequence[Any]:
        return run_strands(program, step, args, self._strand)

    def _strand(self, program: Program, number: int, registers: list[Any], step: Step) -> None:
        self._strand_code[id(program), number][1](step, registers)

    def stats(self) -> dict[str, int]:
        """Counts of instructions; `interpreted` is what emission left over: nothing."""
        stats = self.program.stats()
        return {**stats, "emitted": self._written, "interpreted": 0}


def _instructions(stats: dict[str, int]) -> int:
    return sum(stats.get(kind, 0) for kind in ("Call", "If", "While", "Invoke"))


def _guarded(code: Emitted) -> Callable[..., Any]:
    run = code.run

    def guarded(step: Step | None, *args: Any) -> Any:
        try:
            return run(step, *args)
        except Exception as error:
            fault = located(error, code.node_of(sys.exc_info()[2]))
            if fault is error:
                raise
            raise fault from error

    return guarded


def handed_out(value: Any, copy: bool) -> Any:
    """A result as the caller gets it: a NumPy scalar for rank 0, memory of its own."""
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value[()]
        return value.copy() if copy else value
    return own(value)


def taken_in(value: Any) -> Any:
    """A feed as a program takes it: NumPy scalars for rank 0, since they compute faster."""
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object:
        return value[()]
    return value
