"""Graph to Program: registers and instructions, each function once."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np

from graphvm_runtime.compiler.alias_analysis import BORROWED, Ownership, is_worth_keeping
from graphvm_runtime.compiler.buffer_assignment import planned
from graphvm_runtime.compiler.order import run_order, strands
from graphvm_runtime.compiler.program import (
    Call,
    If,
    Instruction,
    Invoke,
    Program,
    Subprogram,
    While,
    subprograms,
    touched,
)  # fmt: skip
from graphvm_runtime.dtypes import bool_
from graphvm_runtime.errors import GraphError, GraphvmError
from graphvm_runtime.ir.bodies import body_keys, body_ref, postorder
from graphvm_runtime.ir.graph import Endpoint, Function, Node, source_text
from graphvm_runtime.kernels.registry import Kernel, made
from graphvm_runtime.ops.functional import CASES
from graphvm_runtime.shapes import TensorType, is_known


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
        self._loops: dict[str, Subprogram] = {}  # bodies that own some of their variables

    def function(self, name: str) -> Subprogram:
        """The program of a library function. Raises GraphError when there is no such function."""
        found = self._made.get(name)
        if found is None:
            if name not in self._library:
                raise GraphError(f"the library has no function {name!r}")
            order = postorder([name], self._needed)
            self._made.update((each, Subprogram(each)) for each in order)
            for each in order:
                self._made[each].program = self._of_function(each, frozenset())
            found = self._made[name]
        return found

    def body(self, name: str) -> Subprogram:
        """The program of a loop's body, which owns the variables that it always makes afresh.

        Raises:
            GraphError: there is no such function.
        """
        plain = self.function(name)
        found = self._loops.get(name)
        if found is None and plain.program is not None:
            self._loops[name] = plain  # for a body that contains itself
            found = self._loops[name] = self._with_variables(plain, plain.program)
        return found or plain

    def _with_variables(self, plain: Subprogram, program: Program) -> Subprogram:
        """The body with as many variables its own as are nobody else's after each iteration."""
        if not self.plans or program.blocking:
            return plain
        types = program.types
        owned = {
            i for i, (p, r) in enumerate(zip(program.params, program.results, strict=True))
            if p != r and types[p] == types[r] and is_worth_keeping(types[p])
        }  # fmt: skip
        while owned:
            program = self._of_function(plain.name, owned)
            if program.owned == owned:
                found = Subprogram(plain.name)
                found.program = program
                return found
            owned = set(program.owned)
        return plain

    def called(self, name: str) -> Callable[..., Any]:
        """What a kernel calls that takes a function."""
        assert self._runs is not None
        return self._runs(self.function(name))

    def _needed(self, name: str) -> list[str]:
        """Functions that it needs and that are not made yet."""
        nodes = self._library[name].body.nodes
        found = (body_ref(node, key).name for node in nodes for key in body_keys(node))
        return [f for f in found if f not in self._made and f in self._library]

    def program(
        self,
        name: str,
        nodes: Sequence[Node],
        params: Sequence[Endpoint],
        results: Sequence[Endpoint],
    ) -> Program:
        """The program of a graph: it runs exactly these nodes, in this order.

        Args:
            name: what errors and texts call it.
            nodes: topological; nodes whose outputs are all parameters are not run.
            params: endpoints whose values are fed.
            results: endpoints whose values are wanted.
        """
        return _Assembly(self, name, fed=True).build(nodes, params, results, frozenset())

    def _of_function(self, name: str, owned: Set[int]) -> Program:
        """The program of a function, which owns some of its parameters."""
        function = self._library[name]
        if owned:
            name += " owning " + ", ".join(map(str, sorted(owned)))
        assembly = _Assembly(self, name, fed=False)
        return assembly.build(function.body.nodes, function.params, function.results, owned)


class _Assembly:
    def __init__(self, assembler: Assembler, name: str, fed: bool) -> None:
        self.assembler = assembler
        self.name = name
        self.register: dict[str, list[int]] = {}  # of the outputs of each node
        self.memory = Ownership(fed)
        self.certain: set[int] = set()  # registers whose values have their static shape
        self.constants: list[tuple[int, Any]] = []
        self.code: list[Instruction] = []

    def outputs(self, node: Node, roots: frozenset[int] | None = None) -> tuple[int, ...]:
        """New registers for the outputs of a node."""
        if len(node.outputs) == 1:
            registers = [self.memory.new(node.outputs[0], roots)]
        else:
            registers = [self.memory.new(t, roots) for t in node.outputs]
        self.register[node.name] = registers
        return tuple(registers)

    def build(
        self,
        nodes: Sequence[Node],
        params: Sequence[Endpoint],
        results: Sequence[Endpoint],
        owned: Set[int],
    ) -> Program:
        memory = self.memory
        by_name = {n.name: n for n in nodes}
        param_registers = []
        given: dict[str, dict[int, int]] = {}
        for i, end in enumerate(params):
            node = by_name.get(end.node)
            type_ = node.outputs[end.index] if node else TensorType(bool_, None)
            register = memory.parameter(i, type_, i in owned)
            if memory.fed:
                self.certain.add(register)
            param_registers.append(register)
            given.setdefault(end.node, {})[end.index] = register
        for node in run_order(nodes):
            fed = given.get(node.name)
            if fed is not None and len(fed) == len(node.outputs):
                self.register[node.name] = [fed[i] for i in range(len(fed))]
                continue
            try:
                self.add(node)
            except GraphvmError as error:
                raise error.located(node.signature(), source_text(node.source)) from None
        result_registers = [self.register[e.node][e.index] for e in results]
        blocking = any(self.blocks(i) for i in self.code)
        done = memory.finished(
            self.code, param_registers, result_registers, not blocking, self.assembler.plans
        )
        code, buffers = done.code, tuple[TensorType, ...]()
        if not blocking and self.assembler.plans:
            code, buffers = planned(code, memory.types, memory.roots, done.leaving, done.uses)
            code = [self._checked(ins) for ins in code]
        return Program(
            name=self.name,
            code=tuple(code),
            registers=len(memory.roots),
            params=tuple(param_registers),
            constants=tuple(self.constants),
            results=tuple(result_registers),
            result_copies=done.result_copies,
            result_roots=done.result_roots,
            strands=strands(code, self.blocks) if blocking else (),
            needs_step=any(_needs_step(i) for i in code),
            blocking=blocking,
            buffers=buffers,
            types=memory.types,
            owned=done.owned,
        )

    def _checked(self, ins: Instruction) -> Instruction:
        """The instruction with what must hold for it to write into memory that is there."""
        if not isinstance(ins, Call) or (ins.into < 0 and ins.buffer < 0):
            return ins
        types = self.memory.types
        shapes = {r: types[r].shape for r in touched(ins) if r not in self.certain}
        checks = tuple((r, s) for r, s in shapes.items() if s and is_known(s))
        return replace(ins, checks=checks)  # type: ignore[arg-type]

    def add(self, node: Node) -> None:
        inputs = tuple([self.register[e.node][e.index] for e in node.inputs])
        special = _SPECIAL.get(node.op.name)
        if node.op.forwards:
            # its outputs are the registers of its inputs, of which it may know more
            self.register[node.name] = list(inputs)
            for register, type_ in zip(inputs, node.outputs, strict=False):
                if is_known(type_.shape) and type_ != self.memory.types[register]:
                    self.memory.types[register] = type_
                    self.certain.discard(register)
        elif special is None:
            self.add_call(node, inputs)
        else:
            special(self, node, inputs)

    def add_call(self, node: Node, inputs: tuple[int, ...]) -> None:
        """Adds a node that a kernel computes."""
        kernel = made(node).bound(node, self.assembler.called)
        if kernel.expression in _OPERATORS and _is_native_scalar(node.outputs[0]):
            kernel = _OPERATORS[kernel.expression]
        roots: frozenset[int] | None = None
        if kernel.borrowed or kernel.aliases:
            shared = [inputs[i] for i in kernel.aliases if i < len(inputs)]
            roots = frozenset((BORROWED,)) if kernel.borrowed else frozenset()
            roots = roots.union(*(self.memory.roots[r] for r in shared))
        outputs = self.outputs(node, roots)
        if kernel.out:
            self.memory.writable.update(outputs)
        self.code.append(Call(node, kernel, inputs, outputs))

    def add_constant(self, node: Node, inputs: tuple[int, ...]) -> None:
        """Loads a constant before the first instruction."""
        value = made(node).call()
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype != object:
            value = value[()]
        (register,) = self.outputs(node, frozenset((BORROWED,)))
        self.constants.append((register, value))
        self.certain.add(register)

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
        counts, type_ = node.op.name in CASES, self.memory.types[inputs[0]]
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
            self.memory.new(type_, self._translated(r, inputs))
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
        body = self.assembler.body(node.attrs["body"].name)
        owned = frozenset[int]() if body.program is None else body.program.owned
        summary = self._summaries(body)
        outputs = []
        for i, type_ in enumerate(node.outputs):
            if i in owned:
                outputs.append(self.memory.whole(type_))
                continue
            # a variable holds its first value, or what the body gives, which may be another's
            seen: set[int] = {i}
            stack, roots = [i], frozenset[int]()
            while stack:
                at = stack.pop()
                roots |= self.memory.roots[inputs[at]]
                for root in (BORROWED,) if summary is None else summary[at]:
                    if root == BORROWED:
                        roots |= {BORROWED}
                    elif -2 - root not in seen:
                        seen.add(-2 - root)
                        stack.append(-2 - root)
            fresh = summary is not None and not summary[i]
            outputs.append(self.memory.new(type_, roots, fresh))
        self.register[node.name] = outputs
        pred = None
        if cond.program is not None:
            pred = cond.program.types[cond.program.results[0]]
        scalar = pred is not None and _is_bool_scalar(pred)
        self.code.append(While(node, cond, body, inputs, tuple(outputs), scalar, owned))

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
            out |= {BORROWED} if root == BORROWED else self.memory.roots[inputs[-2 - root]]
        return out


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


# Of two NumPy scalars, Python's operator is ten times as fast as the ufunc.
_BY_EXPRESSION: dict[str, Callable[..., Any]] = {
    "{0} + {1}": operator.add, "{0} - {1}": operator.sub, "{0} * {1}": operator.mul,
    "-{0}": operator.neg,
}  # fmt: skip
_OPERATORS = {text: Kernel(call, expression=text) for text, call in _BY_EXPRESSION.items()}


def _is_native_scalar(type_: TensorType) -> bool:
    return type_.shape == () and type_.dtype.numpy.kind in "fiu"


def _is_bool_scalar(type_: TensorType) -> bool:
    return type_.dtype is bool_ and type_.shape == ()


def _needs_step(ins: Instruction) -> bool:
    if isinstance(ins, Call):
        return ins.kernel.step
    if isinstance(ins, While):
        return True
    return any(s.program is None or s.program.needs_step for s in subprograms(ins))
