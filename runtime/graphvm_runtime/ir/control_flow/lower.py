"""The functional form as TF1's dataflow primitives, with the names that TF1 gives them.

`raise_(lower(g))` equals `g`. Function calls are written inline, `Case` as choices of two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graphvm_runtime.dtypes import DType, bool_, int32, string
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.bodies import is_loop_invariant
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.control_flow.cases import without_cases
from graphvm_runtime.ir.control_flow.rewriting import colocated, identity, new_node
from graphvm_runtime.ir.control_flow.strictness import may_wait, waiting_functions
from graphvm_runtime.ir.graph import (
    Endpoint,
    Function,
    Graph,
    Node,
    functions_used,
    reachable,
    source_text,
    unused,
)
from graphvm_runtime.ops.functional import BRANCHES, LOOPS, REGIONS
from graphvm_runtime.ops.signature import AttrValue
from graphvm_runtime.shapes import TensorType

BOOL = TensorType(bool_, ())
INT = TensorType(int32, ())


def lower(
    graph: Graph,
    only: Collection[str] | None = None,
    keep: Collection[str] = (),
    gate: bool = True,
) -> Graph:
    """The graph with functional nodes written as primitives.

    Args:
        graph: without `_Saved` nodes.
        only: names of the nodes to write so, with all inside them; None: all. Calls of a function
            inside itself stay.
        keep: names of functional nodes whose outputs must stay reachable under the old name.
        gate: what a region gives waits for its effects, so that whoever takes it, in any runtime,
            gets the effects too; except for those that only an output asks for and that may wait.
            Without, effects are nodes that nothing waits for, and the whole graph must be run.

    Raises:
        GraphError: a predicate is no scalar, and its rank or type is not known.
    """
    graph = without_cases(graph, only)
    lowering = _Lowering(graph, only, keep, gate)
    lowering.emit(graph.nodes, _Scope("", {}, {}, (), frozenset()))
    out = graph.with_library({}).with_nodes(lowering.nodes)
    return replace(out, library=functions_used(out.nodes, graph.library))


def loose_ends(graph: Graph) -> frozenset[str]:
    """Names of functional nodes with an output that no node takes: whoever does knows its name.

    What a loop only passes through does not count.
    """
    taken = {e for n in graph.nodes for e in n.inputs}
    out = set()
    for node in graph.nodes:
        if node.op.name not in REGIONS:
            continue
        loose = [i for i in range(len(node.outputs)) if Endpoint(node.name, i) not in taken]
        if node.op.name in LOOPS:
            body = graph.function(node.attrs["body"])
            loose = [i for i in loose if not is_loop_invariant(body, i)]
        if loose:
            out.add(node.name)
    return frozenset(out)


@dataclass(slots=True)
class _Scope:
    """Where nodes of a graph or body go.

    Attributes:
        prefix: of their names; empty outside.
        ends: what endpoints of the body are called outside.
        after: what waiting for a node of the body means outside.
        pivot: nodes that run when the scope does; what has no inputs waits for them.
        functions: functions that are being written, so that none is written in itself.
        enter: gives a parameter of the body to the node that asks for it.
    """

    prefix: str
    ends: dict[Endpoint, Endpoint]
    after: dict[str, tuple[str, ...]]
    pivot: tuple[str, ...]
    functions: frozenset[str]
    enter: Callable[[Endpoint, str], Endpoint] | None = None
    params: frozenset[Endpoint] = frozenset()

    def end(self, end: Endpoint, user: str) -> Endpoint:
        """The endpoint outside, for a node of that name."""
        if end in self.params:
            assert self.enter is not None
            return self.enter(end, user)
        return self.ends.get(end, end)

    def waits(self, names: Iterable[str]) -> tuple[str, ...]:
        """Control inputs outside."""
        return tuple(dict.fromkeys(a for n in names for a in self.after.get(n, (n,))))


@dataclass(slots=True)
class _Loop:
    """Nodes of a loop that its body needs."""

    entered: dict[int, str] = field(default_factory=dict)


class _Lowering:
    def __init__(
        self, graph: Graph, only: Collection[str] | None, keep: Collection[str], gate: bool
    ) -> None:
        self.graph = graph
        self.only = only
        self.keep = keep
        self.gate = gate
        self.waiting = waiting_functions(graph.library)
        self.nodes: list[Node] = []
        self.taken = {n.name for n in graph.nodes}
        self.ungated: set[Endpoint] = set()  # alive in each iteration, the last one included
        self.pivot: tuple[str, ...] = ()
        self.source: Node | None = None
        self.bodies: list[Function] = []  # that are being written, the innermost last

    # ---- nodes

    def name(self, wanted: str) -> str:
        """A free name; it is taken now."""
        found = unused(wanted, self.taken)
        self.taken.add(found)
        return found

    def put(self, node: Node) -> None:
        """Adds a node; it waits for the pivot where nothing else would hold it back."""
        if self.pivot and not node.after and all(e in self.ungated for e in node.inputs):
            node = node.changed(after=self.pivot)
        self.nodes.append(node)

    def make(
        self,
        name: str,
        op: str,
        inputs: Iterable[Endpoint],
        outputs: Iterable[TensorType],
        attrs: Mapping[str, AttrValue],
        after: Iterable[str] = (),
    ) -> Endpoint:
        """Adds a new node called like `name`; its output 0."""
        found = self.name(name)
        source = self.source.source if self.source is not None else ""
        self.put(new_node(found, op, inputs, outputs, attrs, after, source))
        return Endpoint(found)

    def zero(self, name: str, dtype: DType, after: Iterable[str] = ()) -> Endpoint:
        """Adds a scalar constant called like `name`; its output."""
        found = self.name(name)
        source = self.source.source if self.source is not None else ""
        self.put(constant(found, 0, dtype, after, source=source))
        return Endpoint(found)

    def same(
        self, name: str, end: Endpoint, type_: TensorType, after: Iterable[str] = ()
    ) -> Endpoint:
        """Adds an Identity; its output."""
        found = self.name(name)
        self.put(identity(found, end, type_, after))
        return Endpoint(found)

    def emit(self, nodes: Sequence[Node], scope: _Scope) -> None:
        """Adds the nodes of a graph or a body."""
        outer = self.pivot
        mine: list[int] = []
        names: dict[str, str] = {}
        for node in nodes:
            self.pivot = scope.pivot
            name = node.name
            if scope.prefix:
                if node.op.name == "_Arg":
                    scope.after[name] = ()
                    continue
                name = self.name(f"{scope.prefix}/{name}")
            self.source = node
            inputs = [scope.end(e, node.name) for e in node.inputs]
            after = scope.waits(node.after)
            if self._is_lowered(node, scope):
                ends, done = self._expand(node, name, inputs, after, scope)
                for i, end in enumerate(ends):
                    scope.ends[Endpoint(node.name, i)] = end
                scope.after[node.name] = done
                continue
            mine.append(len(self.nodes))
            names[node.name] = name
            self.put(node.changed(name=name, inputs=inputs, after=after))
            for i in range(len(node.outputs)):
                scope.ends[Endpoint(node.name, i)] = Endpoint(name, i)
            scope.after[node.name] = (name,)
        for at in mine:
            self.nodes[at] = colocated([self.nodes[at]], names)[0]
        self.pivot = outer

    def _is_lowered(self, node: Node, scope: _Scope) -> bool:
        if node.op.name not in REGIONS:
            return False
        if not scope.prefix and self.only is not None and node.name not in self.only:
            return False
        return not any(f.name in scope.functions for f in node.functions())

    def _expand(
        self,
        node: Node,
        name: str,
        inputs: Sequence[Endpoint],
        after: tuple[str, ...],
        scope: _Scope,
    ) -> tuple[list[Endpoint], tuple[str, ...]]:
        functions = scope.functions | {f.name for f in node.functions()}
        if node.op.name in BRANCHES:
            ends, done = self._if(node, name, inputs, after, functions)
        elif node.op.name in LOOPS:
            used = [
                any(Endpoint(node.name, i) in n.inputs for n in self._readers(node, scope))
                or node.name in self.keep or self._is_result(node, i)
                for i in range(len(node.outputs))
            ]  # fmt: skip
            ends, done = self._while(node, name, inputs, after, functions, used)
        else:
            ends, done = self._call(node, name, inputs, after, functions)
        if not scope.prefix and node.name in self.keep:
            if ends:
                attrs = {"T": tuple(t.dtype.base for t in node.outputs)}
                self.nodes.append(new_node(name, "IdentityN", ends, node.outputs, attrs, done))
                ends = [Endpoint(name, i) for i in range(len(ends))]
            else:
                self.nodes.append(new_node(name, "NoOp", (), (), {}, done))
            done = (name,)
        return ends, done

    def _readers(self, node: Node, scope: _Scope) -> list[Node]:
        graph = self.bodies[-1].body if scope.prefix else self.graph
        return [graph.by_name[u] for u in graph.users[node.name]]

    def _is_result(self, node: Node, index: int) -> bool:
        body = self.bodies[-1] if self.bodies else None
        return body is not None and Endpoint(node.name, index) in body.results

    # ---- regions

    def _body(
        self,
        function: Function,
        prefix: str,
        enter: Callable[[Endpoint, str], Endpoint],
        pivot: tuple[str, ...],
        functions: frozenset[str],
    ) -> tuple[list[Endpoint], list[str], _Scope]:
        """Adds a function's nodes; its results, and what has to run besides."""
        scope = _Scope(prefix, {}, {}, pivot, functions, enter, frozenset(function.params))
        self.bodies.append(function)
        self.emit(function.body.nodes, scope)
        self.bodies.pop()
        results = [scope.end(e, "") for e in function.results]
        control = list(function.control)
        if self.gate:  # all of a body runs, asked for or not
            control += self._prompt_effects(function)
        return results, list(scope.waits(control)), scope

    def _predicate(self, node: Node, name: str, end: Endpoint, type_: TensorType) -> Endpoint:
        """The predicate as a boolean scalar."""
        if type_.shape == ():
            if type_.dtype.base is bool_:
                return end
            if type_.dtype.base is not string:
                const = self.zero(f"{name}/zero", type_.dtype.base)
                return self.make(
                    f"{name}/true", "NotEqual", (end, const), (BOOL,),
                    {"T": type_.dtype.base, "incompatible_shape_error": True},
                )  # fmt: skip
        elif type_.shape is None and type_.dtype.base is bool_:
            return end  # the Switch itself asks for a scalar
        if type_.shape is None or type_.dtype.base is string:
            raise GraphError(
                f"the predicate is {type_}; dataflow primitives take a boolean scalar",
                node=node.signature(),
                made=source_text(node.source),
                do="make it a boolean scalar",
            )
        size = self.make(
            f"{name}/size", "Size", (end,), (INT,), {"T": type_.dtype.base, "out_type": int32}
        )
        const = self.zero(f"{name}/zero", int32)
        return self.make(f"{name}/true", "Greater", (size, const), (BOOL,), {"T": int32})

    def _if(
        self,
        node: Node,
        name: str,
        inputs: Sequence[Endpoint],
        after: tuple[str, ...],
        functions: frozenset[str],
    ) -> tuple[list[Endpoint], tuple[str, ...]]:
        pred_type = self._input_type(node, 0)
        pred = self._predicate(node, name, inputs[0], pred_type)
        both = {"T": bool_}
        switch = self.make(f"{name}/Switch", "Switch", (pred, pred), (BOOL, BOOL), both, after)
        pivots = (
            self.same(f"{name}/switch_f", Endpoint(switch.node, 0), BOOL),
            self.same(f"{name}/switch_t", Endpoint(switch.node, 1), BOOL),
        )
        gate = self.same(f"{name}/pred_id", pred, BOOL, after)
        sides: list[tuple[list[Endpoint], list[str]]] = [([], []), ([], [])]
        for side, attr in ((1, "then_branch"), (0, "else_branch")):
            function = self.graph.function(node.attrs[attr])
            entered: dict[Endpoint, Endpoint] = {}

            def enter(
                end: Endpoint, user: str, side: int = side, function: Function = function,
                entered: dict[Endpoint, Endpoint] = entered,
            ) -> Endpoint:  # fmt: skip
                if end not in entered:
                    outer = inputs[1 + function.params.index(end)]
                    type_ = function.body.type_of(end)
                    found = self.make(
                        f"{name}/{user}/Switch" if user else f"{name}/Switch", "Switch",
                        (outer, gate), (type_, type_), {"T": type_.dtype.base},
                    )  # fmt: skip
                    entered[end] = Endpoint(found.node, side)
                return entered[end]

            results, control, _ = self._body(function, name, enter, (pivots[side].node,), functions)
            sides[side] = results, control
        return self._merged(node, name, sides, pivots)

    def _merged(
        self,
        node: Node,
        name: str,
        sides: Sequence[tuple[list[Endpoint], list[str]]],
        pivots: Sequence[Endpoint],
    ) -> tuple[list[Endpoint], tuple[str, ...]]:
        ends: list[Endpoint] = []
        effects = any(control for _, control in sides)
        for i, type_ in enumerate(node.outputs):
            arms = []
            for results, control in sides:
                end = results[i]
                if control and self.gate:
                    end = self.same(f"{name}/Identity", end, type_, control)
                arms.append(end)
            attrs = {"T": type_.dtype.base, "N": 2}
            ends.append(self.make(f"{name}/Merge", "Merge", arms, (type_, INT), attrs))
        done = [e.node for e in ends]
        if not ends or (effects and not self.gate):
            arms = [
                self.same(f"{name}/control_dependency", pivot, BOOL, control)
                for pivot, (_, control) in zip(pivots, sides, strict=True)
            ]
            attrs = {"T": bool_, "N": 2}
            done.append(self.make(f"{name}/Merge", "Merge", arms, (BOOL, INT), attrs).node)
        return ends, tuple(done)

    def _while(
        self,
        node: Node,
        name: str,
        inputs: Sequence[Endpoint],
        after: tuple[str, ...],
        functions: frozenset[str],
        used: Sequence[bool],
    ) -> tuple[list[Endpoint], tuple[str, ...]]:
        cond = self.graph.function(node.attrs["cond"])
        body = self.graph.function(node.attrs["body"])
        types = list(node.outputs)
        count = len(types)
        while (
            count > 1
            and not used[count - 1]
            and (body.results[count - 1] == body.params[count - 1])
        ):
            count -= 1  # a capture: the body only hands it on
        frame = {
            "frame_name": f"{name}/while_context".encode(),
            "parallel_iterations": node.attrs["parallel_iterations"],
        }
        values = list(inputs)
        if not values:  # a loop about effects alone
            values = [self.zero(f"{name}/Const", int32, after)]
            types, count = [INT], 1
        enters = [
            self.make(
                f"{name}/Enter", "Enter", (values[i],), (types[i],),
                {"T": types[i].dtype.base, "is_constant": False, **frame}, after,
            )
            for i in range(count)
        ]  # fmt: skip
        nexts = [self.name(f"{name}/NextIteration") for _ in range(count)]
        merges = []
        for i, enter in enumerate(enters):
            attrs = {"T": types[i].dtype.base, "N": 2}
            arms = (enter, Endpoint(nexts[i]))
            merges.append(self.make(f"{name}/Merge", "Merge", arms, (types[i], INT), attrs))
        loop = _Loop()
        held = self.ungated
        outer_pivot = self.pivot

        def captured(index: int, user: str) -> Endpoint:
            found = loop.entered.get(index)
            if found is None:
                inside, self.pivot = self.pivot, outer_pivot
                type_ = types[index]
                ungated, self.ungated = self.ungated, held
                found = loop.entered[index] = self.make(
                    f"{name}/{user}/Enter" if user else f"{name}/Enter", "Enter",
                    (values[index],), (type_,),
                    {"T": type_.dtype.base, "is_constant": True, **frame}, after,
                ).node  # fmt: skip
                self.pivot, self.ungated = inside, ungated
                self.ungated.add(Endpoint(found))
            return Endpoint(found)

        def in_cond(end: Endpoint, user: str) -> Endpoint:
            index = cond.params.index(end)
            return merges[index] if index < count else captured(index, user)

        self.ungated = set()
        results, control, _ = self._body(cond, name, in_cond, (merges[0].node,), functions)
        self.pivot = (merges[0].node,)
        result_type = cond.body.type_of(cond.results[0])
        pred = self._predicate(node, name, results[0], result_type)
        condition = self.make(f"{name}/LoopCond", "LoopCond", (pred,), (BOOL,), {}, control)
        self.pivot = ()
        switches = []
        for i, merge in enumerate(merges):
            attrs = {"T": types[i].dtype.base}
            both = (types[i], types[i])
            switches.append(self.make(f"{name}/Switch", "Switch", (merge, condition), both, attrs))
        variables = [
            self.same(f"{name}/Identity", Endpoint(s.node, 1), types[i])
            for i, s in enumerate(switches)
        ]

        def in_body(end: Endpoint, user: str) -> Endpoint:
            index = body.params.index(end)
            return variables[index] if index < count else captured(index, user)

        pivot = (variables[0].node,)
        results, control, scope = self._body(body, name, in_body, pivot, functions)
        if not inputs:
            results = list(variables)
        waits = self._iteration_effects(body, control, scope)
        self.pivot = pivot
        for i in range(count):
            attrs = {"T": types[i].dtype.base}
            self.put(new_node(nexts[i], "NextIteration", (results[i],), (types[i],), attrs, waits))
        self.pivot, self.ungated = outer_pivot, held
        exits = [
            self.make_ungated(f"{name}/Exit", "Exit", s, types[i]) for i, s in enumerate(switches)
        ]
        ends = [exits[i] if i < count else inputs[i] for i in range(len(node.outputs))]
        return ends, tuple(e.node for e in exits)

    def make_ungated(self, name: str, op: str, end: Endpoint, type_: TensorType) -> Endpoint:
        """Adds a node of one input that waits for nothing else."""
        found = self.name(name)
        source = self.source.source if self.source is not None else ""
        attrs = {"T": type_.dtype.base}
        self.nodes.append(new_node(found, op, (end,), (type_,), attrs, (), source))
        return Endpoint(found)

    def _iteration_effects(
        self, body: Function, control: Sequence[str], scope: _Scope
    ) -> tuple[str, ...]:
        """What the next iteration waits for, so that effects keep the order of iterations."""
        if self.gate:
            return tuple(control)
        return scope.waits(self._prompt_effects(body))

    def _prompt_effects(self, function: Function) -> list[str]:
        """Effects of a body that cannot wait for what this region gives, or for a later iteration.

        Where queues are at work, something else may: whatever waits for them may wait for ever.
        Effects that no result and no control output reaches are none: they do not run.
        """
        by_name = {n.name: n for n in function.body.nodes}
        roots = [*(e.node for e in function.results), *function.control]
        runs = {n.name for n in reachable(by_name, roots)}
        late: set[str] = set()
        for node in function.body.nodes:
            above = [*(e.node for e in node.inputs), *node.after]
            if may_wait(node, self.waiting) or any(n in late for n in above):
                late.add(node.name)
        return [
            n.name
            for n in function.body.nodes
            if n.is_stateful and n.name in runs and n.name not in late
        ]

    def _call(
        self,
        node: Node,
        name: str,
        inputs: Sequence[Endpoint],
        after: tuple[str, ...],
        functions: frozenset[str],
    ) -> tuple[list[Endpoint], tuple[str, ...]]:
        function = self.graph.function(node.attrs["f"])
        entered: dict[Endpoint, Endpoint] = {}

        def enter(end: Endpoint, user: str) -> Endpoint:
            outer = inputs[function.params.index(end)]
            if not after:
                return outer
            if end not in entered:
                entered[end] = self.same(f"{name}/input", outer, function.body.type_of(end), after)
            return entered[end]

        pivot = after or self.pivot
        results, control, _ = self._body(function, name, enter, pivot, functions)
        if control and self.gate:
            results = [
                self.same(f"{name}/Identity", e, t, control)
                for e, t in zip(results, node.outputs, strict=True)
            ]
        done = tuple(dict.fromkeys([*(e.node for e in results), *control, *after]))
        return results, done

    def _input_type(self, node: Node, index: int) -> TensorType:
        body = self.bodies[-1].body if self.bodies else self.graph
        return body.type_of(node.inputs[index])
