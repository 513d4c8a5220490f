"""Last uses: up to which instruction a program needs a register, and memory that registers share.

The one analysis of it: the memory planner asks it and writes what it found into instructions, as
`dead`; buffer assignment asks it again; what comes later reads `dead`.
"""

from __future__ import annotations

from collections.abc import Sequence

from graphvm_runtime.compiler.program import Instruction, touched


class LastUses:
    """The last position at which each register, and the memory behind each root, is used.

    Results are used past the end of the code.

    Args:
        code: instructions in the order in which they run.
        results: registers that leave the program.
        roots: for each register, the roots of the memory that it may share.
    """

    def __init__(
        self,
        code: Sequence[Instruction],
        results: Sequence[int],
        roots: Sequence[frozenset[int]],
    ) -> None:
        self._roots = roots
        self._of_register: dict[int, int] = {}
        self._of_root: dict[int, int] = {}
        self.add(code)
        for r in results:
            self._use(r, len(code))

    def add(self, code: Sequence[Instruction]) -> None:
        """Counts what the code uses as well, since it may write over more than it did before."""
        for at, ins in enumerate(code):
            for r in touched(ins):
                self._use(r, at)

    def _use(self, register: int, at: int) -> None:
        if self._of_register.get(register, -1) < at:
            self._of_register[register] = at
            for root in self._roots[register]:
                if self._of_root.get(root, -1) < at:
                    self._of_root[root] = at

    def of_register(self, register: int) -> int:
        """Position of the register's last use; -1 where there is none."""
        return self._of_register.get(register, -1)

    def of_memory(self, register: int) -> int:
        """Position of the last use of any register that may share the register's memory."""
        return max((self._of_root.get(root, -1) for root in self._roots[register]), default=-1)
