"""Graph to Program: registers, order, who owns which array, what dies where."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from graphvm_runtime.compiler.buffers import planned
from graphvm_runtime.compiler.program import (
    Call,
    If,
    Instruction,
    Invoke,
    Program,
    Strand,
    Subprogram,
    While,
    subprograms,
)  # fmt: skip
from graphvm_runtime.dtypes import bool_
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.bodies import body_keys, body_ref
from graphvm_runtime.ir.graph import Endpoint, Function, Node
from graphvm_runtime.kernels.registry import made
from graphvm_runtime.ops.functional import CASES
from graphvm_runtime.shapes import TensorType, is_known, size_of

_EndsAt: TypeAlias = Callable[[int, int], bool]

BORROWED = -1  # memory that outlives the step; -2-i is parameter i
IN_PLACE_BYTES = 2048  # below this a fresh array costs less than naming the old one


class Assembler:
    """Makes programs of a graph and of the functions in its library, each function once.

    Args:
        library: the functions.
        plans: whether large outputs are planned into memory that is there already; that pays
            only for programs that run more than once or twice.
        runs: makes of a function's program what kernels that take functions call.
    """

    def __init__(
        self,
        library: Mapping[str, Function],
        plans: bool = True,
        runs: Callable[[Subprogram], Callable[..., Any]] | None = None,
    ) -> None:
        self.plans = plans
        self._runs = runs
        self._library = library
        self._made: dict[str, Subprogram] = {}

    def function(self, name: str) -> Subprogram:
        """The program of a library function. Raises GraphError when there is no such function."""
        found = self._made.get(name)
        if found is None:
            if name not in self._library:
                raise GraphError(f"the library has no function {name!r}")
            order = self._callees_first(name)
            self._made.update((each, Subprogram(each)) for each in order)
            for each in order:
                function = self._library[each]
                self._made[each].program = self.program(
                    each, function.body.nodes, function.params, function.results
                )
            found = self._made[name]
        return found

    def called(self, name: str) -> Callable[..., Any]:
        """What a kernel calls that takes a function."""
        assert self._runs is not None
        return self._runs(self.function(name))

    def _callees_first(self, name: str) -> list[str]:
        """The function and those that it needs and that are not made; calls may go deep."""
        out: dict[str, None] = {}
        seen: set[str] = set()
        pending = [(name, False)]
        while pending:
            name, done = pending.pop()
            if done:
                out[name] = None
            elif name not in seen and name not in self._made and name in self._library:
                seen.add(name)
                pending.append((name, True))
                pending.extend(
                    (body_ref(node, key).name, False)
                    for node in reversed(self._library[name].body.nodes)
                    for key in body_keys(node)
                )
        return list(out)

    def program(
        self,
        name: str,
        nodes: Sequence[Node],
        params: Sequence[Endpoint],
        results: Sequence[Endpoint],
    ) -> Program:
        """The program that runs exactly these nodes, in this order.

        Args:
            name: what errors and texts call it.
            nodes: topological; nodes whose outputs are all parameters are not run.
            params: endpoints whose values are given.
            results: endpoints whose values are wanted.
        """
        return _Assembly(self, name).build(nodes, params, results)


class _Assembly:
    def __init__(self, assembler: Assembler, name: str) -> None:
        self.assembler = assembler
        self.name = name
        self.register: dict[str, list[int]] = {}  # of the outputs of each node
        self.types: dict[int, TensorType] = {}
        self.roots: list[frozenset[int]] = []
        self.constants: list[tuple[int, Any]] = []
        self.code: list[Instruction] = []
        self.writable: set[int] = set()  # outputs of kernels that always give a fresh array

    def new(self, type_: TensorType, roots: frozenset[int] | None = None) -> int:
        number = len(self.roots)
        self.roots.append(frozenset((number,)) if roots is None else roots)
        self.types[number] = type_
        return number

    def outputs(self, node: Node, roots: frozenset[int] | None = None) -> tuple[int, ...]:
        """New registers for the outputs of a node."""
        if len(node.outputs) == 1:
            registers = [self.new(node.outputs[0], roots)]
        else:
            registers = [self.new(t, roots) for t in node.outputs]
        self.register[node.name] = registers
        return tuple(registers)

    def build(
        self, nodes: Sequence[Node], params: Sequence[Endpoint], results: Sequence[Endpoint]
    ) -> Program:
        by_name = {n.name: n for n in nodes}
        param_registers = []
        given: dict[str, dict[int, int]] = {}
        for i, end in enumerate(params):
            node = by_name.get(end.node)
            type_ = node.outputs[end.index] if node else TensorType(bool_, None)
            register = self.new(type_, frozenset((-2 - i,)))
            param_registers.append(register)
            given.setdefault(end.node, {})[end.index] = register
        for node in run_order(nodes):
            fed = given.get(node.name)
            if fed is not None and len(fed) == len(node.outputs):
                self.register[node.name] = [fed[i] for i in range(len(fed))]
                continue
            try:
                self.add(node)
            except GraphError as error:
                raise error.located(node.signature()) from None
        result_registers = [self.register[e.node][e.index] for e in results]
        blocking = any(self.blocks(i) for i in self.code)
        code, kept = self._finished(result_registers, not blocking)
        copies, roots = self._result_ownership(result_registers, kept)
        buffers: tuple[TensorType, ...] = ()
        if not blocking and self.assembler.plans:
            leaving = kept.union(*(self.roots[r] for r in result_registers))
            code, buffers = planned(code, self.types, self.roots, leaving)
        return Program(
            name=self.name,
            code=tuple(code),
            registers=len(self.roots),
            params=tuple(param_registers),
            constants=tuple(self.constants),
            results=tuple(result_registers),
            result_copies=copies,
            result_roots=roots,
            strands=_strands(code, self.blocks) if blocking else (),
            needs_step=any(_needs_step(i) for i in code),
            blocking=blocking,
            buffers=buffers,
            types=self.types,
        )

    def add(self, node: Node) -> None:
        inputs = tuple([self.register[e.node][e.index] for e in node.inputs])
        special = _SPECIAL.get(node.op.name)
        if node.op.forwards:
            # its outputs are the registers of its inputs
            self.register[node.name] = list(inputs)
        elif special is None:
            self.add_call(node, inputs)
        else:
            special(self, node, inputs)

    def add_call(self, node: Node, inputs: tuple[int, ...]) -> None:
        """Adds a node that a kernel computes."""
        kernel = made(node).bound(node, self.assembler.called)
        roots: frozenset[int] | None = None
        if kernel.borrowed or kernel.aliases:
            roots = frozenset((BORROWED,)) if kernel.borrowed else frozenset()
            roots = roots.union(*(self.roots[inputs[i]] for i in kernel.aliases if i < len(inputs)))
        outputs = self.outputs(node, roots)
        if kernel.out:
            self.writable.update(outputs)
        self.code.append(Call(node, kernel, inputs, outputs))

    def add_constant(self, node: Node, inputs: tuple[int, ...]) -> None:
        """Loads a constant before the first instruction."""
        value = made(node).call()
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object:
            value = value[()]
        (register,) = self.outputs(node, frozenset((BORROWED,)))
        self.constants.append((register, value))

    def skip(self, node: Node, inputs: tuple[int, ...]) -> None:
        """A node that only orders others."""

    def add_if(self, node: Node, inputs: tuple[int, ...]) -> None:
        """Adds a choice between functions."""
        branches = tuple(
            self.assembler.function(body_ref(node, key).name) for key in body_keys(node)
        )
        found = [s for b in branches if (s := self._summaries(b)) is not None]
        merged: list[frozenset[int] | None] = [None] * len(node.outputs)
        if len(found) == len(branches):
            merged = [frozenset().union(*each) for each in zip(*found, strict=True)]
        outputs = self._region_outputs(node, merged, inputs[1:])
        counts, type_ = node.op.name in CASES, self.types[inputs[0]]
        scalar = type_.shape == () if counts else _is_bool_scalar(type_)
        self.code.append(If(node, branches, inputs, outputs, scalar, counts))

    def add_invoke(self, node: Node, inputs: tuple[int, ...]) -> None:
        """Adds a call of a function."""
        target = self.assembler.function(node.attrs["f"].name)
        summary = self._summaries(target) or [None] * len(node.outputs)
        outputs = self._region_outputs(node, summary, inputs)
        self.code.append(Invoke(node, target, inputs, outputs))

    def _region_outputs(
        self, node: Node, roots: Sequence[frozenset[int] | None], inputs: Sequence[int]
    ) -> tuple[int, ...]:
        registers = [
            self.new(type_, self._translated(r, inputs))
            for type_, r in zip(node.outputs, roots, strict=True)
        ]
        self.register[node.name] = registers
        return tuple(registers)

    def blocks(self, ins: Instruction) -> bool:
        """Whether the instruction may wait for something that this step itself has to do.

        Receiving alone is not that: partitions keep one order on all devices, so it only ever
        waits for what another device does first. Where a queue or the like may wait too there is
        no such order, and partitions mark their receives.
        """
        if isinstance(ins, Call):
            node = ins.node
            return node.op.is_blocking and (
                node.op.name != "_Recv" or bool(node.attrs.get("_blocks"))
            )
        return any(s.program is not None and s.program.blocking for s in subprograms(ins))

    def add_while(self, node: Node, inputs: tuple[int, ...]) -> None:
        """Adds a loop."""
        cond = self.assembler.function(node.attrs["cond"].name)
        body = self.assembler.function(node.attrs["body"].name)
        summary = self._summaries(body)
        outputs = []
        for i, type_ in enumerate(node.outputs):
            # a variable holds its first value, or what the body gives, which may be another's
            seen: set[int] = {i}
            stack, roots = [i], frozenset[int]()
            while stack:
                at = stack.pop()
                roots |= self.roots[inputs[at]]
                for root in (BORROWED,) if summary is None else summary[at]:
                    if root == BORROWED:
                        roots |= {BORROWED}
                    elif -2 - root not in seen:
                        seen.add(-2 - root)
                        stack.append(-2 - root)
            fresh = summary is not None and not summary[i]
            number = self.new(type_, roots)
            if fresh:
                self.roots[number] = roots | {number}
            outputs.append(number)
        self.register[node.name] = outputs
        pred = None
        if cond.program is not None:
            pred = cond.program.types[cond.program.results[0]]
        scalar = pred is not None and _is_bool_scalar(pred)
        self.code.append(While(node, cond, body, inputs, tuple(outputs), scalar))

    def _summaries(self, sub: Subprogram) -> tuple[frozenset[int], ...] | None:
        return None if sub.program is None else sub.program.result_roots

    def _translated(
        self, roots: frozenset[int] | None, inputs: Sequence[int]
    ) -> frozenset[int] | None:
        """Roots of a function's result as roots of the caller's register."""
        if roots is None:
            return frozenset((BORROWED,))
        if not roots:
            return None
        out = frozenset[int]()
        for root in roots:
            out |= {BORROWED} if root == BORROWED else self.roots[inputs[-2 - root]]
        return out

    def _finished(
        self, results: Sequence[int], one_strand: bool
    ) -> tuple[list[Instruction], set[int]]:
        """The code with dead registers, copies and in-place outputs worked out.

        Also gives the roots that some instruction took away and keeps.
        """
        last: dict[int, int] = {}
        for at, ins in enumerate(self.code):
            for r in ins.inputs:
                last[r] = at
        forever = len(self.code)
        for r in results:
            last[r] = forever
        sharing: dict[int, list[int]] = {}
        for r, roots in enumerate(self.roots):
            for root in roots:
                sharing.setdefault(root, []).append(r)

        def ends_at(register: int, at: int) -> bool:
            """Whether the register's memory is the program's own and nobody reads it after."""
            roots = self.roots[register]
            return (
                bool(roots)
                and all(root >= 0 for root in roots)
                and all(last.get(r, -1) <= at for root in roots for r in sharing[root])
            )

        kept: set[int] = set()
        out: list[Instruction] = []
        for at, ins in enumerate(self.code):
            dead = [r for r in ins.outputs if r not in last]
            for r in ins.inputs:
                if last[r] == at and r not in dead:
                    dead.append(r)
            if not isinstance(ins, Call):
                out.append(replace(ins, dead=tuple(dead)))
                continue
            kernel, into = ins.kernel, -1
            copies: tuple[int, ...] = ()
            if kernel.keeps or kernel.lends:
                given = [i for i in kernel.keeps if i < len(ins.inputs)]
                given += [
                    i for i in kernel.lends
                    if any(root >= 0 for root in self.roots[ins.inputs[i]])
                ]  # fmt: skip
                free = {i for i in given if one_strand and self._may_give(ins, i, at, ends_at)}
                copies = tuple(i for i in given if i not in free)
                for i in free:
                    kept |= self.roots[ins.inputs[i]]
            if one_strand and self.assembler.plans and kernel.inplace:
                into = self._in_place(ins, at, ends_at)
            out.append(
                Call(ins.node, kernel, ins.inputs, ins.outputs, copies, into, -1, tuple(dead))
            )
        return out, kept

    def _may_give(self, ins: Call, position: int, at: int, ends_at: _EndsAt) -> bool:
        """Whether an input's memory is the program's to give away, and used by nothing else."""
        register = ins.inputs[position]
        roots = self.roots[register]
        return (
            ends_at(register, at)
            and ins.inputs.count(register) == 1
            and not any(self.roots[r] & roots for j, r in enumerate(ins.inputs) if j != position)
        )

    def _in_place(self, ins: Call, at: int, ends_at: _EndsAt) -> int:
        want = self.types[ins.outputs[0]]
        size = size_of(want.shape)
        if size is None or size * want.dtype.numpy.itemsize < IN_PLACE_BYTES:
            return -1
        if want.dtype.numpy.kind == "O":
            return -1
        for r in ins.inputs:
            if (
                self.types[r] == want
                and is_known(want.shape)
                and len(self.roots[r]) == 1
                and self._made_whole(r)
                and ends_at(r, at)
                and all(o == r or not (self.roots[o] & self.roots[r]) for o in ins.inputs)
            ):
                return r
        return -1

    def _made_whole(self, register: int) -> bool:
        """Whether the register is itself the fresh output of a kernel, not a view of one."""
        return self.roots[register] == frozenset((register,)) and register in self.writable

    def _result_ownership(
        self, results: Sequence[int], kept: set[int]
    ) -> tuple[tuple[bool, ...], tuple[frozenset[int], ...]]:
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


# what is no kernel call, besides ops that hand their inputs on
_SPECIAL: Mapping[str, Callable[[_Assembly, Node, tuple[int, ...]], None]] = {
    "Const": _Assembly.add_constant,
    "NoOp": _Assembly.skip,
    "If": _Assembly.add_if,
    "StatelessIf": _Assembly.add_if,
    "Case": _Assembly.add_if,
    "StatelessCase": _Assembly.add_if,
    "While": _Assembly.add_while,
    "StatelessWhile": _Assembly.add_while,
    "PartitionedCall": _Assembly.add_invoke,
    "StatefulPartitionedCall": _Assembly.add_invoke,
}


def _is_bool_scalar(type_: TensorType) -> bool:
    return type_.dtype is bool_ and type_.shape == ()


def _needs_step(ins: Instruction) -> bool:
    if isinstance(ins, Call):
        return ins.kernel.step
    if isinstance(ins, While):
        return True
    return any(s.program is None or s.program.needs_step for s in subprograms(ins))


def _strands(
    code: Sequence[Instruction], blocks: Callable[[Instruction], bool]
) -> tuple[Strand, ...]:
    """Strands by what each instruction has to wait for.

    Instructions below the same set of blocking ones go together: none of them can start before
    all of that set has ended, and then all can run.
    """
    producer: dict[int, int] = {}
    position = {ins.node.name: at for at, ins in enumerate(code)}
    waits: list[frozenset[int]] = []  # blocking instructions above each
    above: list[set[int]] = []
    for at, ins in enumerate(code):
        befores = {producer[r] for r in ins.inputs if r in producer}
        befores |= _control(ins.node, position, code)
        waiting = frozenset().union(
            *(waits[b] | ({b} if blocks(code[b]) else set()) for b in befores)
        )
        waits.append(waiting)
        above.append(befores)
        for r in ins.outputs:
            producer[r] = at
    keys: dict[Any, int] = {}
    strand_of: list[int] = []
    members: list[list[int]] = []
    for at, ins in enumerate(code):
        key = ("blocking", at) if blocks(ins) else waits[at]
        number = keys.setdefault(key, len(members))
        if number == len(members):
            members.append([])
        members[number].append(at)
        strand_of.append(number)
    return tuple(
        Strand(
            tuple(code_),
            tuple(sorted({strand_of[b] for at in code_ for b in above[at]} - {number})),
            blocks(code[code_[0]]),
        )
        for number, code_ in enumerate(members)
    )


def _control(node: Node, position: Mapping[str, int], code: Sequence[Instruction]) -> set[int]:
    return {position[name] for name in node.after if name in position}


def run_order(nodes: Iterable[Node]) -> list[Node]:
    """Nodes with control edges of nodes that are no instruction led on to what stands above."""
    through: dict[str, tuple[str, ...]] = {}
    late: dict[str, list[str]] = {}  # what the users of a value that is no instruction come after
    out = []
    for node in nodes:
        after: list[str] = []
        for name in node.after:
            after.extend(through.get(name, (name,)))
        for end in node.inputs:
            after.extend(late.get(end.node, ()))
        if node.op.forwards or node.op.name in ("NoOp", "Const"):
            above = list(
                dict.fromkeys(
                    after + [n for e in node.inputs for n in through.get(e.node, (e.node,))]
                )
            )
            through[node.name] = tuple(above)
            if after:
                late[node.name] = after
        if tuple(after) != node.after:
            node = node.changed(after=after)
        out.append(node)
    return out
