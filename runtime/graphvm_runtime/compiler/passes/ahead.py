"""Products with the elements of a sequence, made for the whole sequence before the loop.

A recurrent network multiplies `[x_t, h]` by a matrix in each iteration. Of that, `x_t` times its
rows of the matrix needs nothing that the loop makes: for all t together it is one product, which
is far cheaper than many thin ones. Source: Appleyard et al. 2016, arXiv:1604.01946, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from graphvm_runtime.compiler.request import Request
from graphvm_runtime.dtypes import float32, float64, int32, resource, variant
from graphvm_runtime.ir.bodies import passes_through
from graphvm_runtime.ir.effects import Traces
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, ordered
from graphvm_runtime.ir.levels import Level
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.functional import LOOPS
from graphvm_runtime.ops.registry import FuncRef
from graphvm_runtime.shapes import TensorType, is_known

FEWEST = 4  # elements of a sequence
LEAST_WORK = 1 << 20  # multiplications an iteration; below them a list costs more than it saves
MOST_BYTES = 1 << 26  # of all products together

_LIST = TensorType(variant, ())


@dataclass(frozen=True, slots=True)
class Ahead:
    """Takes products with elements of a sequence out of loops that run through it.

    They are rounded otherwise than the product of the whole row was.
    """

    name: str = "ahead"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with such products ahead of its loops, bodies included."""
        library = dict(graph.library)
        for name, function in graph.library.items():
            nodes = _Loops(function.body.nodes, library).rewritten()
            if nodes is not None:
                library[name] = replace(function, body=replace(function.body, nodes=nodes))
        nodes = _Loops(graph.nodes, library).rewritten()
        if nodes is None and library == dict(graph.library):
            return graph, request
        return replace(graph, nodes=nodes or graph.nodes, library=library), request


@dataclass(frozen=True, slots=True)
class _Product:
    """A product of a loop's body to take apart.

    Attributes:
        node: the MatMul.
        read: reads the element of the sequence.
        sequence: the whole sequence, outside.
        width: of an element: so many rows of the matrix belong to it.
        first: they are the first rows, not the last.
        rest: what the other rows are multiplied by; None where there are none.
        matrix: outside; a resource where each iteration reads a variable.
    """

    node: Node
    read: Node
    sequence: Endpoint
    width: int
    first: bool
    rest: Endpoint | None
    matrix: Endpoint


class _Loops:
    """The loops among some nodes."""

    def __init__(self, nodes: Sequence[Node], library: dict[str, Function]) -> None:
        self.outer = Level({n.name: n for n in nodes}, [], [], [], ())
        self.library = library

    def rewritten(self) -> tuple[Node, ...] | None:
        """The nodes with products ahead of the loops; None where there are none."""
        for node in list(self.outer.nodes.values()):
            if node.op.name in LOOPS:
                found = self._products(node)
                if found:
                    self._take_out(node.name, found)
        return tuple(ordered(self.outer.nodes.values())) if self.outer.changed else None

    # -- which -----------------------------------------------------------------------------

    def _products(self, loop: Node) -> list[_Product]:
        body = self.library[loop.attrs["body"].name]
        cond = self.library[loop.attrs["cond"].name]
        nodes = body.body.by_name
        candidates = [n for n in nodes.values() if n.op.name == "MatMul"]
        if not candidates:
            return []
        length = self._trips(loop, cond, body)
        if length is None:
            return []
        counter, trips = length
        sequences = {
            param: whole
            for i, param in enumerate(body.params)
            if (whole := self._sequence(loop, body, i, trips)) is not None
        }
        traces = Traces(self.library)
        writes = any(traces.left_by(n) for f in (body, cond) for n in f.body.nodes)
        out = []
        for node in candidates:
            found = self._product(loop, body, node, counter, sequences, not writes)
            if found is not None and self._pays(found, trips):
                out.append(found)
        return out

    def _trips(self, loop: Node, cond: Function, body: Function) -> tuple[Endpoint, int] | None:
        """The parameter that counts from 0 in ones, and up to what constant."""
        test = _behind(cond.body.by_name, cond.results[0])
        if test.op.name != "Less":
            return None
        inside = cond.body.by_name
        params = {p: i for i, p in enumerate(cond.params)}
        place = params.get(_end(inside, test.inputs[0]))
        limit = _end(inside, test.inputs[1])
        if place is None:
            return None
        bound = _constant(inside, limit)
        if bound is None and limit in params and passes_through(body, params[limit]):
            bound = _constant(self.outer.nodes, loop.inputs[params[limit]])
        nodes, counter = body.body.by_name, body.params[place]
        step = _behind(nodes, body.results[place])
        counts = (
            step.op.name in ("Add", "AddV2")
            and counter in (_end(nodes, e) for e in step.inputs)
            and 1 in (_constant(nodes, e) for e in step.inputs)
            and _constant(self.outer.nodes, loop.inputs[place]) == 0
        )
        return (counter, bound) if counts and bound is not None else None

    def _sequence(self, loop: Node, body: Function, index: int, trips: int) -> Endpoint | None:
        """The tensor whose elements a list that the loop only reads holds."""
        if body.param_types[index].dtype is not variant or not passes_through(body, index):
            return None
        made = _behind(self.outer.nodes, loop.inputs[index])
        if made.op.name != "TensorListFromTensor":
            return None
        shape = self.outer.type_of(made.inputs[0]).shape
        known = shape is not None and len(shape) == 3 and is_known(shape) and shape[0] == trips
        return made.inputs[0] if known else None

    def _product(
        self,
        loop: Node,
        body: Function,
        node: Node,
        counter: Endpoint,
        sequences: Mapping[Endpoint, Endpoint],
        reads_stay: bool,
    ) -> _Product | None:
        nodes = body.body.by_name
        if node.attrs["transpose_a"] or node.attrs["transpose_b"] or node.after:
            return None
        matrix = self._matrix(loop, body, node.inputs[1], reads_stay)
        if matrix is None:
            return None
        row = _behind(nodes, node.inputs[0])
        parts = [node.inputs[0]]
        if row.op.name == "ConcatV2":
            if len(row.inputs) != 3 or _constant(nodes, row.inputs[-1]) not in (1, -1):
                return None
            parts = list(row.inputs[:2])
        for place, part in enumerate(parts):
            read = _behind(nodes, part)
            if (
                read.op.name == "TensorListGetItem"
                and _end(nodes, read.inputs[1]) == counter
                and _end(nodes, read.inputs[0]) in sequences
                and not read.after
            ):
                sequence = sequences[_end(nodes, read.inputs[0])]
                shape = self.outer.type_of(sequence).shape
                assert shape is not None
                width = shape[2]
                assert width is not None
                rest = None if len(parts) == 1 else parts[1 - place]
                return _Product(node, read, sequence, width, not place, rest, matrix)
        return None

    def _matrix(
        self, loop: Node, body: Function, end: Endpoint, reads_stay: bool
    ) -> Endpoint | None:
        """What stays the same in all iterations, as it is called outside."""
        nodes = body.body.by_name
        params = {p: i for i, p in enumerate(body.params)}
        read = _behind(nodes, end)
        at = _end(nodes, end)
        if read.op.name == "ReadVariableOp" and reads_stay and not read.after:
            at = _end(nodes, read.inputs[0])
        if at not in params or not passes_through(body, params[at]):
            return None
        return loop.inputs[params[at]]

    def _pays(self, product: _Product, trips: int) -> bool:
        type_ = product.node.outputs[0]
        if type_.dtype not in (float32, float64) or not is_known(type_.shape):
            return False
        rows, columns = (d or 0 for d in type_.shape or ())
        size = trips * rows * columns * type_.dtype.numpy.itemsize
        return (
            trips >= FEWEST
            and rows * columns * product.width >= LEAST_WORK
            and size <= MOST_BYTES
            and self.outer.type_of(product.sequence).shape == (trips, rows, product.width)
        )

    # -- out of the loop -------------------------------------------------------------------

    def _take_out(self, name: str, products: Sequence[_Product]) -> None:
        loop = self.outer.nodes[name]
        body = self.library[loop.attrs["body"].name]
        cond = self.library[loop.attrs["cond"].name]
        inner, test = _level(body), _level(cond)
        for product in products:
            self._take_out_one(name, inner, test, product)
        loop = self.outer.nodes[name]
        attrs = dict(loop.attrs)
        for attr, level, old in (("body", inner, body), ("cond", test, cond)):
            attrs[attr] = FuncRef(self._function(level, old), loop.attrs[attr].attrs)
        self.outer.nodes[name] = loop.changed(attrs=attrs)

    def _take_out_one(self, loop: str, body: Level, cond: Level, product: _Product) -> None:
        outer, node = self.outer, product.node
        type_ = node.outputs[0]
        device, kind = node.device, {"T": type_.dtype}
        prefix = f"{loop}/{node.name}/ahead"
        trips, rows, width = (d or 0 for d in outer.type_of(product.sequence).shape or ())
        columns = (type_.shape or (0, 0))[1] or 0
        matrix = product.matrix
        if outer.type_of(matrix).dtype.base is resource:
            read = next(
                n for n in body.nodes.values()
                if Endpoint(n.name) == _end(body.nodes, node.inputs[1])
            )  # fmt: skip
            matrix = outer.add(f"{prefix}/read", "ReadVariableOp", [matrix], read.attrs,
                               read.outputs, device)  # fmt: skip
            late = outer.nodes[matrix.node].changed(after=outer.nodes[loop].after)
            outer.nodes[matrix.node] = late

        def of_matrix(what: str, begin: int, size: int) -> Endpoint:
            ends = [
                outer.constant(f"{prefix}/{what}/{n}", v)
                for n, v in (("begin", [begin, 0]), ("size", [size, columns]))
            ]
            return outer.add(
                f"{prefix}/{what}", "Slice", [matrix, *ends], {**kind, "Index": int32},
                [TensorType(type_.dtype, (size, columns))], device,
            )  # fmt: skip

        def reshaped(what: str, value: Endpoint, shape: tuple[int, ...]) -> Endpoint:
            to = outer.constant(f"{prefix}/{what}/shape", shape)
            return outer.add(
                f"{prefix}/{what}", "Reshape", [value, to], {**kind, "Tshape": int32},
                [TensorType(type_.dtype, shape)], device,
            )  # fmt: skip

        height = (outer.type_of(matrix).shape or (width,))[0] or width
        other = height - width
        flat = reshaped("rows", product.sequence, (trips * rows, width))
        mine = matrix if not other else of_matrix("matrix", 0 if product.first else other, width)
        found = outer.add(
            f"{prefix}/MatMul", "MatMul", [flat, mine], kind,
            [TensorType(type_.dtype, (trips * rows, columns))], device,
        )  # fmt: skip
        found = reshaped("sequence", found, (trips, rows, columns))
        element = outer.constant(f"{prefix}/element_shape", [rows, columns])
        listed = outer.add(
            f"{prefix}/list", "TensorListFromTensor", [found, element],
            {"element_dtype": type_.dtype, "shape_type": int32}, [_LIST], device,
        )  # fmt: skip
        held = self._variable(loop, body, cond, listed, _LIST, f"{node.name}/ahead")
        shape = body.constant(f"{node.name}/ahead/element_shape", [rows, columns])
        item = body.add(
            f"{node.name}/ahead/item", "TensorListGetItem", [held, product.read.inputs[1], shape],
            {"element_dtype": type_.dtype}, [type_], device,
        )  # fmt: skip
        if product.rest is None:
            body.nodes[node.name] = node.changed(op=lookup("Identity"), inputs=[item], attrs=kind)
            return
        below = of_matrix("rest", width if product.first else 0, other)
        small = TensorType(type_.dtype, (other, columns))
        below = self._variable(loop, body, cond, below, small, f"{node.name}/rest")
        rest = body.add(f"{node.name}/of_rest", "MatMul", [product.rest, below], kind,
                        [type_], device)  # fmt: skip
        body.nodes[node.name] = node.changed(op=lookup("AddV2"), inputs=[rest, item], attrs=kind)

    def _variable(
        self, loop: str, body: Level, cond: Level, start: Endpoint, type_: TensorType, name: str
    ) -> Endpoint:
        """A new variable that all iterations pass through, inside the body."""
        cond.param(name, type_)
        param = body.param(name, type_)
        body.result(param.node, param)
        node = self.outer.nodes[loop]
        attrs = {**node.attrs, "T": (*node.attrs["T"], type_.dtype)}
        if attrs.get("output_shapes"):
            attrs["output_shapes"] = (*attrs["output_shapes"], type_.shape)
        self.outer.nodes[loop] = node.changed(
            inputs=(*node.inputs, start), outputs=(*node.outputs, type_), attrs=attrs
        )
        return param

    def _function(self, level: Level, old: Function) -> str:
        """A new function for a body."""
        name, number = f"{old.name}_ahead", 1
        while name in self.library:
            name, number = f"{old.name}_ahead_{number}", number + 1
        self.library[name] = replace(
            old,
            name=name,
            params=tuple(level.params),
            results=tuple(level.results),
            result_names=tuple(level.result_names),
            body=replace(old.body, nodes=tuple(ordered(level.nodes.values()))),
        )
        return name


def _level(function: Function) -> Level:
    return Level(
        dict(function.body.by_name), list(function.params), list(function.results),
        list(function.result_names), function.control, function,
    )  # fmt: skip


def _end(nodes: Mapping[str, Node], end: Endpoint) -> Endpoint:
    """An endpoint behind all that hands it on."""
    while nodes[end.node].op.name == "Identity":
        end = nodes[end.node].inputs[0]
    return end


def _behind(nodes: Mapping[str, Node], end: Endpoint) -> Node:
    return nodes[_end(nodes, end).node]


def _constant(nodes: Mapping[str, Node], end: Endpoint) -> int | None:
    """The value of a whole number that is known."""
    node = _behind(nodes, end)
    if node.op.name != "Const":
        return None
    value = node.attrs["value"]
    return int(value) if value.size == 1 and value.dtype.kind in "iu" else None
