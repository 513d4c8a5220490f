"""Values of a loop's body that a derived loop computes again instead of reading them from lists.

Of a loop that asks for it, only the variables are kept, one state an iteration, and what cannot be
computed twice: outputs of stateful nodes, so that a random mask is the same in both directions. The
nodes in between are copied into the derived body.

Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost" (2016).
"""

from __future__ import annotations

from collections.abc import Callable

from graphvm_runtime.ir.bodies import body_keys
from graphvm_runtime.ir.derivatives.levels import BodyEditor, CapturePath
from graphvm_runtime.ir.derivatives.saved import SAVED
from graphvm_runtime.ir.graph import Endpoint, Node


class Recomputing:
    """What is to be computed again, and the doing of it.

    Args:
        kept: brings a value to the end of a way through a list.
        carried: brings a value to the end of a way.
        given: brings a value from around a region into one of its bodies.
    """

    def __init__(
        self,
        kept: Callable[[CapturePath, Endpoint], Endpoint],
        carried: Callable[[CapturePath, Endpoint], Endpoint],
        given: Callable[[BodyEditor, BodyEditor, Endpoint], Endpoint],
    ) -> None:
        self._kept = kept
        self._carried = carried
        self._given = given
        self._asked: list[tuple[CapturePath, Endpoint, Endpoint]] = []
        self._stands: dict[tuple[BodyEditor, BodyEditor, Endpoint], Endpoint] = {}

    def ask(self, way: CapturePath, value: Endpoint) -> Endpoint:
        """Notes that a value is needed; what stands for it until `copy_all`."""
        reader = way.readers[-1]
        key = (way.sources[-1], reader, value)
        if key not in self._stands:
            stand = reader.placeholder(way.sources[-1].type_of(value))
            self._stands[key] = stand
            self._asked.append((way, value, stand))
        return self._stands[key]

    def copy_all(self) -> None:
        """Copies what is needed, from the inside out.

        A copy must show all outputs that its node will have, and those come from further in.
        """
        while self._asked:
            deepest = max(way.sources[-1].depth for way, _, _ in self._asked)
            now = [w for w in self._asked if w[0].sources[-1].depth == deepest]
            self._asked = [w for w in self._asked if w[0].sources[-1].depth < deepest]
            copies: dict[tuple[BodyEditor, BodyEditor], _Copies] = {}
            for way, value, stand in now:
                source, reader = way.sources[-1], way.readers[-1]
                made = copies.setdefault((source, reader), _Copies(self, way))
                reader.replaced[stand] = made.of(value)
                reader.live.discard(stand.node)

    def brought(self, way: CapturePath, value: Endpoint) -> Endpoint:
        """Brings over what is not computed again: a variable of the loop, or a kept output."""
        source, reader = way.sources[-1], way.readers[-1]
        place = source.param_index.get(value.node)
        if place is not None and source.results[place] == source.params[place]:
            # the loop leaves it as it is: it is what it was before
            loop = way.sources[-2].nodes[way.steps[-1][0]]
            outside = way.sources[-2].resolved(loop.inputs[place])
            return self._given(way.readers[-2], reader, self._carried(way.outer(), outside))
        return self._kept(way, value)


class _Copies:
    """Nodes of one body, copied into another."""

    def __init__(self, work: Recomputing, way: CapturePath) -> None:
        self._work = work
        self._way = way
        self._source = way.sources[-1]
        self._reader = way.readers[-1]
        self._copied: dict[str, str] = {}
        self._brought: dict[Endpoint, Endpoint] = {}

    def of(self, value: Endpoint) -> Endpoint:
        """The value, computed again."""
        pending = [value]
        while pending:
            end = self._source.resolved(pending[-1])
            node = self._source.nodes[end.node]
            if end in self._brought or node.name in self._copied:
                pending.pop()
            elif node.name not in self._source.live:
                # a variable of an inner loop that nobody reads: what it starts with has gone
                self._brought[end] = self._reader.placeholder(self._source.type_of(end))
                pending.pop()
            elif not _is_repeatable(node):
                self._brought[end] = self._work.brought(self._way, end)
                pending.pop()
            else:
                ends = map(self._source.resolved, node.inputs)
                below = [e for e in ends if not self._is_there(e)]
                if below:
                    pending += below
                else:
                    self._copy(node)
                    pending.pop()
        return self._now(value)

    def _is_there(self, end: Endpoint) -> bool:
        return end in self._brought or end.node in self._copied

    def _now(self, end: Endpoint) -> Endpoint:
        end = self._source.resolved(end)
        found = self._brought.get(end)
        return Endpoint(self._copied[end.node], end.index) if found is None else found

    def _copy(self, node: Node) -> None:
        name = self._reader.copied(
            node.changed(inputs=[self._now(e) for e in node.inputs], after=())
        )
        self._copied[node.name] = name
        for key in body_keys(node):
            body = self._source.bodies.get((node.name, key))
            if body is not None:
                self._reader.bodies[name, key] = body


def _is_repeatable(node: Node) -> bool:
    return not (node.op.is_stateful or node.op.name in ("_Arg", SAVED))
