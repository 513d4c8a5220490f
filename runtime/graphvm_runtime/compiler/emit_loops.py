"""Writes loops: their tests, their counters in plain integers, what changes in each iteration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from graphvm_runtime.compiler.induction import Counter, counters
from graphvm_runtime.compiler.program import Call, Program, Subprogram, While
from graphvm_runtime.ir.graph import Node


@dataclass(slots=True)
class Names:
    """Local variables of one emitted function; a freed one is used again first."""

    free: list[str] = field(default_factory=list)
    made: int = 0

    def take(self) -> str:
        """A variable that holds nothing."""
        if self.free:
            return self.free.pop()
        self.made += 1
        return f"v{self.made}"


class Text(Protocol):
    """What a loop is written into: the writer of the function that it stands in."""

    active: list[Program]
    instructions: int

    def line(self, depth: int, text: str, node: Node | None = None) -> None:
        """Writes a line; `node` is what failed if it fails."""

    def constant(self, value: Any) -> str:
        """The name of an object that the text uses."""

    def outputs(self, outputs: Sequence[int], local: dict[int, str], names: Names) -> list[str]:
        """Variables for the outputs of an instruction."""

    def assign(self, depth: int, outs: list[str], values: list[str], node: Node) -> None:
        """Writes the assignments that are none of a variable to itself, as one."""

    def is_inline(self, sub: Subprogram, depth: int) -> bool:
        """Whether a subprogram is written where it is called."""

    def out_of_line(self, sub: Subprogram, args: list[str]) -> str:
        """A call of a subprogram that is written elsewhere."""

    def nested(
        self, depth: int, program: Program, local: dict[int, str], names: Names, keep: list[str]
    ) -> list[str]:
        """Writes a program inline; the names of its results stay taken until they are used."""


class Place(NamedTuple):
    """Where an instruction is written: programs may be written at several places.

    Attributes:
        program: identity of its program.
        level: how many programs it is written within.
        at: its position there.
    """

    program: int
    level: int
    at: int


class Instead(NamedTuple):
    """What is written in place of an instruction; None where nothing is."""

    text: str | None


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


class Loops:
    """Writes the loops of one function.

    Attributes:
        counted: what stands in place of instructions of loops that count in plain integers.
        targets: (level, register) -> the variable of a loop that it is written to at once.
    """

    def __init__(self, writer: Text) -> None:
        self.writer = writer
        self.counted: dict[Place, Instead] = {}
        self.targets: dict[tuple[int, int], str] = {}

    def write(self, depth: int, ins: While, local: dict[int, str], names: Names) -> None:
        """Writes a loop, inline where that is possible."""
        writer = self.writer
        args = [
            f"own({local[r]})" if i in ins.copies else local[r] for i, r in enumerate(ins.inputs)
        ]
        body, cond = ins.body.ready, ins.cond.ready
        variables = writer.outputs(ins.outputs, local, names)
        writer.assign(depth, variables, args, ins.node)
        inner = depth + 1
        counts: list[_Counting] = []
        if writer.is_inline(ins.cond, inner) and writer.is_inline(ins.body, inner):
            counts = self._start_counting(depth, ins, variables, names)
        plain = [n for c in counts for n in c.names]  # they hold Python's integers
        keep = [*variables, *plain]
        # a loop that does nothing but count to its end is Python's own fastest loop
        ranges = len(counts) == 1 and len(cond.code) == 1 and counts[0].in_steps_of_one
        if ranges:
            writer.instructions += 1
            writer.line(depth, counts[0].loop(), ins.node)
        else:
            writer.line(depth, "while True:", ins.node)
            self._test(inner, ins, counts, variables, names, keep)
        writer.line(inner, "if cancel.error is not None: raise cancel.error", ins.node)
        if writer.is_inline(ins.body, inner):
            seen = [c for c in counts if c.counter.in_body and not c.counter.in_cond]
            self._recount(inner, seen, variables, ins.node)
            values = dict(zip(body.params, variables, strict=True))
            level = len(writer.active) + 1
            counted = {c.counter.place for c in counts}
            for register, place in _written_last(body).items():
                if place not in counted:
                    self.targets[level, register] = variables[place]
            results = writer.nested(inner, body, values, names, keep)
            others = [i for i in range(len(variables)) if i not in counted]
            left = [variables[i] for i in others]
            writer.assign(inner, left, [results[i] for i in others], ins.node)
            for each in counts:
                if not ranges:
                    writer.line(inner, f"{each.name} += {each.counter.step}", ins.node)
        else:
            left = variables
            text = writer.out_of_line(ins.body, variables)
            to = ", ".join(left) + ("," if len(left) == 1 else "")
            writer.line(inner, f"{to} = {text}" if left else text, ins.node)
        if ranges:
            writer.line(depth, counts[0].finish(), ins.node)
        self.counted = {k: v for k, v in self.counted.items() if k.level <= len(writer.active)}
        self._recount(depth, counts, variables, ins.node)
        names.free += plain

    def _test(
        self,
        depth: int,
        ins: While,
        counts: list[_Counting],
        variables: list[str],
        names: Names,
        keep: list[str],
    ) -> None:
        """Writes what leaves a loop."""
        writer = self.writer
        cond = ins.cond.ready
        if writer.is_inline(ins.cond, depth):
            self._recount(depth, [c for c in counts if c.counter.in_cond], variables, ins.node)
            values = dict(zip(cond.params, variables, strict=True))
            (test,) = writer.nested(depth, cond, values, names, keep)
        else:
            test = names.take()
            writer.line(depth, f"{test}, = {writer.out_of_line(ins.cond, variables)}", ins.node)
            names.free.append(test)
        test = test if ins.scalar else f"truth({test})"
        writer.line(depth, f"if not {test}: break", ins.node)

    def _start_counting(
        self, depth: int, ins: While, variables: list[str], names: Names
    ) -> list[_Counting]:
        """Writes the start of the loop's plain counters."""
        writer = self.writer
        out = []
        level = len(writer.active) + 1
        for counter in counters(ins):
            name = names.take()
            writer.line(depth, f"{name} = int({variables[counter.place]})", ins.node)
            bound = str(counter.bound)
            if counter.bound is None:
                bound = names.take()
                writer.line(depth, f"{bound} = int({variables[counter.bound_place]})", ins.node)
            test = Place(id(ins.cond.ready), level, counter.test)
            self.counted[test] = Instead(f"{name} {counter.sign} {bound}")
            number = writer.constant(counter.dtype.numpy.type)
            add = Place(id(ins.body.ready), level, counter.add)
            self.counted[add] = Instead(
                f"{number}({name} + {counter.step})" if counter.next_in_body else None
            )
            out.append(_Counting(counter, name, bound))
        return out

    def _recount(
        self, depth: int, counts: list[_Counting], variables: list[str], node: Node
    ) -> None:
        """Gives variables the values of their plain counters."""
        writer = self.writer
        for each in counts:
            number = writer.constant(each.counter.dtype.numpy.type)
            writer.line(depth, f"{variables[each.counter.place]} = {number}({each.name})", node)


def _written_last(body: Program) -> dict[int, int]:
    """Results of a loop's body that may take the place of their variable at once.

    Nothing needs the variable any more when they are computed.

    Returns:
        Register -> which variable it becomes.
    """
    last = {r: at for at, ins in enumerate(body.code) for r in ins.dead}
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
