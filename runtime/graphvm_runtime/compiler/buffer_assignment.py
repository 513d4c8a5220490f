"""Buffer assignment: which outputs are written into buffers that a program keeps.

A fresh large array costs a page fault for every 4 KiB of it, often more than the arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from graphvm_runtime.compiler.last_use import LastUses
from graphvm_runtime.compiler.program import Call, Instruction
from graphvm_runtime.shapes import TensorType, bytes_of

SMALLEST = 1 << 15  # bytes; below this a fresh array is as fast


def planned(
    code: Sequence[Instruction],
    types: Mapping[int, TensorType],
    roots: Sequence[frozenset[int]],
    leaving: set[int],
    uses: LastUses,
) -> tuple[list[Instruction], tuple[TensorType, ...]]:
    """The code with buffers assigned, and the types of the buffers.

    Args:
        code: instructions in the order in which they run.
        types: of the registers.
        roots: for each register the registers whose memory it may share.
        leaving: roots that leave the program, as results or kept by a kernel.
        uses: last uses in the code.
    """
    # what is overwritten in place lives on as another register
    after = {i.into: i.outputs[0] for i in code if isinstance(i, Call) and i.into >= 0}
    buffers: list[TensorType] = []
    free: dict[TensorType, list[int]] = {}
    ending: dict[int, list[int]] = {}
    out: list[Instruction] = []
    for at, ins in enumerate(code):
        if isinstance(ins, Call) and ins.kernel.out and ins.into < 0 and len(ins.outputs) == 1:
            register = ins.outputs[0]
            lives = [register]
            while lives[-1] in after:
                lives.append(after[lives[-1]])
            own = all(roots[r] == {r} and r not in leaving for r in lives)
            if own and _pays(ins, types[register], uses.of_memory(register) <= at):
                type_ = types[register]
                slots = free.setdefault(type_, [])
                if slots:
                    slot = slots.pop()
                else:
                    slot = len(buffers)
                    buffers.append(type_)
                end = max(at, *map(uses.of_memory, lives))
                ending.setdefault(end, []).append(slot)
                ins = replace(ins, buffer=slot)
        out.append(ins)
        for slot in ending.pop(at, ()):
            free.setdefault(buffers[slot], []).append(slot)
    return out, tuple(buffers)


def _pays(ins: Call, type_: TensorType, unused: bool) -> bool:
    size = bytes_of(type_) or 0
    # what is computed for nothing needs no memory of its own at any size
    return size >= SMALLEST or (
        unused and size > 0 and bool(type_.shape) and isinstance(ins.kernel.call, np.ufunc)
    )
