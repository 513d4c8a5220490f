"""Runs a program of several strands: any number of them may wait without holding a thread.

A blocking kernel is started and reports back; meanwhile the caller's thread runs whatever can run,
and where that is nothing it waits itself.
Bodies of loops and branches that wait inside run on a thread of their own.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphvm_runtime.compiler.program import Call, Instruction, Program
from graphvm_runtime.compiler.values import own
from graphvm_runtime.errors import GraphvmError
from graphvm_runtime.values.resources import Step
from graphvm_runtime.vm.error_translation import translated

# runs the instructions at these positions over the registers
RunCode = Callable[[Program, int, list[Any], Step], None]


def run_strands(
    program: Program, step: Step, args: Sequence[Any], run_strand: RunCode
) -> list[Any]:
    """Results of a program of several strands.

    Args:
        program: what to run.
        step: the run that it belongs to.
        args: values of the parameters.
        run_strand: `run_strand(program, number, registers, step)` runs a strand that waits for
            nothing, or a single region (`If`, `While`, call) to its end.

    Raises:
        OpError: a kernel failed, or the step was cancelled; strands that still wait are cancelled.
    """
    registers: list[Any] = [None] * program.registers
    for register, value in program.constants:
        registers[register] = value
    for register, value in zip(program.params, args, strict=True):
        registers[register] = value
    strands = program.strands
    missing = [len(s.after) for s in strands]
    followers: list[list[int]] = [[] for _ in strands]
    for number, strand in enumerate(strands):
        for before in strand.after:
            followers[before].append(number)
    ready = [n for n, count in enumerate(missing) if count == 0]
    reports: queue.SimpleQueue[tuple[int, GraphvmError | None]] = queue.SimpleQueue()
    waiting = 0
    failure: GraphvmError | None = None

    def ended(number: int) -> None:
        for follower in followers[number]:
            missing[follower] -= 1
            if missing[follower] == 0:
                ready.append(follower)

    try:
        while ready or waiting:
            # start what may wait first, so that it waits while the rest runs
            ready.sort(key=lambda n: not strands[n].blocking)
            while ready and failure is None:
                number = ready.pop(0)
                strand = strands[number]
                if not strand.blocking or not (ready or waiting):
                    # where nothing else can run meanwhile, this thread may as well wait itself
                    try:
                        run_strand(program, number, registers, step)
                    except GraphvmError as error:
                        failure = error
                        step.cancel.cancel(error)
                        break
                    ended(number)
                    ready.sort(key=lambda n: not strands[n].blocking)
                    continue
                waiting += 1
                _start(
                    program,
                    program.code[strand.code[0]],
                    number,
                    registers,
                    step,
                    reports,
                    run_strand,
                )
            if failure is not None:
                ready.clear()
            if waiting:
                number, error_ = reports.get()
                waiting -= 1
                if error_ is None:
                    ended(number)
                elif failure is None:
                    failure = error_
                    step.cancel.cancel(error_)
    except BaseException:
        # Ctrl-C: let go of everything that waits
        step.cancel.cancel()
        raise
    if failure is not None:
        raise failure
    return [registers[r] for r in program.results]


def _start(
    program: Program,
    ins: Instruction,
    number: int,
    registers: list[Any],
    step: Step,
    reports: queue.SimpleQueue[tuple[int, GraphvmError | None]],
    run_strand: RunCode,
) -> None:
    """Begins a blocking instruction; it reports when it has ended."""

    def done(result: Any, error: GraphvmError | None) -> None:
        if error is None:
            if len(ins.outputs) == 1:
                registers[ins.outputs[0]] = result
            elif ins.outputs:
                for r, value in zip(ins.outputs, result, strict=True):
                    registers[r] = value
            reports.put((number, None))
        else:
            reports.put((number, translated(error, ins.node)))

    if isinstance(ins, Call) and ins.kernel.start is not None:
        args = [registers[r] for r in ins.inputs]
        for i in ins.copies:
            args[i] = own(args[i])
        try:
            ins.kernel.start(step, done, *args)
        except Exception as error:
            reports.put((number, translated(error, ins.node)))
        return

    def run() -> None:
        try:
            with np.errstate(all="ignore"):
                run_strand(program, number, registers, step)
        except Exception as error:
            reports.put((number, translated(error, ins.node)))
        else:
            reports.put((number, None))

    threading.Thread(target=run, name=f"graphvm-{ins.node.name}", daemon=True).start()
