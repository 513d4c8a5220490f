"""Turns reference variables into resources: a ref edge becomes a handle, each use a read.

A reader of a reference sees the variable as it is when the reader runs: after its control inputs,
and after all its other inputs. So each gets a read of its own, ordered likewise.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from graphvm_runtime.compiler.aliases import with_shared_memory
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.dtypes import resource
from graphvm_runtime.errors import InvalidArgumentError, UnimplementedError
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, source_text, unused
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.control_flow import MERGES
from graphvm_runtime.ops.functional import LOOPS, REGIONS
from graphvm_runtime.ops.registry import OpDef, Trait, known
from graphvm_runtime.ops.signature import FuncRef
from graphvm_runtime.shapes import TensorType

HANDLE = TensorType(resource, ())


@dataclass(frozen=True, slots=True)
class Dereference:
    """Rewrites the graph and all functions; fetched references become reads."""

    name: str = "dereference"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph without references."""
        if not any(t.dtype.is_ref for n in graph.all_nodes() for t in n.outputs):
            return graph, request
        graph = with_shared_memory(graph)
        passed = _passed_on(graph)
        loops = {n.attrs["body"].name for n in graph.all_nodes() if n.op.name in LOOPS}
        library = {
            name: _function(function, graph.library, passed, loops)
            for name, function in graph.library.items()
        }
        body = _Body(graph, graph.library, passed)
        body.rewrite()
        fetches = tuple(body.value(e) for e in request.fetches)
        out = Graph((), library, graph.producer, graph.min_consumer).with_nodes(body.nodes)
        return out, replace(request, fetches=fetches)


# for each function, which parameters are handed on as handles
_Passed = Mapping[str, tuple[bool, ...]]


def _passed_on(graph: Graph) -> _Passed:
    passed = {
        name: tuple(t.dtype.is_ref for t in f.param_types) for name, f in graph.library.items()
    }
    for nodes in (graph.nodes, *(f.body.nodes for f in graph.library.values())):
        for node in nodes:
            if node.op.name in LOOPS:
                cond, body = (node.attrs[a].name for a in ("cond", "body"))
                # a variable that the body does not give back as a reference goes round as a value
                both = tuple(
                    a and b and t.dtype.is_ref
                    for a, b, t in zip(
                        passed[cond], passed[body], graph.library[body].result_types, strict=True
                    )
                )
                passed[cond] = passed[body] = both
    return passed


def _function(
    function: Function, library: Mapping[str, Function], passed: _Passed, loops: Collection[str]
) -> Function:
    body = _Body(function.body, library, passed)
    flags = passed[function.name]
    for end, is_handle in zip(function.params, flags, strict=True):
        if not is_handle:
            body.plain.add(end)
    body.rewrite()
    results = []
    for i, end in enumerate(function.results):
        if function.name in loops and flags[i] and body.is_ref(end):
            handle, effects = body.handle(end)
            results.append(handle)
            if effects:
                function = replace(function, control=(*function.control, *effects))
        else:
            results.append(body.value(end))
    return replace(
        function,
        results=tuple(results),
        control=tuple(dict.fromkeys(function.control)),
        body=Graph(()).with_nodes(body.nodes),
    )


class _Body:
    """One graph on its way."""

    def __init__(self, graph: Graph, library: Mapping[str, Function], passed: _Passed) -> None:
        self.graph = graph
        self.library = library
        self.passed = passed
        self.nodes: list[Node] = []
        self.plain: set[Endpoint] = set()  # were references in the graph, are values now
        self.taken = set(graph.by_name)

    def is_ref(self, end: Endpoint) -> bool:
        """Whether an endpoint was a reference."""
        return end not in self.plain and self.graph.type_of(end).dtype.is_ref

    def handle(self, end: Endpoint) -> tuple[Endpoint, tuple[str, ...]]:
        """The handle behind a reference, and what must have run before it may be used."""
        effects: list[str] = []
        node = self.graph.by_name[end.node]
        while _resource_form(node) is not None:  # an assignment gives the reference it took
            effects.append(node.name)
            end = node.inputs[0]
            node = self.graph.by_name[end.node]
        return end, tuple(effects)

    def value(self, end: Endpoint, reader: str = "", after: Iterable[str] = ()) -> Endpoint:
        """The value behind an endpoint: a new read where it is a reference."""
        if not self.is_ref(end):
            return end
        node = self.graph.by_name[end.node]
        name = self.unused(f"{reader}/read" if reader else f"{end.node}/value")
        self.nodes.append(self.read(node, name, end, after))
        return Endpoint(name)

    def read(self, node: Node, name: str, end: Endpoint, after: Iterable[str]) -> Node:
        """A node that reads the variable behind `end`."""
        handle, effects = self.handle(end)
        type_ = self.graph.type_of(end)
        base = TensorType(type_.dtype.base, type_.shape)
        return Node(
            name,
            lookup("ReadVariableOp"),
            (handle,),
            tuple(dict.fromkeys([*after, *effects])),
            MappingProxyType({"dtype": base.dtype}),
            (base,),
            node.device,
            node.source,
        )

    def unused(self, name: str) -> str:
        """A name that no node has."""
        found = unused(name, self.taken)
        self.taken.add(found)
        return found

    def rewrite(self) -> None:
        """Fills `nodes`."""
        for node in self.graph.nodes:
            self.nodes.append(self.rewritten(node))

    def rewritten(self, node: Node) -> Node:
        """The node without references; reads that it needs are added before."""
        op = node.op.name
        if node.op.traits & Trait.VARIABLE and node.outputs[0].dtype.is_ref:
            return _variable(node)
        made = _maker(node)
        if made is not None:
            return node.changed(op=made, outputs=(HANDLE,))
        if op == "_Arg" and node.outputs[0].dtype.is_ref:
            return self.argument(node)
        refs = [self.is_ref(e) for e in node.inputs]
        takes = [a.is_ref for a in node.op.inputs for _ in a.dtypes(node.attrs)]
        functions = list(node.functions())
        if functions and op in REGIONS:
            return self.region(node, functions)
        for end, is_ref, wanted in zip(node.inputs, refs, takes, strict=True):
            if wanted and not is_ref:
                raise InvalidArgumentError(
                    f"{op} takes a reference, but {end} is a value here (fed, or passed by value)",
                    node=node.signature(),
                    made=source_text(node.source),
                )
        if any(takes):
            return self.through_handles(node, takes)
        if not any(refs):
            return node
        if op == "Identity":
            source = self.graph.by_name[node.inputs[0].node]
            read = self.read(source, node.name, node.inputs[0], node.after)
            return _in_place_of(read, node)
        return node.changed(inputs=self.values(node, node.inputs))

    def values(self, node: Node, inputs: Sequence[Endpoint]) -> list[Endpoint]:
        """Inputs as values, each read when all else that the node waits for is there."""
        after = list(node.after)
        if node.op.name not in MERGES:  # a merge does not wait for its other inputs
            after += [e.node for e in node.inputs if not self.is_ref(e) and self.can_wait(e.node)]
        read: dict[Endpoint, Endpoint] = {}
        for end in inputs:
            if end not in read:
                read[end] = self.value(end, node.name, after)
        return [read[e] for e in inputs]

    def can_wait(self, name: str) -> bool:
        """Whether waiting for that node can order anything."""
        node = self.graph.by_name[name]
        return bool(node.inputs or node.after)

    def argument(self, node: Node) -> Node:
        """A parameter: a handle where one is handed on, a value otherwise."""
        base = TensorType(node.outputs[0].dtype.base, node.outputs[0].shape)
        attrs = {**node.attrs, "T": base.dtype}
        if self.is_ref(Endpoint(node.name)):
            attrs.update(T=resource, _handle_type=base)
            base = HANDLE
        return node.changed(attrs=MappingProxyType(attrs), outputs=(base,))

    def through_handles(self, node: Node, takes: Sequence[bool]) -> Node:
        """An op on references as the op on handles."""
        inputs, effects = [], list(node.after)
        values = self.values(node, [e for e, w in zip(node.inputs, takes, strict=True) if not w])
        rest = iter(values)
        for end, wanted in zip(node.inputs, takes, strict=True):
            if wanted:
                handle, before = self.handle(end)
                if before and node.op.name in MERGES:
                    # a merge waits for the effects of the side that is alive only
                    handle = self.passed_after(handle, node.name, before)
                    before = ()
                inputs.append(handle)
                effects.extend(before)
            else:
                inputs.append(next(rest))
        form = _resource_form(node)
        if form is not None:
            gives = [a.is_ref for a in node.op.outputs for _ in a.dtypes(node.attrs)]
            outputs = tuple(o for r, o in zip(gives, node.outputs, strict=True) if not r)
            attrs = {k: v for k, v in node.attrs.items() if k in form.attrs or k[0] == "_"}
            if "dtype" in form.attrs:
                attrs["dtype"] = node.attrs.get("T", node.attrs.get("dtype"))
        else:
            plain = node.op.name.removeprefix("Ref")
            if plain == node.op.name or not known(plain):
                raise UnimplementedError(
                    f"{node.op.name} on reference variables has no form for resources",
                    node=node.signature(),
                    made=source_text(node.source),
                    do="build the graph with use_resource=True",
                )
            form = lookup(plain)
            attrs = {**node.attrs, "T": resource}
            outputs = tuple(HANDLE if o.dtype.is_ref else o for o in node.outputs)
        return node.changed(
            op=form, inputs=inputs, after=effects, attrs=MappingProxyType(attrs), outputs=outputs
        )

    def passed_after(self, handle: Endpoint, reader: str, effects: Iterable[str]) -> Endpoint:
        """The handle, handed on once the effects are done."""
        name = self.unused(f"{reader}/after")
        attrs = MappingProxyType({"T": resource})
        self.nodes.append(
            Node(name, lookup("Identity"), (handle,), tuple(effects), attrs, (HANDLE,))
        )
        return Endpoint(name)

    def region(self, node: Node, functions: Sequence[FuncRef]) -> Node:
        """A functional node: handles go where its functions take references."""
        region = node.op.region
        assert region is not None
        first = region.first
        flags = [self.passed[f.name] for f in functions]
        inputs, after = [], list(node.after)
        types = [t.dtype.base for t in map(self.graph.type_of, node.inputs)]
        for i, end in enumerate(node.inputs):
            if i >= first and all(f[i - first] for f in flags) and self.is_ref(end):
                handle, effects = self.handle(end)
                inputs.append(handle)
                after.extend(effects)
                types[i] = resource
            else:
                inputs.append(self.value(end, node.name, after))
        attrs = dict(node.attrs)
        is_loop = node.op.name in LOOPS
        attrs[region.types] = tuple(types[first:])
        outputs = []
        for i, type_ in enumerate(node.outputs):
            if is_loop and types[i] is resource and type_.dtype.is_ref:
                outputs.append(HANDLE)
            else:
                outputs.append(TensorType(type_.dtype.base, type_.shape))
                self.plain.add(Endpoint(node.name, i))
        if not is_loop and "Tout" in attrs:
            attrs["Tout"] = tuple(t.dtype for t in outputs)
        return node.changed(
            inputs=inputs, after=after, attrs=MappingProxyType(attrs), outputs=outputs
        )


def _in_place_of(read: Node, node: Node) -> Node:
    """A read in the place of a node: with its user's line and device."""
    return Node(
        read.name, read.op, read.inputs, read.after, read.attrs, read.outputs, node.device,
        node.source,
    )  # fmt: skip


def _variable(node: Node) -> Node:
    name = node.attrs["shared_name"] or node.name.encode()
    attrs = {
        "container": node.attrs["container"],
        "shared_name": name,
        "dtype": node.attrs["dtype"],
        "shape": node.attrs["shape"],
        **{k: v for k, v in node.attrs.items() if k.startswith("_") and k != "_output_shapes"},
    }
    return node.changed(op=lookup("_Reference"), attrs=MappingProxyType(attrs), outputs=(HANDLE,))


def _maker(node: Node) -> OpDef | None:
    """The op that makes a handle where this one makes a reference."""
    outputs = node.op.outputs
    if len(outputs) != 1 or not outputs[0].is_ref or any(a.is_ref for a in node.op.inputs):
        return None
    return _form(node)


def _resource_form(node: Node) -> OpDef | None:
    """The op on a handle that does what this one does to a reference."""
    if not node.op.inputs or not node.op.inputs[0].is_ref:
        return None
    return _form(node)


def _form(node: Node) -> OpDef | None:
    name = node.op.name
    forms = (node.op.on_handles, f"Resource{name}", f"_{name}")
    return next((lookup(form) for form in forms if known(form)), None)
