"""Replaces calls of functions by their bodies."""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.graph import (
    Endpoint,
    Function,
    Graph,
    Node,
    ordered,
    reachable,
    renamed,
    unused,
)
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.functional import CALLS

_LIMIT = 100_000  # nodes; a function that doubles itself must end somewhere


@dataclass(frozen=True, slots=True)
class Inline:
    """Inlines calls of functions that do not call themselves."""

    name: str = "inline"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with calls inlined, in bodies too."""
        if not any(n.op.name in CALLS for n in graph.all_nodes()):
            return graph, request
        recursive = _recursive(graph)
        fetched = request.names()
        nodes, moved = _inlined(graph.nodes, graph, recursive, fetched)
        request = replace(request, fetches=renamed(request.fetches, moved))
        library = {}
        for name, function in graph.library.items():
            body, inner = _inlined(function.body.nodes, graph, recursive, frozenset())
            results = renamed(function.results, inner)
            library[name] = replace(function.with_nodes(body), results=results)
        return replace(graph, nodes=tuple(nodes), library=library), request


def _recursive(graph: Graph) -> set[str]:
    """Functions that can reach themselves."""
    calls = {
        name: {r.name for n in f.body.nodes for r in n.functions()}
        for name, f in graph.library.items()
    }
    out = set()
    for start in calls:
        seen: set[str] = set()
        stack = list(calls[start])
        while stack:
            name = stack.pop()
            if name not in seen:
                seen.add(name)
                stack.extend(calls.get(name, ()))
        if start in seen:
            out.add(start)
    return out


def _inlined(
    nodes: tuple[Node, ...], graph: Graph, recursive: set[str], keep: frozenset[str]
) -> tuple[list[Node], dict[Endpoint, Endpoint]]:
    out = list(nodes)
    moved: dict[Endpoint, Endpoint] = {}
    while len(out) < _LIMIT:
        calls = [
            n
            for n in out
            if n.op.name in CALLS
            and n.attrs["f"].name in graph.library
            and n.attrs["f"].name not in recursive
            and not _kept(n, graph.library[n.attrs["f"].name])
        ]
        if not calls:
            break
        names = {n.name for n in out}
        replaced: dict[str, list[Node]] = {}
        results: dict[Endpoint, Endpoint] = {}
        for call in calls:
            body, ends = _body_of(call, graph.library[call.attrs["f"].name], names)
            replaced[call.name] = body
            names.update(n.name for n in body)
            results.update({Endpoint(call.name, i): e for i, e in enumerate(ends)})
        moved = {k: results.get(v, v) for k, v in moved.items()} | results
        grown: list[Node] = []
        for node in out:
            grown.extend(replaced.get(node.name, (node,)))
        out = [
            n.changed(inputs=_resolved(n.inputs, results))
            if any(e in results for e in n.inputs)
            else n
            for n in grown
        ]
        out = ordered(out)
    return out, {k: _resolved((v,), moved)[0] for k, v in moved.items()}


def _kept(call: Node, function: Function) -> bool:
    """Whether the user wants the call to stay one."""
    return bool(call.attrs.get("_noinline") or function.attrs.get("_noinline"))


def _resolved(ends: tuple[Endpoint, ...], new: dict[Endpoint, Endpoint]) -> tuple[Endpoint, ...]:
    out = []
    for end in ends:
        while end in new:
            end = new[end]
        out.append(end)
    return tuple(out)


def _body_of(call: Node, function: Function, taken: set[str]) -> tuple[list[Node], list[Endpoint]]:
    """Nodes of the body under the call's name, and what its outputs become.

    A NoOp of the call's own name follows all that must run, so control edges still work.
    """
    prefix = f"{call.name}/inline/"
    while any(prefix + n.name in taken for n in function.body.nodes):
        prefix += "_/"
    actual = {p: call.inputs[i] for i, p in enumerate(function.params)}

    def moved(end: Endpoint) -> Endpoint:
        return actual.get(end) or Endpoint(prefix + end.node, end.index)

    params = {p.node for p in function.params}
    out = []
    for node in function.body.nodes:
        if node.name in params:
            continue
        after = [prefix + n for n in node.after if n not in params]
        out.append(
            node.changed(
                name=prefix + node.name,
                inputs=[moved(e) for e in node.inputs],
                # what comes before the call comes before all of its body
                after=[*after, *call.after],
                device=call.device.merged(node.device),
            )
        )
    done = [prefix + n for n in function.control if n not in params]
    ends = [moved(e) for e in function.results]
    needed = {n.name for n in reachable(function.body.by_name, [e.node for e in function.results])}
    beside = [prefix + n for n in function.control if n not in needed]
    if beside:
        # results are there when all has run: whoever takes one needs the rest as well
        for i, (end, type_) in enumerate(zip(ends, function.result_types, strict=True)):
            name = unused(f"{prefix}result_{i}", taken, {n.name for n in out})
            attrs = {"T": type_.dtype}
            out.append(
                Node(name, lookup("Identity"), (end,), tuple(beside), attrs, (type_,), call.device,
                     call.source)
            )  # fmt: skip
            ends[i] = Endpoint(name)
    done += [e.node for e in ends]
    out.append(
        Node(
            call.name,
            lookup("NoOp"),
            (),
            tuple(dict.fromkeys(done + list(call.after))),
            {},
            (),
            call.device,
            call.source,
        )
    )
    return out, ends
