"""Observable side effects of nodes and functions."""

from __future__ import annotations

from collections.abc import Mapping

from graphvm_runtime.ir.graph import Function, Node
from graphvm_runtime.ops.functional import REGIONS
from graphvm_runtime.ops.registry import Effects


class SideEffects:
    """Tells whether running a node leaves a trace, through the functions that it runs.

    Reading a variable, drawing random numbers and making a handle leave none.
    """

    def __init__(self, library: Mapping[str, Function]) -> None:
        self._library = library
        self._of_functions: dict[str, bool] = {}

    def left_by(self, node: Node) -> bool:
        """Whether the node leaves a trace."""
        op = node.op
        if not op.is_stateful or op.internal:
            return False
        if op.name in REGIONS:
            return any(self._left_in(ref.name) for ref in node.functions())
        effects = node.effects
        if effects & (Effects.READS | Effects.RANDOM | Effects.QUIET):
            return False
        if not node.outputs or effects & (Effects.BLOCKING | Effects.TRACE | Effects.HOST):
            return True
        # an assignment to a reference; asking whether one is set takes nothing else
        return bool(op.inputs) and op.inputs[0].is_ref and len(op.inputs) > 1

    def _left_in(self, name: str) -> bool:
        if name not in self._of_functions:
            self._of_functions[name] = False  # so that a function that calls itself ends
            function = self._library.get(name)
            if function is not None:
                self._of_functions[name] = any(map(self.left_by, function.body.nodes))
        return self._of_functions[name]
