"""Induction variables: loop variables that count up to a bound, kept as Python integers.

NumPy's scalars are slow to add and to compare. A variable that a constant is added to once an
iteration, and that the condition keeps below a bound, cannot overflow, so a plain `int` says the
same in a third of the time.
"""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import dataclass

import numpy as np

from graphvm_runtime.compiler.program import Call, Program, While
from graphvm_runtime.dtypes import DType, int32, int64

# op -> the sign, and whether the bound comes first
_UPWARD = {
    "Less": ("<", False), "LessEqual": ("<=", False),
    "Greater": ("<", True), "GreaterEqual": ("<=", True),
}  # fmt: skip


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
    made_by = {r: at for at, i in enumerate(cond.code) for r in i.outputs}
    found: dict[int, Counter] = {}
    cond_uses, body_uses = _uses(cond), _uses(body)
    pending = list(cond.results)
    while pending:
        register = pending.pop()
        at = made_by.get(register)
        test = None if at is None else cond.code[at]
        # a value that something else takes too must be what the kernel gives
        if at is None or not isinstance(test, Call) or cond_uses[register] != 1:
            continue
        if test.node.op.name == "LogicalAnd":
            pending += test.inputs
        elif test.node.op.name in _UPWARD:
            counter = _counter(cond, body, at, test, cond_uses, body_uses)
            if counter is not None:
                found.setdefault(counter.place, counter)
    return list(found.values())


def _uses(program: Program) -> Tally[int]:
    out = Tally(r for ins in program.code for r in ins.inputs)
    out.update(program.results)
    return out


def _counter(
    cond: Program, body: Program, at: int, test: Call, cond_uses: Tally[int], body_uses: Tally[int]
) -> Counter | None:
    sign, swapped = _UPWARD[test.node.op.name]
    variable, limit = reversed(test.inputs) if swapped else test.inputs
    if variable not in cond.params or cond.params.count(variable) != 1:
        return None
    place = cond.params.index(variable)
    type_ = cond.types[variable]
    if type_.dtype not in (int32, int64) or type_.shape != ():
        return None
    added = _added(body, place)
    if added is None:
        return None
    add, step = added
    constants = dict(cond.constants)
    bound, bound_place = None, -1
    if limit in constants:
        bound = int(constants[limit])
        most = bound - (sign == "<") + step
        if most > np.iinfo(type_.dtype.numpy).max:
            return None
    elif limit in cond.params and cond.types[limit].shape == ():
        bound_place = cond.params.index(limit)
        # of a bound that is not known only this is sure: what is below it can be followed
        if step != 1 or sign != "<" or body.results[bound_place] != body.params[bound_place]:
            return None
    else:
        return None
    return Counter(
        place, type_.dtype, step, add, at, sign, bound, bound_place,
        in_cond=cond_uses[variable] > 1,
        in_body=body_uses[body.params[place]] > 1,
        next_in_body=body_uses[body.results[place]] > 1,
    )  # fmt: skip


def _added(body: Program, place: int) -> tuple[int, int] | None:
    """Where the body adds a constant to a variable, and the constant."""
    variable, result = body.params[place], body.results[place]
    constants = dict(body.constants)
    for at, ins in enumerate(body.code):
        if result not in ins.outputs:
            continue
        if not isinstance(ins, Call) or ins.node.op.name not in ("Add", "AddV2"):
            return None
        if ins.into >= 0 or ins.buffer >= 0 or variable not in ins.inputs:
            return None
        other = ins.inputs[1] if ins.inputs[0] == variable else ins.inputs[0]
        if other not in constants or np.shape(constants[other]) != ():
            return None
        step = int(constants[other])
        return (at, step) if step > 0 else None
    return None
