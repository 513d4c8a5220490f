"""Whether two graphs are the same up to generated names: each tensor as a number.

Equal structure gets equal numbers. A function's parameters are what the node that uses it gives
them, so their order and names do not matter; a loop's variables are known by their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from graphvm_runtime.dtypes import DType
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node
from graphvm_runtime.ops.functional import BRANCHES, CALLS, LOOPS
from graphvm_runtime.ops.signature import FuncRef

_LEFT_OUT = {"output_shapes", "_class", "_output_shapes"}


class Numbers:
    """Numbers of structures, shared by the graphs that are compared."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def of(self, *parts: Any) -> int:
        return self._known.setdefault(parts, len(self._known))


def alike(a: Graph, b: Graph, ends: Iterable[Endpoint], effects: Iterable[str] = ()) -> bool:
    """Whether the endpoints and the nodes named give and do the same in both graphs."""
    numbers = Numbers()
    first, second = (_Reading(numbers, g, g.library, {}) for g in (a, b))
    ends, effects = list(ends), list(effects)
    return [first.end(e) for e in ends] == [second.end(e) for e in ends] and [
        first.node(n) for n in effects
    ] == [second.node(n) for n in effects]


class _Reading:
    def __init__(
        self,
        numbers: Numbers,
        graph: Graph,
        library: Mapping[str, Function],
        given: Mapping[Endpoint, int],
        inside: bool = False,
    ) -> None:
        self.inside = inside
        self.numbers = numbers
        self.graph = graph
        self.library = library
        self.given = given
        self.memo: dict[str, tuple[Any, ...]] = {}

    def end(self, end: Endpoint) -> int:
        found = self.given.get(end)
        if found is not None:
            return found
        node = self.graph.by_name[end.node]
        if node.op.name in ("Identity", "IdentityN") and not self._after(node):
            return self.end(node.inputs[end.index])
        kind, *rest = self.parts(node)
        if kind == "region":  # what one output is, and what runs with it
            outputs, all_of_it = rest
            return self.numbers.of("output", outputs[end.index], all_of_it)
        return self.numbers.of("end", end.index, *rest)

    def node(self, name: str) -> int:
        """A node as something to wait for."""
        node = self.graph.by_name[name]
        if node.op.name in ("Identity", "IdentityN") and not self._after(node):
            return self.numbers.of("done", tuple(self.end(e) for e in node.inputs))
        kind, *rest = self.parts(node)
        return self.numbers.of("done", rest[-1] if kind == "region" else tuple(rest))

    def parts(self, node: Node) -> tuple[Any, ...]:
        if node.name not in self.memo:
            self.memo[node.name] = self._parts(node)
        return self.memo[node.name]

    def _after(self, node: Node) -> tuple[int, ...]:
        return tuple(sorted({self.node(n) for n in node.after if not self._is_trivial(n)}))

    def _is_trivial(self, name: str) -> bool:
        """Whether waiting for a node of a body orders nothing: it has run once the body starts."""
        if Endpoint(name) in self.given:
            return True
        node = self.graph.by_name[name]
        return (
            self.inside
            and node.op.name in ("Identity", "NoOp", "Const")
            and all(self._is_trivial(e.node) for e in node.inputs)
            and all(map(self._is_trivial, node.after))
        )

    def _parts(self, node: Node) -> tuple[Any, ...]:
        inputs = [self.end(e) for e in node.inputs]
        after = self._after(node)
        if node.op.name in BRANCHES:
            sides = [
                self._body(node.attrs[a].name, inputs[1:]) for a in ("then_branch", "else_branch")
            ]
            outputs = [
                self.numbers.of("if", inputs[0], t, e)
                for t, e in zip(sides[0][0], sides[1][0], strict=True)
            ]
            effects = self.numbers.of("if", inputs[0], sides[0][1], sides[1][1], after)
            return "region", outputs, effects
        if node.op.name in LOOPS:
            return self._loop(node, inputs, after)
        if node.op.name in CALLS:
            outputs, effects = self._body(node.attrs["f"].name, inputs)
            return "region", outputs, self.numbers.of("call", effects, after)
        attrs = tuple(
            (k, _frozen(v)) for k, v in sorted(node.attrs.items())
            if k not in _LEFT_OUT and not isinstance(v, FuncRef)
        )  # fmt: skip
        return "node", node.op.name, attrs, tuple(inputs), after

    def _body(self, name: str, inputs: Iterable[int]) -> tuple[list[int], int]:
        """Numbers of the results, and of the effects with their order."""
        function = self.library[name]
        given = dict(zip(function.params, inputs, strict=True))
        inner = _Reading(self.numbers, function.body, self.library, given, inside=True)
        effects = sorted({inner.node(n.name) for n in function.body.nodes if n.is_stateful})
        results = [inner.end(_result(function, e)) for e in function.results]
        return results, self.numbers.of("effects", tuple(effects))

    def _loop(self, node: Node, inputs: list[int], after: tuple[int, ...]) -> tuple[Any, ...]:
        body = self.library[node.attrs["body"].name]
        fixed = [_source(body, r) == p for r, p in zip(body.results, body.params, strict=True)]
        given = [
            x if f else self.numbers.of("variable", sum(not g for g in fixed[:i]))
            for i, (x, f) in enumerate(zip(inputs, fixed, strict=True))
        ]
        start = tuple(x for x, f in zip(inputs, fixed, strict=True) if not f)
        cond = self._body(node.attrs["cond"].name, given)
        results, effects = self._body(node.attrs["body"].name, given)
        turn = tuple(r for r, f in zip(results, fixed, strict=True) if not f)
        whole = self.numbers.of("while", start, cond[0][0], cond[1], turn, effects, after)
        outputs = [
            x if f else self.numbers.of("turn", whole, sum(not g for g in fixed[:i]))
            for i, (x, f) in enumerate(zip(inputs, fixed, strict=True))
        ]
        return "region", outputs, whole


def _source(function: Function, end: Endpoint) -> Endpoint:
    node = function.body.by_name[end.node]
    while node.op.name == "Identity" and not node.after:
        end = node.inputs[0]
        node = function.body.by_name[end.node]
    return end


def _result(function: Function, end: Endpoint) -> Endpoint:
    """A result without Identity that only makes it wait for effects: all of a body runs anyway."""
    node = function.body.by_name[end.node]
    passed: set[str] = set()
    while node.op.name == "Identity" and not (
        node.after and set(function.body.users[node.name]) - passed
    ):
        passed.add(node.name)
        end = node.inputs[0]
        node = function.body.by_name[end.node]
    return end


def _frozen(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        content = value.tobytes() if value.dtype != object else str(value)
        return str(value.dtype), value.shape, content
    if isinstance(value, DType):
        return value.name
    return value if isinstance(value, (int, float, bytes, str, bool, type(None))) else str(value)
