"""Derived control flow nodes: how they are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from graphvm.functions.function import FuncGraph
from graphvm.graph.graph import Tensor
from graphvm.rules.nodes import integers, node
from graphvm.transforms.scopes import BodyScope, Scope, Walk
from graphvm_runtime import dtypes
from graphvm_runtime.ir.derivatives.saved import COUNTER, FAMILY, ORDER, TRIPS
from graphvm_runtime.ir.graph import Function, Node
from graphvm_runtime.ops.functional import CASES, LOOPS
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.shapes import TensorType, is_compatible, widened

_INTEGER = TensorType(dtypes.int32, ())


class DerivedRegion:
    """A derived node while it is built; see `graphvm.rules.registry.Region`.

    Attributes:
        derivation: the walk that it belongs to.
        node: the node whose derivative it is.
        scope: where that node is.
        after: nodes around the new one whose inner values its bodies name.
        name: of the new node, once it is there.
    """

    def __init__(self, derivation: Walk, node: Node, scope: Scope) -> None:
        self.derivation = derivation
        self.node = node
        self.scope = scope
        self.after: set[str] = set()
        self.name = ""

    def body(self, attr: str, name: str) -> BodyScope:
        """See `Region`."""
        body = BodyScope(self, attr, name)
        if self.node.op.name in LOOPS:
            body.add_arg(_INTEGER, "count")
            body.add_arg(_INTEGER, "trips")
        return body

    def loop(
        self,
        body: BodyScope,
        results: Sequence[Tensor],
        inputs: Sequence[Tensor],
        trips: Tensor,
        order: int,
    ) -> list[Tensor]:
        """See `Region`."""
        graph = body.graph
        with body:
            params = graph.inputs
            step = node("AddV2", (params[0], integers(order)))
            outs = [step, params[1], *(graph.capture(t) for t in results)]
            for out, param in zip(outs, params, strict=False):
                _refined(out, param)
            captures = list(graph.captures)
        function = graph.finish([*outs, *(inner for _, inner in captures)])
        condition = FuncGraph(_condition_name(graph.name), graph.outer)
        with condition.as_default():
            for param in graph.inputs:
                condition.add_arg(param.type.dtype, param.type.shape, param.op.name,
                                  graph.handle_of(param))  # fmt: skip
            count, last = condition.inputs[:2]
            go_on = (
                node("Less", (count, last)) if order > 0
                else node("GreaterEqual", (count, integers(0)))
            )  # fmt: skip
        condition_function = condition.finish([go_on])
        start = integers(0) if order > 0 else node("Sub", (trips, integers(1)))
        attrs: dict[str, AttrValue] = {
            "cond": FuncRef(condition_function.name),
            "body": FuncRef(function.name),
            "output_shapes": tuple(t.type.shape for t in graph.inputs),
            "parallel_iterations": self.node.attrs.get("parallel_iterations", 10),
            ORDER: order,
            COUNTER: 0,
            TRIPS: 1,
        }
        given = [start, trips, *inputs, *(outer for outer, _ in captures)]
        made = self._add("While", (given,), attrs, [function], "while")
        return made[2 : 2 + len(inputs)]

    def branch(
        self, predicate: Tensor, bodies: Sequence[tuple[BodyScope, Sequence[Tensor]]]
    ) -> list[Tensor]:
        """See `Region`."""
        results = [[b.graph.capture(t) for t in outs] for b, outs in bodies]
        outer: dict[Tensor, None] = {}
        for body, _ in bodies:
            outer.update((tensor, None) for tensor, _ in body.graph.captures)
        functions = []
        for (body, _), outs in zip(bodies, results, strict=True):
            graph = body.graph
            inner = {tensor: graph.capture(tensor) for tensor in outer}
            graph.captures[:] = [(tensor, inner[tensor]) for tensor in outer]
            functions.append(graph.finish(outs))
        types = list(zip(*(f.result_types for f in functions), strict=True))
        attrs: dict[str, AttrValue] = {
            "Tout": tuple(each[0].dtype for each in types),
            "output_shapes": tuple(reduce(widened, [t.shape for t in each]) for each in types),
        }
        refs = tuple(FuncRef(f.name) for f in functions)
        if self.node.op.name in CASES:
            attrs["branches"] = refs
            return self._add("Case", (predicate, list(outer)), attrs, functions, "case")
        attrs["then_branch"], attrs["else_branch"] = refs
        return self._add("If", (predicate, list(outer)), attrs, functions, "cond")

    def call(self, body: BodyScope, results: Sequence[Tensor]) -> list[Tensor]:
        """See `Region`."""
        outs = [body.graph.capture(t) for t in results]
        function = body.graph.finish(outs)
        attrs: dict[str, AttrValue] = {
            "f": FuncRef(function.name),
            "Tout": tuple(t.dtype for t in function.result_types),
            "_output_shapes": tuple(t.shape for t in function.result_types),
        }
        given = [tensor for tensor, _ in body.graph.captures]
        return self._add("PartitionedCall", (given,), attrs, [function], "call")

    def _add(
        self,
        op: str,
        inputs: Sequence[Tensor | Sequence[Tensor]],
        attrs: Mapping[str, AttrValue],
        functions: Sequence[Function],
        name: str,
    ) -> list[Tensor]:
        stateful = any(
            n.op.is_stateful and not n.op.internal for f in functions for n in f.body.nodes
        )
        if op == "PartitionedCall":
            op = "StatefulPartitionedCall" if stateful else op
        elif not stateful:
            op = f"Stateless{op}"
        family = self.node.attrs.get(FAMILY, self.node.name.encode())
        after = [o for n in sorted(self.after) for o in self.scope.operations(n)]
        made = self.scope.graph.add_node(op, inputs, {**attrs, FAMILY: family}, name, after)
        self.name = made.name
        return made.outputs


def _condition_name(name: str) -> str:
    return name.replace("body", "cond") if "body" in name else f"{name}_cond"


def _refined(tensor: Tensor, like: Tensor) -> None:
    """A new state has the shape of the state before, where its own is less precise."""
    if is_compatible(tensor.type.shape, like.type.shape):
        tensor.set_shape(like.type.shape)
