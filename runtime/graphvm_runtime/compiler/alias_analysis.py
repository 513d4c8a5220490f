"""Memory planning: aliases, in-place reuse and what escapes a step.

A register's *roots* are the memory that it may share: registers that hold fresh memory, and
memory from outside of the program as negative numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from graphvm_runtime.compiler.last_use import LastUses
from graphvm_runtime.compiler.program import Call, Instruction, While, touched
from graphvm_runtime.shapes import TensorType, bytes_of

BORROWED = -1  # memory that outlives the step; -2-i is parameter i
IN_PLACE_BYTES = 2048  # below this a fresh array costs less than naming the old one


def is_worth_keeping(type_: TensorType) -> bool:
    """Whether writing over an array of this type is cheaper than a fresh one."""
    return (bytes_of(type_) or 0) >= IN_PLACE_BYTES


class Finished(NamedTuple):
    """Code with dead registers, copies and in-place outputs worked out.

    Attributes:
        leaving: roots that leave the program, as results or kept by a kernel.
        result_copies: for each result, whether it is copied for the caller.
        result_roots: for each result, its roots as the caller sees them.
        owned: positions of the variables that are the program's own in the next iteration too,
            and that it writes over or hands on to one another.
        uses: last uses in that code.
    """

    code: list[Instruction]
    leaving: set[int]
    result_copies: tuple[bool, ...]
    result_roots: tuple[frozenset[int], ...]
    owned: frozenset[int]
    uses: LastUses


class Ownership:
    """The registers of a program and the memory that they may share.

    Attributes:
        fed: parameters are feeds, which nobody writes to and which have their static shape. What a
            function is given, its caller may write over later.
        types: static type of each register.
        roots: for each register.
        writable: registers that hold a fresh array whole, no view of one.
        variables: registers of the parameters whose memory is the program's own.
    """

    def __init__(self, fed: bool) -> None:
        self.fed = fed
        self.types: dict[int, TensorType] = {}
        self.roots: list[frozenset[int]] = []
        self.writable: set[int] = set()
        self.variables: list[int] = []

    def new(
        self, type_: TensorType, roots: frozenset[int] | None = None, fresh: bool = False
    ) -> int:
        """A new register; it may have fresh memory as well as that of its roots."""
        number = len(self.roots)
        own = frozenset((number,))
        self.roots.append(own if roots is None else roots | own if fresh else roots)
        self.types[number] = type_
        return number

    def whole(self, type_: TensorType) -> int:
        """A new register with a fresh array that is no view."""
        register = self.new(type_)
        self.writable.add(register)
        return register

    def parameter(self, index: int, type_: TensorType, owned: bool) -> int:
        """The register of a parameter."""
        if not owned:
            return self.new(type_, frozenset((-2 - index,)))
        register = self.whole(type_)
        self.variables.append(register)
        return register

    def may_change(self, register: int) -> bool:
        """Whether somebody may write to the register's memory before the step ends."""
        roots = self.roots[register]
        return any(root >= 0 or (root != BORROWED and not self.fed) for root in roots)

    def is_whole(self, register: int) -> bool:
        """Whether the register is itself a fresh array, not a view of one."""
        return self.roots[register] == frozenset((register,)) and register in self.writable

    def finished(
        self,
        code: Sequence[Instruction],
        params: Sequence[int],
        results: Sequence[int],
        one_strand: bool,
        plans: bool,
    ) -> Finished:
        """The code with what the memory of its registers allows.

        Args:
            code: instructions in the order in which they run.
            params: registers of the parameters.
            results: registers that leave the program.
            one_strand: the instructions run in this order and no other.
            plans: whether outputs are written over what nobody reads any more.
        """
        finish = _MemoryPlanner(self, code, results, one_strand, plans)
        done = finish.run()
        copies, roots = self._of_results(results, finish.kept)
        over = {ins.into for ins in done if isinstance(ins, Call)}
        owned = frozenset(
            i for i, r in enumerate(params)
            if r in self.variables
            and not roots[i]
            and self.is_whole(results[i])
            and (r in over or r in results)
        )  # fmt: skip
        leaving = finish.kept.union(*(self.roots[r] for r in results))
        return Finished(done, leaving, copies, roots, owned, finish.uses)

    def _of_results(
        self, results: Sequence[int], kept: set[int]
    ) -> tuple[tuple[bool, ...], tuple[frozenset[int], ...]]:
        """See `Finished`; `kept` are roots that some instruction took away and keeps."""
        copies: list[bool] = []
        roots_out: list[frozenset[int]] = []
        given: set[int] = set(kept)
        for r in results:
            roots = self.roots[r]
            shared = any(root < 0 or root in given for root in roots)
            copies.append(shared)
            given |= {root for root in roots if root >= 0}
            outside = frozenset(root for root in roots if root < 0)
            if shared and not outside:
                outside = frozenset((BORROWED,))
            roots_out.append(outside)
        for i, r in enumerate(results):  # two results of one memory: neither is the caller's alone
            for j, q in enumerate(results):
                if i != j and any(root >= 0 for root in self.roots[r] & self.roots[q]):
                    roots_out[i] |= {BORROWED}
        return tuple(copies), tuple(roots_out)


class _MemoryPlanner:
    def __init__(
        self,
        memory: Ownership,
        code: Sequence[Instruction],
        results: Sequence[int],
        one_strand: bool,
        plans: bool,
    ) -> None:
        self.types, self.roots = memory.types, memory.roots
        self.memory = memory
        self.code = code
        self.results = set(results)
        self.one_strand = one_strand
        self.plans = one_strand and plans
        self.kept: set[int] = set()
        self.spare = list(memory.variables)  # those that nothing was written over yet
        self.descended = set(memory.variables)  # registers with the memory of a variable
        self.uses = LastUses(code, results, self.roots)

    def run(self) -> list[Instruction]:
        code = [self._with_memory(at, ins) for at, ins in enumerate(self.code)]
        self.uses.add(code)
        last = self.uses.of_register
        out = []
        for at, ins in enumerate(code):
            dead = [r for r in ins.outputs if last(r) < 0]
            dead += dict.fromkeys(r for r in touched(ins) if last(r) == at)
            out.append(replace(ins, dead=tuple(dead)))
        return out

    def _with_memory(self, at: int, ins: Instruction) -> Instruction:
        if isinstance(ins, While):
            return replace(ins, copies=self._taken(ins, at, list(ins.owned), whole=True))
        if not isinstance(ins, Call):
            return ins
        kernel = ins.kernel
        copies: tuple[int, ...] = ()
        if kernel.keeps or kernel.lends:
            given = [i for i in kernel.keeps if i < len(ins.inputs)]
            given += [i for i in kernel.lends if self.memory.may_change(ins.inputs[i])]
            copies = self._taken(ins, at, given)
        into = -1
        if self.plans and kernel.out and is_worth_keeping(self.types[ins.outputs[0]]):
            into = self._target(ins, at)
            if into in self.descended:
                self.descended.update(ins.outputs)
            if into in self.spare:
                self.spare.remove(into)
        return replace(ins, copies=copies, into=into)

    def _ends_at(self, register: int, at: int) -> bool:
        """Whether the register's memory is the program's own and nobody reads it after."""
        roots = self.roots[register]
        return (
            bool(roots) and all(root >= 0 for root in roots) and self.uses.of_memory(register) <= at
        )

    def _taken(
        self, ins: Instruction, at: int, given: Sequence[int], whole: bool = False
    ) -> tuple[int, ...]:
        """Which inputs, of those at `given` that an instruction takes away, are copied for it.

        One that takes arrays `whole` takes no views.
        """
        free = {
            i for i in given
            if self.one_strand
            and self._may_give(ins, i, at)
            and (not whole or self.memory.is_whole(ins.inputs[i]))
        }  # fmt: skip
        for i in free:
            self.kept |= self.roots[ins.inputs[i]]
        return tuple(i for i in given if i not in free)

    def _may_give(self, ins: Instruction, position: int, at: int) -> bool:
        """Whether an input's memory is the program's to give away, and used by nothing else."""
        register = ins.inputs[position]
        roots = self.roots[register]
        return (
            self._ends_at(register, at)
            and not roots & self.kept
            and ins.inputs.count(register) == 1
            and not any(self.roots[r] & roots for j, r in enumerate(ins.inputs) if j != position)
        )

    def _target(self, ins: Call, at: int) -> int:
        """The register whose array receives the output; -1 where none can."""
        want = self.types[ins.outputs[0]]
        inputs = [r for r in ins.inputs if ins.kernel.inplace and self._is_free(r, want, ins, at)]
        own = [r for r in inputs if r in self.descended]
        if not own and ins.outputs[0] in self.results:
            # what stays behind is written to planned buffers, what leaves takes a variable's place
            own = [
                r for r in self.spare
                if r not in ins.inputs and self._is_free(r, want, ins, at)
            ]  # fmt: skip
        return next(iter([*own, *inputs]), -1)

    def _is_free(self, register: int, want: TensorType, ins: Call, at: int) -> bool:
        """Whether a register holds an array of a type whole, and nothing reads it any more."""
        roots = self.roots[register]
        return (
            self.types[register] == want
            and self.memory.is_whole(register)
            and self._ends_at(register, at)
            and not roots & self.kept
            and all(r == register or not self.roots[r] & roots for r in ins.inputs)
        )
