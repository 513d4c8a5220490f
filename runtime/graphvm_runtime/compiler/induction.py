"""Induction variables: loop variables that count up to a bound.

`induction` finds them, in graphs as in programs; `counters` those of a program's loop that may be
kept as Python integers.

NumPy's scalars are slow to add and to compare. A variable that a constant is added to once an
iteration, and that the condition keeps below a bound, cannot overflow, so a plain `int` says the
same in a third of the time.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from graphvm_runtime.compiler.program import Call, Program, While
from graphvm_runtime.dtypes import DType, int32, int64

# op -> the sign, and whether the bound comes first
_UPWARD = {
    "Less": ("<", False), "LessEqual": ("<=", False),
    "Greater": ("<", True), "GreaterEqual": ("<=", True),
}  # fmt: skip


V = TypeVar("V")


class Region(Protocol[V]):
    """A loop's condition or body, by whatever stands for its values there."""

    @property
    def params(self) -> Sequence[V]:
        """The variables as an iteration finds them."""

    @property
    def results(self) -> Sequence[V]:
        """What it gives."""

    def made_by(self, value: V) -> tuple[str, Sequence[V]] | None:
        """The op that makes a value, with its inputs; None for others and for what is no op."""

    def constant(self, value: V) -> int | None:
        """A whole number that is known; None for all else."""


@dataclass(frozen=True, slots=True)
class Induction(Generic[V]):
    """A variable that a constant is added to in each iteration, and that is held below a bound.

    Attributes:
        place: which variable it is.
        step: what is added, positive.
        next: the sum, in the body.
        test: the comparison, in the condition.
        sign: `<` or `<=`.
        bound: the number it is compared with, where that is a constant.
        bound_place: otherwise the variable, one that the loop leaves as it is, that holds it.
    """

    place: int
    step: int
    next: V
    test: V
    sign: str
    bound: int | None
    bound_place: int


def induction(cond: Region[V], body: Region[V], test: V) -> Induction[V] | None:
    """The variable that a comparison in a loop's condition holds below a bound, if it does."""
    made = cond.made_by(test)
    if made is None or made[0] not in _UPWARD:
        return None
    sign, swapped = _UPWARD[made[0]]
    variable, limit = reversed(made[1]) if swapped else made[1]
    if list(cond.params).count(variable) != 1:
        return None
    place = cond.params.index(variable)
    step = _step(body, place)
    if step is None:
        return None
    bound, bound_place = cond.constant(limit), -1
    if bound is None:
        if limit not in cond.params:
            return None
        bound_place = cond.params.index(limit)
        if body.results[bound_place] != body.params[bound_place]:
            return None
    return Induction(place, step, body.results[place], test, sign, bound, bound_place)


def _step(body: Region[V], place: int) -> int | None:
    """The positive constant that the body adds to a variable."""
    made = body.made_by(body.results[place])
    if made is None or made[0] not in ("Add", "AddV2"):
        return None
    variable, (x, y) = body.params[place], made[1]
    if variable not in (x, y):
        return None
    step = body.constant(y if x == variable else x)
    return step if step is not None and step > 0 else None


class _Code:
    """A program as a region of a loop; registers are its values."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.params, self.results = program.params, program.results
        self.made_at = {r: at for at, ins in enumerate(program.code) for r in ins.outputs}
        self.constants = dict(program.constants)
        self.uses = Tally(r for ins in program.code for r in ins.inputs)
        self.uses.update(program.results)

    def call(self, register: int) -> Call | None:
        """The kernel's call that makes a register."""
        at = self.made_at.get(register)
        ins = None if at is None else self.program.code[at]
        return ins if isinstance(ins, Call) else None

    def made_by(self, value: int) -> tuple[str, Sequence[int]] | None:
        """See `Region`."""
        call = self.call(value)
        return None if call is None else (call.node.op.name, call.inputs)

    def constant(self, value: int) -> int | None:
        """See `Region`."""
        found = np.asarray(self.constants.get(value))
        return int(found) if found.shape == () and found.dtype.kind in "iu" else None


@dataclass(frozen=True, slots=True)
class Counter:
    """A variable of a loop that counts.

    Attributes:
        place: which variable it is.
        dtype: its element type.
        step: what is added each time, positive.
        add: position of the addition in the body.
        test: position of the comparison in the condition.
        sign: `<` or `<=`.
        bound: the number it is compared with, where that is a constant.
        bound_place: otherwise the variable, one that the loop leaves as it is, that holds it.
        in_cond: whether the condition uses it besides.
        in_body: whether the body uses it besides.
        next_in_body: whether the body uses the sum besides.
    """

    place: int
    dtype: DType
    step: int
    add: int
    test: int
    sign: str
    bound: int | None
    bound_place: int
    in_cond: bool
    in_body: bool
    next_in_body: bool


def counters(ins: While) -> list[Counter]:
    """The counting variables of a loop, each once."""
    cond, body = ins.cond.ready, ins.body.ready
    if not ins.scalar or len(cond.strands) > 1 or len(body.strands) > 1:
        return []
    test, step = _Code(cond), _Code(body)
    found: dict[int, Counter] = {}
    pending = list(cond.results)
    while pending:
        register = pending.pop()
        made = test.made_by(register)
        # a value that something else takes too must be what the kernel gives
        if made is None or test.uses[register] != 1:
            continue
        if made[0] == "LogicalAnd":
            pending += made[1]
            continue
        counting = induction(test, step, register)
        counter = None if counting is None else _counter(test, step, counting)
        if counter is not None:
            found.setdefault(counter.place, counter)
    return list(found.values())


def _counter(cond: _Code, body: _Code, found: Induction[int]) -> Counter | None:
    """The variable as a Python integer, where it cannot overflow."""
    types, variable = cond.program.types, cond.params[found.place]
    type_ = types[variable]
    add = body.call(found.next)
    if type_.dtype not in (int32, int64) or type_.shape != ():
        return None
    if add is None or add.into >= 0 or add.buffer >= 0:
        return None
    if found.bound is not None:
        most = found.bound - (found.sign == "<") + found.step
        if most > np.iinfo(type_.dtype.numpy).max:
            return None
    # of a bound that is not known only this is sure: what is below it can be followed
    elif types[cond.params[found.bound_place]].shape != () or found.step != 1 or found.sign != "<":
        return None
    return Counter(
        found.place, type_.dtype, found.step, body.made_at[found.next], cond.made_at[found.test],
        found.sign, found.bound, found.bound_place,
        in_cond=cond.uses[variable] > 1,
        in_body=body.uses[body.params[found.place]] > 1,
        next_in_body=body.uses[found.next] > 1,
    )  # fmt: skip
