"""The walks: what depends on what, cotangents backwards, tangents forwards, through all bodies."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar

from graphvm.graph.graph import Graph, Tensor
from graphvm.graph.indexed_slices import IndexedSlices
from graphvm.graph.source import ended_in_ours
from graphvm.rules import RULES
from graphvm.rules.cotangents import Cotangent, Cotangents, aggregated, dense
from graphvm.rules.list_elements import OneElement
from graphvm.rules.nodes import add, zeros_like
from graphvm.rules.registry import NotDifferentiable, Site, Tangents
from graphvm.transforms.regions import DerivedRegion
from graphvm.transforms.scopes import (
    BodyScope,
    NodeSite,
    RaisedRoot,
    Root,
    Scope,
    has_derivative,
    sources_of,
)
from graphvm_runtime.errors import GraphError, GraphvmError, RuleError
from graphvm_runtime.ir.bodies import body_keys, body_ref
from graphvm_runtime.ir.derivatives.saved import FAMILY, SAVED, Steps, path_of
from graphvm_runtime.ir.graph import GRADIENT, Endpoint, Function, Node, source_text
from graphvm_runtime.ops.control_flow import ENTERS, NEXTS, SWITCHES
from graphvm_runtime.ops.functional import BRANCHES, CALLS, LOOPS, REGIONS

T = TypeVar("T")

POP = "StackPopV2"  # gives values that were not handed to it by an edge
# what a handle passes unchanged
PASSING = frozenset({"Identity", *ENTERS, *SWITCHES})


class Derivation:
    """One call of `gradients` or `jvp`.

    Args:
        root: the graph that is differentiated.
        library: functions that its nodes name.
        nodes: the nodes to look at, in topological order.
        sources: what is differentiated by.
        stops: what counts as constant; the nodes that make it are not differentiated, even where
            it is a source itself.
        colocate: put new nodes on the devices of those whose derivative they are.
        gate: all cotangents of a node are there before any of them is used.
    """

    def __init__(
        self,
        root: Scope,
        library: Mapping[str, Function],
        nodes: Sequence[Node],
        sources: Iterable[Endpoint],
        stops: frozenset[Endpoint] = frozenset(),
        *,
        colocate: bool = False,
        gate: bool = False,
    ) -> None:
        self.root = root
        # a graph only grows, so its version tells derivatives apart
        self.label = f"{getattr(root.graph, 'name', '')}/{root.graph.version}"
        self.library = library
        self.nodes = nodes
        self.colocate = colocate
        self.gate = gate
        self.stopped = frozenset(e.node for e in stops)
        # for each body, and the root: what depends on what is differentiated by
        self.reached: dict[Steps, set[Endpoint]] = {}
        # cotangents of values of a body that another derivative named, with where they are
        self.seeds: dict[Steps, dict[Endpoint, list[tuple[BodyScope, Tensor]]]] = {}
        self.seeded: set[tuple[Steps, str]] = set()
        self.stacks: set[tuple[Steps, Endpoint]] = set()  # of which some of what is on depends
        self.touched: set[str] = set()  # nodes that a derivative of theirs connects
        self.tangents: dict[Steps, tuple[BodyScope, dict[Endpoint, Tensor]]] = {}
        self._holds: dict[str, bool] = {}
        self._open: list[str] = []  # functions that are being looked at
        reached, size = self._mark((), nodes, sources), (-1, -1)
        # what is not raised leads back to itself, by edges and by stacks
        again = any(n.op.name in NEXTS for n in nodes)
        while (again or self.stacks) and size != (len(reached), len(self.stacks)):
            size = len(reached), len(self.stacks)
            reached = self._mark((), nodes, reached)

    def function(self, name: str) -> Function:
        """A function that a node names. Raises GraphError."""
        found = self.library.get(name) or self.root.graph.library.get(name)
        if found is None:
            raise GraphError(f"the library has no function {name!r}")
        return found

    # -- what depends on what --------------------------------------------------------------

    def _mark(
        self, steps: Steps, nodes: Sequence[Node], sources: Iterable[Endpoint]
    ) -> set[Endpoint]:
        reached = self.reached[steps] = set(sources)
        rules = RULES
        for node in nodes:
            op = node.op.name
            if node.name in self.stopped and not steps:
                continue
            if op in REGIONS:
                given = {i for i, e in enumerate(node.inputs) if e in reached}
                outs = self._mark_region(steps, node, given)
                if self._is_coarse(steps) and (
                    given or any(self._depends(n) for n in self._named_by(node))
                ):
                    outs = set(range(len(node.outputs)))
                found = [Endpoint(node.name, i) for i in outs if has_derivative(node.outputs[i])]
            elif op == SAVED:
                target = sources_of(absolute(steps, node))
                if target is None or target[1] not in self.reached.get(target[0], ()):
                    continue
                found = [Endpoint(node.name, 0)]
            elif op == POP:
                if self._stack(steps, node) not in self.stacks:
                    continue
                found = [Endpoint(node.name, 0)] if has_derivative(node.outputs[0]) else []
            elif not reached.isdisjoint(node.inputs):
                if op == "StackPushV2" and node.inputs[1] in reached:
                    self.stacks.add(self._stack(steps, node))
                if isinstance(rules.get(op), NotDifferentiable) and (
                    "_gradient_op_type" not in node.attrs
                ):
                    continue
                found = [
                    Endpoint(node.name, i)
                    for i, type_ in enumerate(node.outputs)
                    if has_derivative(type_)
                ]
            else:
                continue
            reached.update(found)
        return reached

    def _mark_region(self, steps: Steps, node: Node, given: set[int]) -> set[int]:
        """Outputs of a node with bodies that depend, when these inputs do."""
        if not given and not self.concerned(node):
            return set()
        asked = RULES.asked_for(node, self.root.graph)
        if asked is not None or self.own_gradient(node) is not None:
            return {i for i, t in enumerate(node.outputs) if has_derivative(t)}
        found: set[int] = set()
        for attr in body_keys(node):
            if attr == "cond":
                continue
            function = self.function(body_ref(node, attr).name)
            inner = (*steps, (node.name, attr))
            if function.name in self._open:
                raise RuleError(
                    f"function {function.name!r} calls itself: its derivative would have no end",
                    node=node.signature(),
                    made=source_text(node.source),
                    do="give it a grad_func, or write it as a while_loop",
                )
            self._open.append(function.name)
            shift = node.op.name in BRANCHES
            params = {i - shift for i in given if i >= shift}
            while True:
                reached = self._mark(
                    inner, function.body.nodes, {function.params[i] for i in params}
                )
                results = {i for i, e in enumerate(function.results) if e in reached}
                if node.op.name not in LOOPS or results <= params:
                    break
                params |= results
            self._open.pop()
            found |= params if node.op.name in LOOPS else results
        return {i for i in found if has_derivative(node.outputs[i])}

    def _stack(self, steps: Steps, node: Node) -> tuple[Steps, Endpoint]:
        """Where the handle of a stack comes from."""
        scopes: list[tuple[Mapping[str, Node], Function | None]] = [(self.root.by_name, None)]
        for name, attr in steps:
            function = self.function(scopes[-1][0][name].attrs[attr].name)
            scopes.append((function.body.by_name, function))
        end = node.inputs[0]
        while True:
            nodes, inside = scopes[-1]
            at = nodes[end.node]
            if inside is not None and end in inside.params:
                scopes.pop()
                owner = scopes[-1][0][steps[len(scopes) - 1][0]]
                index = inside.params.index(end)
                end = owner.inputs[index + (owner.op.name in BRANCHES)]
            elif at.op.name in PASSING:
                end = at.inputs[0]
            else:
                return steps[: len(scopes) - 1], end

    # As in TensorFlow, all outputs of a node of functional control flow depend on all inputs, for
    # the question whether a gradient is None; what passes nothing gives zeros. The primitives of
    # TensorFlow 1 are seen through.

    def _is_coarse(self, steps: Steps) -> bool:
        return not steps and not isinstance(self.root, RaisedRoot)

    def _depends(self, name: str) -> bool:
        """Whether an output of a node of the root depends."""
        outputs = self.root.by_name[name].outputs
        return any(Endpoint(name, i) in self.reached[()] for i in range(len(outputs)))

    def _named_by(self, node: Node, depth: int = 1) -> set[str]:
        """Nodes beside this one whose bodies its bodies name numbers of."""
        if FAMILY not in node.attrs:
            return set()
        found: set[str] = set()
        for ref in node.functions():
            for inner in self.function(ref.name).body.nodes:
                if inner.op.name == SAVED and has_derivative(inner.outputs[0]):
                    steps, _ = path_of(inner)
                    if len(steps) == depth:
                        found.add(steps[0][0])
                elif inner.op.name in REGIONS:
                    found |= self._named_by(inner, depth + 1)
        return found

    def _has_others(self, node: Node) -> bool:
        """Whether it may depend on values that are not among its inputs."""
        return node.op.name == POP or (node.op.name in REGIONS and self.concerned(node))

    def concerned(self, node: Node) -> bool:
        """Whether bodies of the node have values of other bodies, by name or from a stack."""
        return any(self._names_values(ref.name) for ref in node.functions())

    def _names_values(self, name: str) -> bool:
        if name not in self._holds:
            self._holds[name] = False
            self._holds[name] = any(
                n.op.name in (SAVED, POP) or self.concerned(n)
                for n in self.function(name).body.nodes
            )
        return self._holds[name]

    # -- the face that rules see (graphvm.rules.registry.Transform) ------------------------

    def region(self, site: Site) -> DerivedRegion:
        """See `Transform`."""
        assert isinstance(site, NodeSite)
        return DerivedRegion(self, site.node, site.scope)

    def dependent(self, site: Site, attr: str) -> set[int]:
        """See `Transform`."""
        steps, function = self._body(site, attr)
        reached = self.reached.get(steps, set())
        return {i for i, e in enumerate(function.params) if e in reached}

    def dependent_results(self, site: Site, attr: str) -> set[int]:
        """See `Transform`."""
        steps, function = self._body(site, attr)
        reached = self.reached.get(steps, set())
        return {i for i, e in enumerate(function.results) if e in reached}

    def reaching(self, site: Site, attr: str, results: set[int]) -> set[int]:
        """See `Transform`."""
        steps, function = self._body(site, attr)
        reached = self.reached.get(steps, set())
        pending = [function.results[i] for i in results]
        pending.extend(self.seeds.get(steps, ()))
        nodes = function.body.by_name
        pending.extend(e for at, name in self.seeded if at == steps for e in nodes[name].inputs)
        seen: set[Endpoint] = set()
        while pending:
            end = pending.pop()
            if end in seen or end not in reached:
                continue
            seen.add(end)
            node = nodes[end.node]
            pending.extend(node.inputs)
            if FAMILY in node.attrs:
                for name in node.after:
                    pending.extend(nodes[name].inputs)
        return {i for i, e in enumerate(function.params) if e in seen}

    def gradient_function(self, site: Site) -> Function | None:
        """See `Transform`."""
        return self.own_gradient(site.node)

    def own_gradient(self, node: Node) -> Function | None:
        """The function that is declared to be the gradient of the one that a node calls."""
        if node.op.name not in CALLS:
            return None
        ref = self.function(node.attrs["f"].name).attrs.get(GRADIENT)
        return None if ref is None else self.function(ref.name)

    def trips(self, site: Site) -> Tensor:
        """See `Transform`."""
        assert isinstance(site, NodeSite)
        return site.scope.trips(site.node)

    def pushed_by_reverse(
        self, site: Site, pull: Callable[[Cotangents], Cotangents], tangents: Tangents
    ) -> Tangents:
        """See `Transform`."""
        assert isinstance(site, NodeSite)
        graph = site.scope.graph
        start = graph.version
        outputs = site.node.outputs
        probes = {
            i: zeros_like(site.outputs[i]) for i, t in enumerate(outputs) if has_derivative(t)
        }
        found = pull([probes.get(i) for i in range(len(outputs))])
        pairs = [
            (dense(c), t) for c, t in zip(found, tangents, strict=True)
            if c is not None and t is not None
        ]  # fmt: skip
        nodes = graph.nodes_since(start)
        root = Root(graph, {n.name: n for n in nodes})
        inner = Derivation(root, graph.library, nodes, [p.endpoint for p in probes.values()])
        cotangents: dict[Endpoint, list[Cotangent]] = {}
        for c, t in pairs:
            cotangents.setdefault(c.endpoint, []).append(t)
        inner.pull(root, nodes, cotangents)
        out: list[Tensor | None] = []
        for i in range(len(outputs)):
            total = aggregated(cotangents.get(probes[i].endpoint, ())) if i in probes else None
            out.append(None if total is None else dense(total))
        return out

    def _body(self, site: Site, attr: str) -> tuple[Steps, Function]:
        assert isinstance(site, NodeSite)
        steps = (*site.scope.steps, (site.name, attr))
        return steps, self.function(body_ref(site.node, attr).name)

    # -- backwards -------------------------------------------------------------------------

    def pull(
        self,
        scope: Scope,
        nodes: Sequence[Node],
        cotangents: dict[Endpoint, list[Cotangent]],
    ) -> None:
        """Takes cotangents from the last node to the first; those of the sources are left over."""
        reached = self.reached[scope.steps]
        graph = scope.graph
        for node in reversed(nodes):
            name = node.name
            if name in self.stopped and not scope.steps:
                continue
            given: list[Cotangent] = []
            some = False
            for i in range(len(node.outputs)):
                end = Endpoint(name, i)
                parts = cotangents.get(end)
                if parts is None or end not in reached:
                    given.append(None)
                    continue
                total = self.total(scope, node, parts)
                cotangents[end] = [total]
                given.append(total)
                some = some or total is not None
            if node.op.name == SAVED:
                if some:
                    self._seed(scope, node, given[0])
                continue
            touched = name in self.touched and not scope.steps
            if not node.inputs or not (some or touched or (scope.steps, name) in self.seeded):
                continue
            wanted = [e in reached for e in node.inputs]
            if True not in wanted and not self._has_others(node):
                continue
            rule = RULES.of(node, self.root.graph)
            site = NodeSite(node, scope, wanted)
            with graph.name_scope(f"{name}_grad"), self._placed(scope, node):
                found = self._asked(site, lambda: rule.pull(site, given, self))  # noqa: B023
                if node.op.name in REGIONS and self._is_coarse(scope.steps):
                    found = self._connected(site, found, some)
                if self.gate:
                    found = _gated(found)
            for end, grad, want in zip(node.inputs, found, wanted, strict=True):
                if want and grad is not None:
                    parts = cotangents.get(end)
                    if parts is None:
                        cotangents[end] = [grad]
                    else:
                        parts.append(grad)

    def total(self, scope: Scope, node: Node, parts: Sequence[Cotangent]) -> Cotangent:
        """The sum of the cotangents of an output of a node, on the device of that node."""
        if len(parts) < 2 or not self.colocate:
            return aggregated(parts)
        with self._placed(scope, node):
            return aggregated(parts)

    def _connected(self, site: NodeSite, found: Cotangents, some: bool) -> Cotangents:
        """Zeros where TensorFlow has them, since the node connects inputs with outputs."""
        node = site.node
        self.touched.update(n for n in self._named_by(node) if self._depends(n))
        connected: set[int] = set()
        if node.op.name in LOOPS:
            connected = set(range(len(node.inputs)))
        elif not some:
            shift = node.op.name in BRANCHES
            for attr in body_keys(node):
                every = set(range(len(node.outputs)))
                params = self.reaching(site, attr, every) & self.dependent(site, attr)
                connected |= {i + shift for i in params}
        return [
            zeros_like(site.inputs[i])
            if c is None
            and site.wanted[i]
            and i in connected
            and has_derivative(site.input_type(i))
            else c
            for i, c in enumerate(found)
        ]

    def _asked(self, site: NodeSite, call: Callable[[], T]) -> T:
        node = site.node
        try:
            return call()
        except GraphvmError as error:
            raise error.located(node.signature(), source_text(node.source)) from error.__cause__
        except RecursionError as error:
            if not site.scope.steps or not ended_in_ours(error):
                raise
            raise RuleError(
                f"{len(site.scope.steps)} bodies deep is too deep to be differentiated: Python's "
                f"recursion limit is {sys.getrecursionlimit()}",
                node=node.signature(),
                made=source_text(node.source),
                do="raise it with sys.setrecursionlimit, or nest less",
            ) from error

    def _placed(self, scope: Scope, node: Node) -> AbstractContextManager[object]:
        if not self.colocate or scope.steps:
            return nullcontext()
        target = scope.operations(node.name)
        return scope.graph.colocate_with(target[0]) if target else nullcontext()

    def _seed(self, scope: Scope, saved: Node, cotangent: Cotangent) -> None:
        """Takes down the cotangent of a value that a derived body has from another body."""
        target = sources_of(scope.absolute(saved))
        if target is None or not isinstance(scope, BodyScope):
            return
        steps, end = target
        self.seeds.setdefault(steps, {}).setdefault(end, []).append((scope, dense(cotangent)))
        for i, (name, _) in enumerate(steps):
            self.seeded.add((steps[:i], name))

    def pulled_body(
        self, body: BodyScope, cotangents: Mapping[int, Tensor], params: Sequence[int]
    ) -> list[Cotangent]:
        """See `Body.pull`."""
        function = body.function
        inner: dict[Endpoint, list[Cotangent]] = {}
        with body:
            for i, cotangent in cotangents.items():
                inner.setdefault(function.results[i], []).append(cotangent)
            for end, sources in self.seeds.get(body.steps, {}).items():
                inner.setdefault(end, []).extend(body.read(t, at) for at, t in sources)
            self.pull(body, function.body.nodes, inner)
            return [aggregated(inner.get(function.params[i], ())) for i in params]

    # -- forwards --------------------------------------------------------------------------

    def push(self, scope: Scope, nodes: Sequence[Node], tangents: dict[Endpoint, Tensor]) -> None:
        """Takes tangents from the first node to the last."""
        reached = self.reached[scope.steps]
        graph = scope.graph
        for node in nodes:
            name = node.name
            if node.op.name == SAVED:
                self._push_saved(scope, node, tangents)
                continue
            ends = [Endpoint(name, i) for i in range(len(node.outputs))]
            if reached.isdisjoint(ends):
                continue
            given = [tangents.get(e) if e in reached else None for e in node.inputs]
            if all(t is None for t in given) and not self._has_others(node):
                continue
            rule = RULES.of(node, self.root.graph)
            site = NodeSite(node, scope, [t is not None for t in given])
            with graph.name_scope(f"{name}_tangent"), self._placed(scope, node):
                found = self._asked(site, lambda: rule.push(site, given, self))  # noqa: B023
            for end, tangent in zip(ends, found, strict=True):
                if tangent is not None and end in reached:
                    given_too = tangents.get(end)
                    tangents[end] = tangent if given_too is None else add([given_too, tangent])

    def _push_saved(self, scope: Scope, saved: Node, tangents: dict[Endpoint, Tensor]) -> None:
        target = sources_of(scope.absolute(saved))
        if target is None or not isinstance(scope, BodyScope) or target[0] not in self.tangents:
            return
        made_in, known = self.tangents[target[0]]
        tangent = known.get(target[1])
        if tangent is not None:
            tangents[Endpoint(saved.name, 0)] = scope.read(tangent, made_in)

    def pushed_body(
        self, body: BodyScope, tangents: Mapping[int, Tensor], results: Sequence[int]
    ) -> list[Tensor | None]:
        """See `Body.push`."""
        function = body.function
        inner = {function.params[i]: t for i, t in tangents.items()}
        with body:
            self.push(body, function.body.nodes, inner)
        self.tangents[body.steps] = body, inner
        return [inner.get(function.results[i]) for i in results]


def absolute(steps: Steps, saved: Node) -> tuple[Steps, str] | None:
    """See `Scope.absolute`."""
    inner, last = path_of(saved)
    keep = len(steps) - len(inner)
    return None if keep < 0 else (steps[:keep] + inner, last)


def _gated(found: Cotangents) -> Cotangents:
    """The same values, none of which is there before all are."""
    tensors = [_value_of(c) for c in found]
    some = [t.op for t in tensors if t is not None]
    if len(some) < 2:
        return found
    out: list[Cotangent] = []
    for cotangent, tensor in zip(found, tensors, strict=True):
        if tensor is None:
            out.append(None)
            continue
        graph: Graph = tensor.graph
        late = graph.add_node("Identity", (tensor,), None, None, some).outputs[0]
        if isinstance(cotangent, OneElement):
            out.append(OneElement(cotangent.primal, cotangent.index, late, cotangent.dtype))
        elif isinstance(cotangent, IndexedSlices):
            out.append(IndexedSlices(late, cotangent.indices, cotangent.dense_shape))
        else:
            out.append(late)
    return out


def _value_of(cotangent: Cotangent) -> Tensor | None:
    """The tensor that is computed for a cotangent, whichever form that has."""
    if isinstance(cotangent, OneElement):
        return cotangent.value
    if isinstance(cotangent, IndexedSlices):
        return cotangent.values
    return cotangent
