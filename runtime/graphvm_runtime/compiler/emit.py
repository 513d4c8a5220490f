"""A Program as one straight Python function.

Bodies of loops and branches are written inline, kernels that have an expression become that
expression, registers become local variables that are used again once they are dead. Nothing is
looked up and nothing is planned while it runs. Each instruction stands on a line of its own, so a
traceback tells which node failed at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from types import TracebackType
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime.compiler.counting import Counter, counters
from graphvm_runtime.compiler.program import Call, If, Invoke, Program, Strand, Subprogram, While
from graphvm_runtime.compiler.values import handed_out, own, picked, truth
from graphvm_runtime.dtypes import string
from graphvm_runtime.ir.graph import Node
from graphvm_runtime.shapes import TensorType

# CPython refuses more than 20 nested blocks and 100 levels of indentation
MAX_DEPTH = 12

_serial = count()


@dataclass(frozen=True, slots=True, eq=False)
class Emitted:
    """An emitted function.

    Attributes:
        run: `run(step, *params) -> tuple of results`.
        source: its Python text.
        nodes: the node of each line.
        file: the name under which it stands in tracebacks.
        instructions: instructions that were written; all of them, or emission failed.
    """

    run: Callable[..., Any]
    source: str
    nodes: tuple[Node | None, ...]
    file: str
    instructions: int

    def node_of(self, traceback: TracebackType | None) -> Node | None:
        """The node that an exception passed through, the innermost of this function."""
        found = None
        while traceback is not None:
            if traceback.tb_frame.f_code.co_filename == self.file:
                line = traceback.tb_lineno - 1
                if 0 <= line < len(self.nodes) and self.nodes[line] is not None:
                    found = self.nodes[line]
            traceback = traceback.tb_next
        return found


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
    writer = _Writer(run_strands)
    writer.guarded("run", program, guard)
    writer.pending()
    return writer.compiled("run")


def emitted_strand(program: Program, strand: Strand, run_strands: RunStrands) -> Emitted:
    """One strand as a function `run(step, r)` over the list of all registers."""
    writer = _Writer(run_strands)
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


@dataclass(slots=True)
class _Names:
    """Local variables of one emitted function; a freed one is used again first."""

    free: list[str] = field(default_factory=list)
    made: int = 0

    def take(self) -> str:
        if self.free:
            return self.free.pop()
        self.made += 1
        return f"v{self.made}"


@dataclass(frozen=True, slots=True)
class _Counting:
    """A loop's counter in plain integers, as it is being written.

    Attributes:
        name: the local variable that counts.
        bound: another that holds the bound, or a number.
    """

    counter: Counter
    name: str
    bound: str

    @property
    def names(self) -> list[str]:
        return [self.name] if self.counter.bound is not None else [self.name, self.bound]

    @property
    def in_steps_of_one(self) -> bool:
        return self.counter.step == 1 and self.counter.sign == "<" and not self.counter.in_cond

    def loop(self) -> str:
        return f"for {self.name} in range({self.name}, {self.bound}):"

    def finish(self) -> str:
        return f"if {self.name} < {self.bound}: {self.name} = {self.bound}"


class _Writer:
    def __init__(self, run_strands: RunStrands) -> None:
        self.lines: list[str] = []
        self.nodes: list[Node | None] = []
        self.namespace: dict[str, Any] = {
            "truth": truth, "picked": picked, "own": own, "handed_out": handed_out,
            "run_strands": run_strands,
        }  # fmt: skip
        self.kernels: dict[int, str] = {}
        self.constants: dict[int, str] = {}
        self.functions: dict[int, str] = {}
        self.waiting: list[tuple[str, Program]] = []
        self.active: list[Program] = []
        # what stands in place of an instruction of a loop that counts in plain integers
        # (depth of programs, position) -> the text instead
        self.counted: dict[tuple[int, int, int], str] = {}
        # (depth of programs, register) -> the variable of a loop that it is written to at once
        self.targets: dict[tuple[int, int], str] = {}
        self.instructions = 0
        self.buffers: list[TensorType] = []
        self.offsets: dict[int, int] = {}  # of each program being written: its first buffer

    def compiled(self, name: str) -> Emitted:
        source = "\n".join(self.lines) + "\n"
        file = f"<graphvm program {next(_serial)}>"
        exec(compile(source, file, "exec"), self.namespace)
        return Emitted(self.namespace[name], source, tuple(self.nodes), file, self.instructions)

    def line(self, depth: int, text: str, node: Node | None = None) -> None:
        self.lines.append(" " * depth + text)
        self.nodes.append(node)

    def constant(self, value: Any) -> str:
        name = self.constants.get(id(value))
        if name is None:
            name = self.constants[id(value)] = f"c{len(self.constants)}"
            self.namespace[name] = value
        return name

    def kernel(self, call: Callable[..., Any]) -> str:
        name = self.kernels.get(id(call))
        if name is None:
            name = self.kernels[id(call)] = f"k{len(self.kernels)}"
            self.namespace[name] = call
        return name

    def function_name(self, program: Program) -> str:
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
        names = _Names()
        params = [names.take() for _ in program.params]
        self.line(0, f"def {name}({', '.join(['step', *params])}):")
        results = self._whole(1, program, params, names)
        self.line(1, f"return ({''.join(r + ', ' for r in results)})")

    def guarded(self, name: str, program: Program, guard: Guard) -> None:
        """Writes the function that is called from outside."""
        self.namespace["fault"] = guard.fault
        names = _Names()
        params = [names.take() for _ in program.params]
        self.line(0, f"def {name}({', '.join(['step', *params])}):")
        if guard.variable is not None:
            self.namespace.update(context=guard.variable, quiet=guard.value)
            self.line(1, "token = context.set(quiet)")
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

    def _whole(self, depth: int, program: Program, params: list[str], names: _Names) -> list[str]:
        if program.needs_step:
            self.line(depth, "cancel = step.cancel")
        self.line(depth, "pass")
        header = len(self.lines) - 1
        self.buffers = []
        local = dict(zip(program.params, params, strict=True))
        results = self.body(depth, program, local, names)
        if self.buffers:
            held = self.constant(BufferPool(self.buffers))
            listed = "".join(f"b{i}, " for i in range(len(self.buffers)))
            self.lines[header] = f"{' ' * depth}{listed}= held = {held}.take()"
            self.line(depth, f"{held}.give(held)")
        else:
            del self.lines[header], self.nodes[header]
        return results

    def strand(self, name: str, program: Program, strand: Strand) -> None:
        names = _Names()
        self.line(0, f"def {name}(step, r):")
        self.line(1, "cancel = step.cancel")
        local: dict[int, str] = {}
        constants = dict(program.constants)
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
        names: _Names,
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
        names: _Names,
        protected: set[int] | None,
    ) -> None:
        ins = program.code[at]
        self.instructions += 1
        if isinstance(ins, Call):
            plain = self.counted.get((id(program), len(self.active), at))
            if plain is not None:
                self._free(ins.dead, local, names, protected, ins.outputs)
                (out,) = self._outputs(ins.outputs, local, names)
                if plain:
                    self.line(depth, f"{out} = {plain}", ins.node)
                return
            args = [
                f"own({local[r]})" if i in ins.copies else local[r]
                for i, r in enumerate(ins.inputs)
            ]
            self._free(ins.dead, local, names, protected, ins.outputs)
            target = local[ins.into] if ins.into >= 0 else ""
            if ins.buffer >= 0:
                target = f"b{self.offsets[id(program)] + ins.buffer}"
            outs = self._outputs(ins.outputs, local, names)
            self.line(depth, self._call_text(ins, args, outs, target), ins.node)
            self._free_unused(ins, local, names, protected)
            return
        if isinstance(ins, If):
            self._if(depth, ins, local, names)
        elif isinstance(ins, While):
            self._while(depth, ins, local, names)
        else:
            self._invoke(depth, ins, local, names)
        self._free(ins.dead, local, names, protected, ins.outputs)
        self._free_unused(ins, local, names, protected)

    def _call_text(self, ins: Call, args: list[str], outs: list[str], target: str) -> str:
        kernel = ins.kernel
        if target:
            text = f"{self.kernel(kernel.call)}({', '.join(args)}, out={target})"
        elif kernel.expression and ins.node.outputs[0].dtype is not string:
            text = kernel.expression.format(*args)
        else:
            text = (
                f"{self.kernel(kernel.call)}({', '.join((['step'] if kernel.step else []) + args)})"
            )
        return f"{', '.join(outs)} = {text}" if outs else text

    def _outputs(self, outputs: Sequence[int], local: dict[int, str], names: _Names) -> list[str]:
        for r in outputs:
            local[r] = self.targets.pop((len(self.active), r), "") or names.take()
        return [local[r] for r in outputs]

    def _free(
        self,
        dead: Sequence[int],
        local: dict[int, str],
        names: _Names,
        protected: set[int] | None,
        outputs: Sequence[int],
    ) -> None:
        if protected is None:  # a strand: registers of others must stay
            return
        for r in dead:
            if r not in protected and r not in outputs and r in local:
                names.free.append(local[r])

    def _free_unused(
        self, ins: Any, local: dict[int, str], names: _Names, protected: set[int] | None
    ) -> None:
        if protected is not None:
            names.free.extend(local[r] for r in ins.outputs if r in ins.dead)

    def _inline(self, sub: Subprogram, depth: int) -> bool:
        return (
            depth < MAX_DEPTH
            and not any(sub.ready is p for p in self.active)
            and len(sub.ready.strands) < 2
        )

    def _out_of_line(self, sub: Subprogram, args: list[str]) -> str:
        program = sub.ready
        if len(program.strands) > 1:
            name = self.constant(program)
            return f"run_strands({name}, step, ({''.join(a + ', ' for a in args)}))"
        return f"{self.function_name(program)}({', '.join(['step', *args])})"

    def _if(self, depth: int, ins: If, local: dict[int, str], names: _Names) -> None:
        args = [local[r] for r in ins.inputs[1:]]
        outs = self._outputs(ins.outputs, local, names)
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
        names: _Names,
        node: Node,
    ) -> None:
        """Writes a call of a subprogram, inline where that is possible, into `outs`."""
        if not self._inline(sub, depth):
            text = self._out_of_line(sub, args)
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
        self._assign(depth, outs, results, node)
        if len(self.lines) == before:
            self.line(depth, "pass")
        # names taken inside are free again; those free before may have been used, which is fine
        taken = {n for n in inner.values() if n.startswith("v")} - set(args)
        names.free = list(dict.fromkeys([*free, *names.free, *sorted(taken)]))
        used = set(outs) | set(args)
        names.free = [n for n in names.free if n not in used]

    def _assign(self, depth: int, outs: list[str], values: list[str], node: Node) -> None:
        pairs = [(o, v) for o, v in zip(outs, values, strict=True) if o != v]
        if pairs:
            left = ", ".join(o for o, _ in pairs)
            right = ", ".join(v for _, v in pairs)
            self.line(depth, f"{left} = {right}", node)

    def _while(self, depth: int, ins: While, local: dict[int, str], names: _Names) -> None:
        args = [local[r] for r in ins.inputs]
        body, cond = ins.body.ready, ins.cond.ready
        variables = self._outputs(ins.outputs, local, names)
        self._assign(depth, variables, args, ins.node)
        inner = depth + 1
        counts: list[_Counting] = []
        if self._inline(ins.cond, inner) and self._inline(ins.body, inner):
            counts = self._start_counting(depth, ins, variables, names)
        plain = [n for c in counts for n in c.names]  # they hold Python's integers
        keep = [*variables, *plain]
        # a loop that does nothing but count to its end is Python's own fastest loop
        ranges = len(counts) == 1 and len(cond.code) == 1 and counts[0].in_steps_of_one
        if ranges:
            self.instructions += 1
            self.line(depth, counts[0].loop(), ins.node)
        else:
            self.line(depth, "while True:", ins.node)
            self._test(inner, ins, counts, variables, names, keep)
        self.line(inner, "if cancel.error is not None: raise cancel.error", ins.node)
        if self._inline(ins.body, inner):
            seen = [c for c in counts if c.counter.in_body and not c.counter.in_cond]
            self._recount(inner, seen, variables, ins.node)
            values = dict(zip(body.params, variables, strict=True))
            level = len(self.active) + 1
            counted = {c.counter.place for c in counts}
            for register, place in _written_last(body).items():
                if place not in counted:
                    self.targets[level, register] = variables[place]
            results = self._nested(inner, body, values, names, keep)
            others = [i for i in range(len(variables)) if i not in counted]
            left = [variables[i] for i in others]
            self._assign(inner, left, [results[i] for i in others], ins.node)
            for each in counts:
                if not ranges:
                    self.line(inner, f"{each.name} += {each.counter.step}", ins.node)
        else:
            left = variables
            text = self._out_of_line(ins.body, variables)
            to = ", ".join(left) + ("," if len(left) == 1 else "")
            self.line(inner, f"{to} = {text}" if left else text, ins.node)
        if ranges:
            self.line(depth, counts[0].finish(), ins.node)
        self.counted = {k: v for k, v in self.counted.items() if k[1] <= len(self.active)}
        self._recount(depth, counts, variables, ins.node)
        names.free += plain

    def _test(
        self,
        depth: int,
        ins: While,
        counts: list[_Counting],
        variables: list[str],
        names: _Names,
        keep: list[str],
    ) -> None:
        """Writes what leaves a loop."""
        cond = ins.cond.ready
        if self._inline(ins.cond, depth):
            self._recount(depth, [c for c in counts if c.counter.in_cond], variables, ins.node)
            values = dict(zip(cond.params, variables, strict=True))
            (test,) = self._nested(depth, cond, values, names, keep)
        else:
            test = names.take()
            self.line(depth, f"{test}, = {self._out_of_line(ins.cond, variables)}", ins.node)
            names.free.append(test)
        test = test if ins.scalar else f"truth({test})"
        self.line(depth, f"if not {test}: break", ins.node)

    def _start_counting(
        self, depth: int, ins: While, variables: list[str], names: _Names
    ) -> list[_Counting]:
        """Writes the start of the loop's plain counters."""
        out = []
        level = len(self.active) + 1
        for counter in counters(ins):
            name = names.take()
            self.line(depth, f"{name} = int({variables[counter.place]})", ins.node)
            bound = str(counter.bound)
            if counter.bound is None:
                bound = names.take()
                self.line(depth, f"{bound} = int({variables[counter.bound_place]})", ins.node)
            self.counted[id(ins.cond.ready), level, counter.test] = f"{name} {counter.sign} {bound}"
            number = self.constant(counter.dtype.numpy.type)
            self.counted[id(ins.body.ready), level, counter.add] = (
                f"{number}({name} + {counter.step})" if counter.next_in_body else ""
            )
            out.append(_Counting(counter, name, bound))
        return out

    def _recount(
        self, depth: int, counts: list[_Counting], variables: list[str], node: Node
    ) -> None:
        """Gives variables the values of their plain counters."""
        for each in counts:
            number = self.constant(each.counter.dtype.numpy.type)
            self.line(depth, f"{variables[each.counter.place]} = {number}({each.name})", node)

    def _nested(
        self, depth: int, program: Program, local: dict[int, str], names: _Names, keep: list[str]
    ) -> list[str]:
        """Writes a program inline; the names of its results stay taken until they are used."""
        free = list(names.free)
        results = self.body(depth, program, local, names)
        taken = {n for n in local.values() if n.startswith("v")}
        used = set(keep)
        pool = dict.fromkeys([*free, *names.free, *sorted(taken)])
        names.free = [n for n in pool if n not in used]
        return results

    def _invoke(self, depth: int, ins: Invoke, local: dict[int, str], names: _Names) -> None:
        args = [local[r] for r in ins.inputs]
        outs = self._outputs(ins.outputs, local, names)
        self._place(depth, ins.target, args, outs, names, ins.node)


def _written_last(body: Program) -> dict[int, int]:
    """Results of a loop's body that may take the place of their variable at once.

    Nothing needs the variable any more when they are computed.

    Returns:
        Register -> which variable it becomes.
    """
    last = {r: at for at, ins in enumerate(body.code) for r in ins.inputs}
    out: dict[int, int] = {}
    for at, ins in enumerate(body.code):
        for register in ins.outputs if isinstance(ins, Call) else ():
            if register not in body.results:
                continue
            place = body.results.index(register)
            variable = body.params[place]
            if last.get(variable, -1) <= at and variable not in body.results:
                out[register] = place
    return out
