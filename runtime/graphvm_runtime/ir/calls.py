"""Counted loops and symbolic gradients as calls of functions: what all machines know.

A node keeps its name, its inputs and its outputs. The function that a `For` calls holds a `While`
and depends on nothing but the loop's body, so that derivatives may name values inside of it. The
derived function that a `SymbolicGradient` calls comes from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from graphvm_runtime.dtypes import DType, bool_, int32, string
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node
from graphvm_runtime.ops.registry import OpDef, lookup
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.shapes import TensorType, is_compatible

COUNTED, SYMBOLIC = "For", "SymbolicGradient"
_NUMBER, _TRUTH = TensorType(int32, ()), TensorType(bool_, ())
_BOUNDS = ("start", "limit", "delta")


def without_counted(graph: Graph) -> Graph:
    """The graph with its `For` nodes, in functions too, as calls."""
    library = dict(graph.library)
    nodes = as_calls(graph.nodes, library)
    for name, function in graph.library.items():
        body = as_calls(function.body.nodes, library)
        if body is not function.body.nodes:
            library[name] = function.with_nodes(body)
    if nodes is graph.nodes and len(library) == len(graph.library):
        return graph
    return replace(graph, nodes=tuple(nodes), library=library)


def as_calls(nodes: Sequence[Node], library: dict[str, Function]) -> Sequence[Node]:
    """The nodes with each `For` as a call of a function, which is put into the library."""
    if not any(n.op.name == COUNTED for n in nodes):
        return nodes
    return [_call(n, library) if n.op.name == COUNTED else n for n in nodes]


def call_op(function: Function) -> OpDef:
    """The op of calls of a function."""
    return lookup("StatefulPartitionedCall" if function.is_stateful else "PartitionedCall")


def symbolic_call(node: Node, derived: Function) -> Node:
    """A symbolic gradient as a call of the derived function."""
    op = call_op(derived)
    given = {**node.attrs, "f": FuncRef(derived.name)}
    defaults = {k: a.default for k, a in op.attrs.items() if k not in given}
    return node.changed(op=op, attrs=MappingProxyType({**defaults, **given}))


def without_symbolic(graph: Graph, derived: Mapping[str, str]) -> Graph:
    """The graph with the symbolic gradients whose derived function is known as calls.

    Args:
        graph: any graph.
        derived: names of derived functions of its library, by name of what they derive.
    """

    def called(nodes: Sequence[Node]) -> tuple[Node, ...]:
        return tuple(
            symbolic_call(n, graph.library[derived[n.attrs["f"].name]])
            if n.op.name == SYMBOLIC and derived.get(n.attrs["f"].name) else n
            for n in nodes
        )  # fmt: skip

    if not derived:
        return graph
    return graph.map_bodies(called)


def _call(node: Node, library: dict[str, Function]) -> Node:
    body = library[node.attrs["body"].name]
    name = f"{body.name}_for"
    if name not in library:
        _make(name, body, library)
    own = {k: v for k, v in node.attrs.items() if k not in ("T", "body")}
    attrs = {
        **own,
        "Tin": (int32, int32, int32, *node.attrs["T"]),
        "Tout": tuple(node.attrs["T"]),
        "f": FuncRef(name),
    }
    op = lookup("StatefulPartitionedCall")
    defaults = {k: a.default for k, a in op.attrs.items() if k not in attrs}
    return node.changed(op=op, attrs=MappingProxyType({**defaults, **attrs}))


class _Body:
    """A body being written."""

    def __init__(self, params: Mapping[str, TensorType]) -> None:
        self.nodes: list[Node] = []
        self.params = [
            self.add("_Arg", (), t, name, T=t.dtype, index=i)
            for i, (name, t) in enumerate(params.items())
        ]

    def add(
        self,
        op: str,
        inputs: Sequence[Endpoint],
        *outputs_and_name: TensorType | str,
        after: Sequence[str] = (),
        **attrs: AttrValue,
    ) -> Endpoint:
        """Output 0 of a new node; its types, then its name where it has one."""
        outputs = tuple(o for o in outputs_and_name if isinstance(o, TensorType))
        given = [o for o in outputs_and_name if isinstance(o, str)]
        name = given[0] if given else f"{op}_{len(self.nodes)}"
        declared = lookup(op)
        full = {k: a.default for k, a in declared.attrs.items()} | attrs
        node = Node(
            name, declared, tuple(inputs), tuple(after), MappingProxyType(full), outputs
        )  # fmt: skip
        self.nodes.append(node)
        return Endpoint(name)

    def constant(self, value: object, dtype: DType) -> Endpoint:
        """A scalar constant."""
        name = f"Const_{len(self.nodes)}"
        self.nodes.append(constant(name, value, dtype))
        return Endpoint(name)

    def compared(self, op: str, x: Endpoint, y: Endpoint) -> Endpoint:
        """A comparison of two numbers."""
        return self.add(op, (x, y), _TRUTH, T=int32)

    def function(
        self, name: str, results: Sequence[Endpoint], control: Sequence[str] = ()
    ) -> Function:
        """What is written so far."""
        names = tuple(f"output_{i}" for i in range(len(results)))
        body = Graph(tuple(self.nodes))
        return Function(name, tuple(self.params), tuple(results), names, body, tuple(control))


def _make(name: str, body: Function, library: dict[str, Function]) -> None:
    """Writes the function of a loop, with the condition and the body of its `While`."""
    states = [
        # a variable whose shape changes from trip to trip has none
        t if is_compatible(t.shape, r.shape) and t.shape == r.shape else TensorType(t.dtype, None)
        for t, r in zip(body.param_types[1:], body.result_types, strict=True)
    ]
    kinds = tuple(t.dtype for t in states)
    params = dict.fromkeys(_BOUNDS, _NUMBER) | {f"state_{i}": t for i, t in enumerate(states)}

    test = _Body(params)
    at, limit, delta = test.params[:3]
    zero = test.constant(0, int32)
    go_on = test.add(
        "SelectV2",
        (
            test.compared("Greater", delta, zero),
            test.compared("Less", at, limit),
            test.compared("Greater", at, limit),
        ),
        _TRUTH,
        T=bool_,
    )
    library[f"{name}_cond"] = test.function(f"{name}_cond", [go_on])

    inner = _Body(params)
    at, limit, delta, *variables = inner.params
    inner.add(
        "StatefulPartitionedCall", (at, *variables), *body.result_types, "body",
        f=FuncRef(body.name), Tin=(int32, *kinds), Tout=kinds,
    )  # fmt: skip
    step = inner.add("AddV2", (at, delta), _NUMBER, T=int32)
    results = [step, limit, delta, *(Endpoint("body", i) for i in range(len(kinds)))]
    library[f"{name}_body"] = inner.function(f"{name}_body", results, ["body"])

    whole = _Body(params)
    at, limit, delta = whole.params[:3]
    zero = whole.constant(0, int32)
    allowed = [
        whole.add("LogicalAnd", (whole.compared(sign, delta, zero),
                                 whole.compared(way, at, limit)), _TRUTH)
        for sign, way in (("Greater", "LessEqual"), ("Less", "GreaterEqual"), ("Equal", "Equal"))
    ]  # fmt: skip
    some = whole.add("LogicalOr", (allowed[0], allowed[1]), _TRUTH)
    some = whole.add("LogicalOr", (some, allowed[2]), _TRUTH)
    said = whole.constant(b"start, limit and delta lead nowhere: ", string)
    whole.add(
        "Assert", (some, said, at, limit, delta), "check", T=(string, int32, int32, int32)
    )  # fmt: skip
    types = (_NUMBER, _NUMBER, _NUMBER, *states)
    whole.add(
        "While", whole.params, *types, "loop", after=["check"],
        T=tuple(t.dtype for t in types), cond=FuncRef(f"{name}_cond"),
        body=FuncRef(f"{name}_body"), output_shapes=tuple(t.shape for t in types),
    )  # fmt: skip
    ends = [Endpoint("loop", i + 3) for i in range(len(states))]
    library[name] = whole.function(name, ends, ["check", "loop"])
