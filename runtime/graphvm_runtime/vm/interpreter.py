"""Runs a program one instruction at a time: the reference for the emitted function."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from graphvm_runtime.compiler.program import Call, If, Instruction, Program, While
from graphvm_runtime.compiler.values import own, picked, truth
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.values.resources import Step
from graphvm_runtime.vm.error_translation import raise_translated

# told of each kernel call that ended: its step, node, outputs, start and end in seconds
Watcher = Callable[[Step, Node, Any, float, float], None]


class Interpreter:
    """Runs programs by their instructions.

    Args:
        run_strands: runs a body that has more than one strand.
        watch: told of each kernel call, for traces and checks of numbers; slows it down.
    """

    def __init__(
        self,
        run_strands: Callable[[Program, Step, Sequence[Any]], Sequence[Any]],
        watch: Watcher | None = None,
    ) -> None:
        self._run_strands = run_strands
        self._watch = watch

    def run(self, program: Program, step: Step, args: Sequence[Any]) -> list[Any]:
        """Results of the program for these parameters.

        Raises:
            OpError: a kernel failed; the error names its node.
        """
        if len(program.strands) > 1:
            return list(self._run_strands(program, step, args))
        registers: list[Any] = [None] * program.registers
        for register, value in program.constants:
            registers[register] = value
        for register, value in zip(program.params, args, strict=True):
            registers[register] = value
        self.execute(program.code, registers, step, free=True)
        return [registers[r] for r in program.results]

    def execute(
        self, code: Sequence[Instruction], registers: list[Any], step: Step, free: bool
    ) -> None:
        """Runs instructions over registers; `free` lets go of those that are dead."""
        watch = self._watch
        for ins in code:
            try:
                if type(ins) is not Call:
                    self._region(ins, registers, step)
                elif watch is None and ins.into < 0 and not ins.copies and not ins.kernel.step:
                    inputs, call = ins.inputs, ins.kernel.call
                    if len(inputs) == 2:  # most are like this: no lists on the way
                        a, b = inputs
                        result = call(registers[a], registers[b])
                    elif len(inputs) == 1:
                        result = call(registers[inputs[0]])
                    else:
                        result = call(*[registers[r] for r in inputs])
                    _put(ins.outputs, result, registers)
                else:
                    self._call(ins, registers, step)
            except Exception as error:
                values = [registers[r] for r in ins.inputs] if isinstance(ins, Call) else None
                raise_translated(error, ins.node, values)
            if free:
                for r in ins.dead:
                    registers[r] = None

    def _call(self, ins: Call, registers: list[Any], step: Step) -> None:
        kernel, watch = ins.kernel, self._watch
        args = [registers[r] for r in ins.inputs]
        for i in ins.copies:
            args[i] = own(args[i])
        start = time.perf_counter() if watch else 0.0
        if ins.into >= 0 and all(registers[r].shape == s for r, s in ins.checks):
            result = kernel.call(*args, out=registers[ins.into])
        elif kernel.step:
            result = kernel.call(step, *args)
        else:
            result = kernel.call(*args)
        if watch:
            watch(step, ins.node, result, start, time.perf_counter())
        _put(ins.outputs, result, registers)

    def _region(self, ins: Instruction, registers: list[Any], step: Step) -> None:
        args = [registers[r] for r in ins.inputs]
        if isinstance(ins, If):
            count = len(ins.branches)
            chosen = picked(args[0], count) if ins.counts else 0 if truth(args[0]) else 1
            results = self.run(ins.branches[chosen].ready, step, args[1:])
        elif isinstance(ins, While):
            cond, body = ins.cond.ready, ins.body.ready
            for i in ins.copies:
                args[i] = own(args[i])
            results = args
            while truth(self.run(cond, step, results)[0]):
                step.cancel.check()
                results = self.run(body, step, results)
        else:
            assert not isinstance(ins, Call)
            results = self.run(ins.target.ready, step, args)
        for r, value in zip(ins.outputs, results, strict=True):
            registers[r] = value


def _put(outputs: tuple[int, ...], result: Any, registers: list[Any]) -> None:
    if len(outputs) == 1:
        registers[outputs[0]] = result
    elif outputs:
        for r, value in zip(outputs, result, strict=True):
            registers[r] = value
