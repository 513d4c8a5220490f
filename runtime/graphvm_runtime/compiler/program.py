"""Program: what a graph is compiled to, an immutable list of instructions over registers.

The same program runs two ways that must agree: `vm.interpreter` takes one instruction at a time,
`compiler.emit` writes it as one straight Python function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from graphvm_runtime.ir.graph import Node
from graphvm_runtime.kernels.registry import Kernel
from graphvm_runtime.shapes import TensorType


class Subprogram:
    """A function's program; filled in after it is made, so that functions may call themselves."""

    __slots__ = ("name", "program")

    def __init__(self, name: str) -> None:
        self.name = name
        self.program: Program | None = None

    @property
    def ready(self) -> Program:
        """The program, once every function is assembled."""
        assert self.program is not None
        return self.program

    def __repr__(self) -> str:
        return f"<Subprogram {self.name}>"


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Runs a kernel.

    Attributes:
        copies: positions of inputs that the kernel keeps and the program does not own: they are
            copied first.
        into: register whose array receives output 0, -1 for none.
        buffer: planned buffer of the program that receives output 0, -1 for none.
        checks: registers with the shapes that they must have for that; where one has not, output
            0 gets memory of its own. Static shapes are what a user says in `set_shape`, or what
            a variable had.
        dead: registers that nothing reads afterwards.
    """

    node: Node
    kernel: Kernel
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    copies: tuple[int, ...] = ()
    into: int = -1
    buffer: int = -1
    checks: tuple[tuple[int, tuple[int, ...]], ...] = ()
    dead: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """Runs the branch that the first input picks.

    Attributes:
        counts: the first input is the branch's number, of the last one where there is no such;
            otherwise a truth value, `branches[0]` when it is true.
        scalar: it is known to be a scalar, of bool where it does not count.
    """

    node: Node
    branches: tuple[Subprogram, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    scalar: bool = False
    counts: bool = False
    dead: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class While:
    """Runs `body` over its inputs as long as `cond` gives true.

    Attributes:
        owned: variables whose arrays are the loop's own, which the body may write over.
        copies: those of them that the program does not own: they are copied first.
    """

    node: Node
    cond: Subprogram
    body: Subprogram
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    scalar: bool = False
    owned: frozenset[int] = frozenset()
    copies: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Invoke:
    """Runs a function."""

    node: Node
    target: Subprogram
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    dead: tuple[int, ...] = ()


Instruction: TypeAlias = Call | If | While | Invoke


@dataclass(frozen=True, slots=True)
class Strand:
    """A straight run of instructions that starts when those it waits for have ended.

    Attributes:
        code: positions in the program.
        after: strands that must have ended before.
        blocking: it is one instruction that may wait for others.
    """

    code: tuple[int, ...]
    after: tuple[int, ...]
    blocking: bool = False


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Program:
    """Instructions over registers.

    Attributes:
        params: registers of the parameters (feeds), in order.
        constants: registers that are loaded before the first instruction.
        results: registers of the results (fetches), in order.
        result_copies: results that the program does not own: whoever hands them out copies them.
        result_roots: for each result what its memory may be: -1 something that outlives the
            step, -2-i parameter i; empty when it is the caller's alone.
        strands: more than one only where an instruction may wait for others.
        buffers: types of the planned buffers; each belongs to one run at a time.
        owned: parameters that the program may write over: whoever runs it has no other use for
            them. Only bodies of loops have such.
        needs_step: some instruction reaches the session or may loop.
    """

    name: str
    code: tuple[Instruction, ...]
    registers: int
    params: tuple[int, ...]
    constants: tuple[tuple[int, Any], ...]
    results: tuple[int, ...]
    result_copies: tuple[bool, ...]
    result_roots: tuple[frozenset[int], ...]
    strands: tuple[Strand, ...] = ()
    needs_step: bool = False
    blocking: bool = False
    buffers: tuple[TensorType, ...] = ()
    owned: frozenset[int] = frozenset()
    types: Mapping[int, TensorType] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Program {self.name}: {len(self.code)} instructions>"

    def __str__(self) -> str:
        return "\n".join(self._lines(set()))

    def _lines(self, seen: set[str]) -> Iterator[str]:
        seen.add(self.name)
        params = ", ".join(f"r{r}" for r in self.params)
        yield f"program {self.name}({params})"
        for register, value in self.constants:
            shown = " ".join(repr(value).split())
            yield f"  r{register} = const {shown if len(shown) < 60 else shown[:57] + '...'}"
        below: list[Subprogram] = []
        for at, ins in enumerate(self.code):
            outs = ", ".join(f"r{r}" for r in ins.outputs)
            ins_text = ", ".join(
                f"copy r{r}" if isinstance(ins, Call | While) and i in ins.copies else f"r{r}"
                for i, r in enumerate(ins.inputs)
            )
            line = f"  {at}: {outs + ' = ' if outs else ''}{ins.node.op.name}({ins_text})"
            subs = subprograms(ins)
            if subs:
                line += " " + " ".join(s.name for s in subs)
                below.extend(subs)
            if isinstance(ins, Call) and ins.into >= 0:
                line += f" into r{ins.into}"
            if isinstance(ins, Call) and ins.buffer >= 0:
                line += f" into buffer {ins.buffer}"
            if ins.dead:
                line += " dead " + " ".join(f"r{r}" for r in ins.dead)
            yield f"{line}  # {ins.node.name}"
        results = ", ".join(
            ("copy " if c else "") + f"r{r}"
            for r, c in zip(self.results, self.result_copies, strict=True)
        )
        yield f"  return {results}"
        for sub in below:
            if sub.name not in seen:
                yield from sub.ready._lines(seen)

    def stats(self) -> dict[str, int]:
        """Counts of instructions by kind, this program and all below it."""
        count: Counter[str] = Counter()
        for program in self.closure():
            for ins in program.code:
                count[type(ins).__name__] += 1
                if isinstance(ins, Call | While):
                    count["copies"] += len(ins.copies)
                if isinstance(ins, Call):
                    count["in place"] += ins.into >= 0
                    count["buffered"] += ins.buffer >= 0
            count["programs"] += 1
            count["strands"] += max(1, len(program.strands))
        return dict(count)

    def closure(self) -> list[Program]:
        """This program and all that it may run, each once."""
        out: list[Program] = []
        seen: set[int] = set()
        stack: list[Program] = [self]
        while stack:
            program = stack.pop()
            if id(program) in seen:
                continue
            seen.add(id(program))
            out.append(program)
            for ins in program.code:
                stack.extend(s.ready for s in subprograms(ins))
        return out


def touched(ins: Instruction) -> tuple[int, ...]:
    """The registers that an instruction reads or writes over."""
    if isinstance(ins, Call) and ins.into >= 0:
        return (*ins.inputs, ins.into)
    return ins.inputs


def subprograms(ins: Instruction) -> tuple[Subprogram, ...]:
    """The programs that an instruction runs."""
    if isinstance(ins, If):
        return ins.branches
    if isinstance(ins, While):
        return (ins.cond, ins.body)
    if isinstance(ins, Invoke):
        return (ins.target,)
    return ()
