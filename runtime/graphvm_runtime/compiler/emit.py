"""A Program as one straight Python function.

Bodies of loops and branches are written inline, kernels that have an expression become that
expression, registers become local variables that are used again once they are dead. Nothing is
looked up and nothing is planned while it runs. Each instruction stands on a line of its own, so a
traceback tells which node failed at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime.compiler.emit_loops import Loops, Names, Place
from graphvm_runtime.compiler.program import Call, If, Invoke, Program, Strand, Subprogram, While
from graphvm_runtime.compiler.values import handed_out, own, picked, truth
from graphvm_runtime.dtypes import string
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.shapes import TensorType

# CPython refuses more than 20 nested blocks and 100 levels of indentation
MAX_DEPTH = 12

# Other ufuncs take the array for their output by place, which is faster; of these NumPy warns.
_OUT_BY_NAME = frozenset({np.maximum, np.minimum})

_serial = count()


@dataclass(frozen=True, slots=True, eq=False)
class Emitted:
    """An emitted function.

    Attributes:
        run: `run(step, *params) -> tuple of results`.
        source: its Python text.
        nodes: the node of each line.
        inputs: the variables that the node of each line takes; None where it is no kernel's line.
        file: the name under which it stands in tracebacks.
        instructions: instructions that were written; all of them, or emission failed.
    """

    run: Callable[..., Any]
    source: str
    nodes: tuple[Node | None, ...]
    inputs: tuple[Sequence[str] | None, ...]
    file: str
    instructions: int

    def fault(self, error: BaseException) -> tuple[Node | None, list[Any] | None]:
        """The node that an exception passed through, the innermost of this function.

        Returns:
            The node and the values of its inputs, None where they are not known.
        """
        found: Node | None = None
        values: list[Any] | None = None
        traceback = error.__traceback__
        while traceback is not None:
            frame = traceback.tb_frame
            if frame.f_code.co_filename == self.file:
                line = traceback.tb_lineno - 1
                if 0 <= line < len(self.nodes) and self.nodes[line] is not None:
                    found, values = self.nodes[line], None
                    names = self.inputs[line]
                    if names is not None:
                        known = {**frame.f_globals, **frame.f_locals}
                        values = [known[n] for n in names] if known.keys() >= set(names) else None
            traceback = traceback.tb_next
        return found, values


RunStrands: TypeAlias = Callable[[Program, Any, Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Guard:
    """What the emitted function does around its instructions, written into it to save a call.

    Attributes:
        fault: called with an exception that an instruction raised; raises what the caller sees.
        variable: a context variable that is set to `value` meanwhile; None for none.
    """

    fault: Callable[[Exception], None]
    variable: ContextVar[Any] | None = None
    value: Any = None


def emitted(program: Program, run_strands: RunStrands, guard: Guard) -> Emitted:
    """The program as a function `run(step, *params)` that gives a tuple of its results.

    Results are handed out as the caller gets them: NumPy scalars for rank 0, arrays that nobody
    else holds. `run_strands` runs the bodies inside it that have more than one strand.
    """
    writer = Writer(run_strands)
    writer.guarded("run", program, guard)
    writer.pending()
    return writer.compiled("run")


def emitted_strand(program: Program, strand: Strand, run_strands: RunStrands) -> Emitted:
    """One strand as a function `run(step, r)` over the list of all registers."""
    writer = Writer(run_strands)
    writer.strand("run", program, strand)
    writer.pending()
    return writer.compiled("run")


class BufferPool:
    """Sets of planned buffers; each set belongs to one run at a time."""

    def __init__(self, types: Sequence[TensorType]) -> None:
        self._types = list(types)
        self._free: list[tuple[Any, ...]] = []

    def take(self) -> tuple[Any, ...]:
        """A set that no other run has."""
        try:
            return self._free.pop()
        except IndexError:
            return tuple(np.empty(t.shape or (), t.dtype.numpy) for t in self._types)

    def give(self, buffers: tuple[Any, ...]) -> None:
        """Gives a set back; a few are kept."""
        if len(self._free) < 2:
            self._free.append(buffers)


class Writer:
    """Writes the text of one emitted function, and of the functions that it calls."""

    def __init__(self, run_strands: RunStrands) -> None:
        self.lines: list[str] = []
        self.nodes: list[Node | None] = []
        self.inputs: list[Sequence[str] | None] = []
        self.namespace: dict[str, Any] = {
            "truth": truth, "picked": picked, "own": own, "handed_out": handed_out,
            "run_strands": run_strands,
        }  # fmt: skip
        self.kernels: dict[int, str] = {}
        self.constants: dict[int, str] = {}
        self.arrays: dict[int, str] = {}  # of constants that are scalars
        self.scalars: dict[int, dict[int, np.generic]] = {}  # constants of each program
        self.functions: dict[int, str] = {}
        self.waiting: list[tuple[str, Program]] = []
        self.active: list[Program] = []
        self.loops = Loops(self)
        self.instructions = 0
        self.buffers: list[TensorType] = []
        self.offsets: dict[int, int] = {}  # of each program being written: its first buffer

    def compiled(self, name: str) -> Emitted:
        """What was written, as a function."""
        source = "\n".join(self.lines) + "\n"
        file = f"<graphvm program {next(_serial)}>"
        exec(compile(source, file, "exec"), self.namespace)
        return Emitted(
            self.namespace[name],
            source,
            tuple(self.nodes),
            tuple(self.inputs),
            file,
            self.instructions,
        )

    def line(
        self,
        depth: int,
        text: str,
        node: Node | None = None,
        inputs: Sequence[str] | None = None,
    ) -> None:
        """Writes a line; `node` is what failed if it fails, with these variables as its inputs."""
        self.lines.append(" " * depth + text)
        self.nodes.append(node)
        self.inputs.append(inputs)

    def constant(self, value: Any) -> str:
        """The name of an object that the text uses."""
        name = self.constants.get(id(value))
        if name is None:
            name = self.constants[id(value)] = f"c{len(self.constants)}"
            self.namespace[name] = value
        return name

    def kernel(self, call: Callable[..., Any]) -> str:
        """The name of a kernel."""
        name = self.kernels.get(id(call))
        if name is None:
            name = self.kernels[id(call)] = f"k{len(self.kernels)}"
            self.namespace[name] = call
        return name

    def function_name(self, program: Program) -> str:
        """The name of a program that is called out of line; it is written later."""
        name = self.functions.get(id(program))
        if name is None:
            name = self.functions[id(program)] = f"f{len(self.functions)}"
            self.waiting.append((name, program))
        return name

    def pending(self) -> None:
        """Writes the functions that are called out of line."""
        while self.waiting:
            name, program = self.waiting.pop()
            self.function(name, program)

    def function(self, name: str, program: Program) -> None:
        """Writes a program as a function of its own."""
        names = Names()
        params = [names.take() for _ in program.params]
        self.line(0, f"def {name}({', '.join(['step', *params])}):")
        results = self._whole(1, program, params, names)
        self.line(1, f"return ({''.join(r + ', ' for r in results)})")

    def guarded(self, name: str, program: Program, guard: Guard) -> None:
        """Writes the function that is called from outside."""
        self.namespace["fault"] = guard.fault
        names = Names()
        params = [names.take() for _ in program.params]
        self.line(0, f"def {name}({', '.join(['step', *params])}):")
        if guard.variable is not None:
            self.namespace.update(context=guard.variable, silent=guard.value)
            self.line(1, "token = context.set(silent)")
        self.line(1, "try:")
        results = self._whole(2, program, params, names)
        handed = [
            self._handed(value, program.types[register], copy)
            for value, register, copy in zip(
                results, program.results, program.result_copies, strict=True
            )
        ]
        self.line(2, f"return ({''.join(h + ', ' for h in handed)})")
        self.line(1, "except Exception as error:")
        self.line(2, "fault(error)")
        if guard.variable is not None:
            self.line(1, "finally:")
            self.line(2, "context.reset(token)")

    def _handed(self, value: str, type_: TensorType, copy: bool) -> str:
        if type_.dtype.numpy.kind == "O" or type_.shape is None:
            return f"handed_out({value}, {copy})"
        if type_.shape == ():
            return f"{value}[()]"
        return f"{value}.copy()" if copy else value

    def _whole(self, depth: int, program: Program, params: list[str], names: Names) -> list[str]:
        if program.needs_step:
            self.line(depth, "cancel = step.cancel")
        local = dict(zip(program.params, params, strict=True))
        with self._buffered(depth):
            return self.body(depth, program, local, names)

    @contextmanager
    def _buffered(self, depth: int) -> Iterator[None]:
        """Writes around what is written inside how it gets its planned buffers."""
        self.line(depth, "pass")
        header = len(self.lines) - 1
        self.buffers = []
        yield
        if self.buffers:
            held = self.constant(BufferPool(self.buffers))
            listed = "".join(f"b{i}, " for i in range(len(self.buffers)))
            self.lines[header] = f"{' ' * depth}{listed}= held = {held}.take()"
            self.line(depth, f"{held}.give(held)")
        else:
            del self.lines[header], self.nodes[header], self.inputs[header]

    def strand(self, name: str, program: Program, strand: Strand) -> None:
        """Writes a strand as a function over the list of all registers."""
        names = Names()
        self.line(0, f"def {name}(step, r):")
        self.line(1, "cancel = step.cancel")
        local: dict[int, str] = {}
        constants = dict(program.constants)
        with self._buffered(1):
            for at in strand.code:
                ins = program.code[at]
                for register in ins.inputs:
                    if register not in local:
                        if register in constants:
                            local[register] = self.constant(constants[register])
                        else:
                            local[register] = names.take()
                            self.line(1, f"{local[register]} = r[{register}]")
                self.instruction(1, program, at, local, names, None)
                for register in ins.outputs:
                    self.line(1, f"r[{register}] = {local[register]}")

    def body(
        self,
        depth: int,
        program: Program,
        local: dict[int, str],
        names: Names,
    ) -> list[str]:
        """Writes the instructions; gives the expression of each result."""
        self.active.append(program)
        self.offsets[id(program)] = len(self.buffers)
        self.buffers.extend(program.buffers)
        for register, value in program.constants:
            local[register] = self.constant(value)
        protected = set(program.params) | {r for r, _ in program.constants}
        for at in range(len(program.code)):
            self.instruction(depth, program, at, local, names, protected)
        self.active.pop()
        return [local[r] for r in program.results]

    def instruction(
        self,
        depth: int,
        program: Program,
        at: int,
        local: dict[int, str],
        names: Names,
        protected: set[int] | None,
    ) -> None:
        """Writes one instruction; variables of `protected` registers are never used again."""
        ins = program.code[at]
        self.instructions += 1
        if isinstance(ins, Call):
            counted = self.loops.counted.get(Place(id(program), len(self.active), at))
            if counted is not None:
                self._free(ins.dead, local, names, protected, ins.outputs)
                (out,) = self.outputs(ins.outputs, local, names)
                if counted.text:
                    self.line(depth, f"{out} = {counted.text}", ins.node)
                return
            args = [
                f"own({local[r]})" if i in ins.copies else local[r]
                for i, r in enumerate(ins.inputs)
            ]
            if ins.kernel.expression or isinstance(ins.kernel.call, np.ufunc):
                self._meet_arrays(ins, program, args)
            self._free(ins.dead, local, names, protected, ins.outputs)
            target = local[ins.into] if ins.into >= 0 else ""
            if ins.buffer >= 0:
                target = f"b{self.offsets[id(program)] + ins.buffer}"
            if ins.checks:
                checks = [f"{local[r]}.shape == {shape}" for r, shape in ins.checks]
                target += f" if {' and '.join(checks)} else None"
            takes = [local[r] for r in ins.inputs]
            outs = self.outputs(ins.outputs, local, names)
            self.line(depth, self._call_text(ins, args, outs, target), ins.node, takes)
            self._free_unused(ins, local, names, protected)
            return
        if isinstance(ins, If):
            self._if(depth, ins, local, names)
        elif isinstance(ins, While):
            self.loops.write(depth, ins, local, names)
        else:
            self._invoke(depth, ins, local, names)
        self._free(ins.dead, local, names, protected, ins.outputs)
        self._free_unused(ins, local, names, protected)

    def _meet_arrays(self, ins: Call, program: Program, args: list[str]) -> None:
        """Writes scalar constants that meet arrays as arrays.

        NumPy would make such an array at each call, which takes longer than a small sum.
        """
        if not any(program.types[r].shape for r in ins.inputs):
            return
        scalars = self.scalars.get(id(program))
        if scalars is None:
            scalars = {r: v for r, v in program.constants if isinstance(v, np.generic)}
            self.scalars[id(program)] = scalars
        for i, register in enumerate(ins.inputs):
            if register in scalars:
                args[i] = self._array(scalars[register])

    def _array(self, scalar: np.generic) -> str:
        """The name of a constant, as an array of rank 0."""
        name = self.arrays.get(id(scalar))
        if name is None:
            name = self.arrays[id(scalar)] = self.constant(np.asarray(scalar))
        return name

    def _call_text(self, ins: Call, args: list[str], outs: list[str], target: str) -> str:
        kernel = ins.kernel
        if target:
            by_place = isinstance(kernel.call, np.ufunc) and kernel.call not in _OUT_BY_NAME
            out = target if by_place else f"out={target}"
            text = f"{self.kernel(kernel.call)}({', '.join(args)}, {out})"
        elif kernel.expression and ins.node.outputs[0].dtype is not string:
            text = kernel.expression.format(*args)
        else:
            text = (
                f"{self.kernel(kernel.call)}({', '.join((['step'] if kernel.step else []) + args)})"
            )
        return f"{', '.join(outs)} = {text}" if outs else text

    def outputs(self, outputs: Sequence[int], local: dict[int, str], names: Names) -> list[str]:
        """Variables for the outputs of an instruction."""
        for r in outputs:
            local[r] = self.loops.targets.pop((len(self.active), r), "") or names.take()
        return [local[r] for r in outputs]

    def _free(
        self,
        dead: Sequence[int],
        local: dict[int, str],
        names: Names,
        protected: set[int] | None,
        outputs: Sequence[int],
    ) -> None:
        if protected is None:  # a strand: registers of others must stay
            return
        for r in dead:
            if r not in protected and r not in outputs and r in local:
                names.free.append(local[r])

    def _free_unused(
        self, ins: Any, local: dict[int, str], names: Names, protected: set[int] | None
    ) -> None:
        if protected is not None:
            names.free.extend(local[r] for r in ins.outputs if r in ins.dead)

    def is_inline(self, sub: Subprogram, depth: int) -> bool:
        """Whether a subprogram is written where it is called."""
        return (
            depth < MAX_DEPTH
            and not any(sub.ready is p for p in self.active)
            and len(sub.ready.strands) < 2
        )

    def out_of_line(self, sub: Subprogram, args: list[str]) -> str:
        """A call of a subprogram that is written elsewhere."""
        program = sub.ready
        if len(program.strands) > 1:
            name = self.constant(program)
            return f"run_strands({name}, step, ({''.join(a + ', ' for a in args)}))"
        return f"{self.function_name(program)}({', '.join(['step', *args])})"

    def _if(self, depth: int, ins: If, local: dict[int, str], names: Names) -> None:
        args = [local[r] for r in ins.inputs[1:]]
        outs = self.outputs(ins.outputs, local, names)
        first = local[ins.inputs[0]]
        last = len(ins.branches) - 1
        index = ""
        if ins.counts and last:
            index = names.take()
            value = f"int({first})" if ins.scalar else f"picked({first}, {last + 1})"
            self.line(depth, f"{index} = {value}", ins.node)
        for place, sub in enumerate(ins.branches):
            test = first if ins.scalar else f"truth({first})"
            if ins.counts:
                test = f"{index} == {place}" if last else "True"
            if place and place == last:
                self.line(depth, "else:", ins.node)
            else:
                self.line(depth, f"{'elif' if place else 'if'} {test}:", ins.node)
            self._place(depth + 1, sub, args, outs, names, ins.node)
        if index:
            names.free.append(index)

    def _place(
        self,
        depth: int,
        sub: Subprogram,
        args: list[str],
        outs: list[str],
        names: Names,
        node: Node,
    ) -> None:
        """Writes a call of a subprogram, inline where that is possible, into `outs`."""
        if not self.is_inline(sub, depth):
            text = self.out_of_line(sub, args)
            self.line(
                depth,
                f"{', '.join(outs)}{',' if len(outs) == 1 else ''} = {text}" if outs else text,
                node,
            )
            return
        program = sub.ready
        inner = dict(zip(program.params, args, strict=True))
        before = len(self.lines)
        free = list(names.free)
        results = self.body(depth, program, inner, names)
        self.assign(depth, outs, results, node)
        if len(self.lines) == before:
            self.line(depth, "pass")
        # names taken inside are free again; those free before may have been used, which is fine
        taken = {n for n in inner.values() if n.startswith("v")} - set(args)
        names.free = list(dict.fromkeys([*free, *names.free, *sorted(taken)]))
        used = set(outs) | set(args)
        names.free = [n for n in names.free if n not in used]

    def assign(self, depth: int, outs: list[str], values: list[str], node: Node) -> None:
        """Writes the assignments that are none of a variable to itself, as one."""
        pairs = [(o, v) for o, v in zip(outs, values, strict=True) if o != v]
        if pairs:
            left = ", ".join(o for o, _ in pairs)
            right = ", ".join(v for _, v in pairs)
            self.line(depth, f"{left} = {right}", node)

    def nested(
        self, depth: int, program: Program, local: dict[int, str], names: Names, keep: list[str]
    ) -> list[str]:
        """Writes a program inline; the names of its results stay taken until they are used."""
        free = list(names.free)
        results = self.body(depth, program, local, names)
        taken = {n for n in local.values() if n.startswith("v")}
        used = set(keep)
        pool = dict.fromkeys([*free, *names.free, *sorted(taken)])
        names.free = [n for n in pool if n not in used]
        return results

    def _invoke(self, depth: int, ins: Invoke, local: dict[int, str], names: Names) -> None:
        args = [local[r] for r in ins.inputs]
        outs = self.outputs(ins.outputs, local, names)
        self._place(depth, ins.target, args, outs, names, ins.node)
