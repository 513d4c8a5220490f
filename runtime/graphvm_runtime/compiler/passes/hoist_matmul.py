"""Hoists input projections: one product for a whole sequence before a loop, not one a step.

A recurrent network multiplies `[x_t, h]` by a matrix in each iteration. Of that, `x_t` times its
rows of the matrix needs nothing that the loop makes: for all t together it is one product, which
is far cheaper than many thin ones. Source: Appleyard et al. 2016, arXiv:1604.01946, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from graphvm_runtime.compiler.induction import induction
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.dtypes import float32, float64, int32, resource, variant
from graphvm_runtime.ir.bodies import is_loop_invariant, postorder
from graphvm_runtime.ir.derivatives.levels import BodyEditor
from graphvm_runtime.ir.effects import SideEffects
from graphvm_runtime.ir.graph import Endpoint, Function, Graph, Node, ordered, unused
from graphvm_runtime.ops import lookup
from graphvm_runtime.ops.functional import LOOPS
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.shapes import TensorType, bytes_of

FEWEST = 4  # elements of a sequence
LEAST_WORK = 1 << 20  # multiplications an iteration; below them a list costs more than it saves
MOST_BYTES = 1 << 26  # of all products of one loop

_LIST = TensorType(variant, ())


@dataclass(frozen=True, slots=True)
class HoistMatmul:
    """Takes products with elements of a sequence out of loops that run through it.

    They are rounded otherwise than the product of the whole row was.
    """

    name: str = "hoist-matmul"

    def __call__(self, graph: Graph, request: Request) -> tuple[Graph, Request]:
        """The graph with such products ahead of its loops, bodies included."""
        library = dict(graph.library)

        def callees(name: str) -> list[str]:
            return [ref.name for node in library[name].body.nodes for ref in node.functions()]

        # a body is copied as it is by then, so its own loops come first
        for name in postorder(graph.library, callees):
            nodes = _rewritten(library[name].body.nodes, library)
            if nodes is not None:
                body = replace(library[name].body, nodes=nodes)
                library[name] = replace(library[name], body=body)
        nodes = _rewritten(graph.nodes, library)
        if nodes is None and len(library) == len(graph.library):
            return graph, request
        return replace(graph, nodes=nodes or graph.nodes, library=library), request


def _rewritten(nodes: Sequence[Node], library: dict[str, Function]) -> tuple[Node, ...] | None:
    """The nodes with products ahead of the loops among them; None where there are none."""
    outer = BodyEditor({n.name: n for n in nodes}, [], [], [], ())
    for node in nodes:
        if node.op.name in LOOPS:
            products = _Candidates(outer, node, library).products()
            if products:
                _Move(outer, node, library).all(products)
    return tuple(ordered(outer.nodes.values())) if outer.changed else None


@dataclass(frozen=True, slots=True)
class _Product:
    """A product of a loop's body to take apart.

    Attributes:
        node: the MatMul, `[rows, height] @ [height, columns]`.
        index: number of the element, in the body.
        sequence: the whole sequence outside, `[trips, rows, width]`.
        first: the element meets the first rows of the matrix, not the last.
        rest: what the other rows are multiplied by; None where there are none.
        matrix: outside; a resource where each iteration reads a variable.
        read: reads that variable.
    """

    node: Node
    index: Endpoint
    sequence: Endpoint
    trips: int
    rows: int
    width: int
    height: int
    columns: int
    first: bool
    rest: Endpoint | None
    matrix: Endpoint
    read: Node | None

    @property
    def type(self) -> TensorType:
        """Of the products of all elements."""
        return TensorType(self.node.outputs[0].dtype, (self.trips, self.rows, self.columns))


class _Candidates:
    """Finds the products of one loop that can be taken out and are worth it."""

    def __init__(self, outer: BodyEditor, loop: Node, library: Mapping[str, Function]) -> None:
        self.outer = outer
        self.loop = loop
        self.library = library
        self.body = library[loop.attrs["body"].name]
        self.cond = library[loop.attrs["cond"].name]
        self.nodes = self.body.body.by_name
        self.places = {p: i for i, p in enumerate(self.body.params)}

    def products(self) -> list[_Product]:
        """Those that together stay within the memory that is allowed."""
        found = [n for n in self.nodes.values() if n.op.name == "MatMul"]
        counted = self._counted() if found else None
        if counted is None:
            return []
        counter, trips = counted
        out, size = [], 0
        for node in found:
            product = self._product(node, counter, trips)
            if product is not None:
                size += bytes_of(product.type) or 0
                if size <= MOST_BYTES:
                    out.append(product)
        return out

    def _counted(self) -> tuple[Endpoint, int] | None:
        """The parameter that counts from 0 in ones, and up to what constant."""
        cond, body = _Region(self.cond), _Region(self.body)
        found = induction(cond, body, cond.results[0])
        if found is None or found.sign != "<" or found.step != 1:
            return None
        bound = found.bound
        if bound is None:
            bound = _constant(self.outer.nodes, self.loop.inputs[found.bound_place])
        start = _constant(self.outer.nodes, self.loop.inputs[found.place])
        return (body.params[found.place], bound) if start == 0 and bound is not None else None

    def _product(self, node: Node, counter: Endpoint, trips: int) -> _Product | None:
        if node.attrs["transpose_a"] or node.attrs["transpose_b"] or node.after:
            return None
        row = _captured_tensors(self.nodes, node.inputs[0])
        parts = [node.inputs[0]]
        if row.op.name == "ConcatV2":
            if (
                row.after
                or len(row.inputs) != 3
                or _constant(self.nodes, row.inputs[2]) not in (1, -1)
            ):
                return None
            parts = list(row.inputs[:2])
        matrix = self._matrix(node.inputs[1])
        if matrix is None:
            return None
        outside, read, shape = matrix
        for place, part in enumerate(parts):
            sequence = self._sequence(part, counter)
            if sequence is None:
                continue
            whole = self.outer.type_of(sequence).shape
            match whole, shape, node.outputs[0]:
                case (
                    (int(length), int(rows), int(width)),
                    (int(height), int(columns)),
                    TensorType(dtype=dtype),
                ):
                    pays = (
                        length == trips >= FEWEST
                        and dtype in (float32, float64)
                        and rows * width * columns >= LEAST_WORK
                        and (width == height) == (len(parts) == 1)
                    )
                    if pays:
                        rest = None if len(parts) == 1 else parts[1 - place]
                        return _Product(
                            node, counter, sequence, trips, rows, width, height, columns,
                            not place, rest, outside, read,
                        )  # fmt: skip
        return None

    def _sequence(self, part: Endpoint, counter: Endpoint) -> Endpoint | None:
        """The tensor, outside, of which each iteration reads the element of its number."""
        item = _captured_tensors(self.nodes, part)
        if item.op.name != "TensorListGetItem" or item.after:
            return None
        element_shape = _captured_tensors(self.nodes, item.inputs[2])
        if element_shape.op.name != "Const" or element_shape.after:
            return None
        place = self.places.get(_end(self.nodes, item.inputs[0]))
        if place is None or _end(self.nodes, item.inputs[1]) != counter:
            return None
        if not is_loop_invariant(self.body, place):
            return None
        made = _captured_tensors(self.outer.nodes, self.loop.inputs[place])
        return made.inputs[0] if made.op.name == "TensorListFromTensor" else None

    def _matrix(self, end: Endpoint) -> tuple[Endpoint, Node | None, object] | None:
        """What is the same in all iterations: outside, what reads it there, its shape."""
        read: Node | None = _captured_tensors(self.nodes, end)
        at = _end(self.nodes, end)
        shape = self.body.body.type_of(at).shape
        if read is not None and read.op.name == "ReadVariableOp":
            if read.after or self._leaves_traces():
                return None
            at = _end(self.nodes, read.inputs[0])
        else:
            read = None
        place = self.places.get(at)
        if place is None or not is_loop_invariant(self.body, place):
            return None
        outside = self.loop.inputs[place]
        if (self.outer.type_of(outside).dtype.base is resource) != (read is not None):
            return None
        return outside, read, shape

    def _leaves_traces(self) -> bool:
        """Whether an iteration may change a variable."""
        traces = SideEffects(self.library)
        return any(traces.left_by(n) for f in (self.body, self.cond) for n in f.body.nodes)


class _Move:
    """Moves products of one loop out of it."""

    def __init__(self, outer: BodyEditor, loop: Node, library: dict[str, Function]) -> None:
        self.outer = outer
        self.name = loop.name
        self.library = library
        self.functions = {k: library[loop.attrs[k].name] for k in ("cond", "body")}
        self.cond, self.body = (BodyEditor.of(self.functions[k]) for k in ("cond", "body"))
        # all that the loop waits for may change what a variable holds
        self.before = tuple(dict.fromkeys((*loop.after, *(e.node for e in loop.inputs))))

    def all(self, products: Sequence[_Product]) -> None:
        """Moves them and gives the loop bodies without them."""
        for product in products:
            self._take_out(product)
        loop = self.outer.nodes[self.name]
        attrs = dict(loop.attrs)
        for key, level in (("cond", self.cond), ("body", self.body)):
            attrs[key] = FuncRef(self._function(level, self.functions[key]), attrs[key].attrs)
        self.outer.nodes[self.name] = loop.changed(attrs=attrs)

    def _take_out(self, product: _Product) -> None:
        node, dtype = product.node, product.node.outputs[0].dtype
        kind: dict[str, AttrValue] = {"T": dtype}
        trips, rows, columns = product.trips, product.rows, product.columns
        width, height = product.width, product.height
        other = height - width
        prefix = f"{self.name}/{node.name}/ahead"

        def outside(
            what: str, op: str, inputs: Sequence[Endpoint], shape: tuple[int, ...], **attrs: object
        ) -> Endpoint:
            return self.outer.add(
                f"{prefix}/{what}", op, inputs, {**kind, **attrs},
                [TensorType(dtype, shape)], node.device, node.source,
            )  # fmt: skip

        def rows_of(matrix: Endpoint, what: str, begin: int, size: int) -> Endpoint:
            ends = [
                self.outer.constant(f"{prefix}/{what}/{n}", v)
                for n, v in (("begin", [begin, 0]), ("size", [size, columns]))
            ]
            return outside(what, "Slice", [matrix, *ends], (size, columns), Index=int32)

        matrix = product.matrix
        if product.read is not None:
            matrix = self._read(f"{prefix}/read", product.read, matrix)
        outer = self.outer
        flat = outside(
            "rows", "Reshape",
            [product.sequence, outer.constant(f"{prefix}/rows/shape", [-1, width])],
            (trips * rows, width), Tshape=int32,
        )  # fmt: skip
        mine = matrix
        if other:
            mine = rows_of(matrix, "matrix", 0 if product.first else other, width)
        found = outside("MatMul", "MatMul", [flat, mine], (trips * rows, columns))
        found = outside(
            "sequence", "Reshape", [found, self._shape(prefix, product)],
            (trips, rows, columns), Tshape=int32,
        )  # fmt: skip
        attrs: dict[str, AttrValue] = {"element_dtype": dtype, "shape_type": int32}
        listed = outer.add(
            f"{prefix}/list", "TensorListFromTensor",
            [found, outer.constant(f"{prefix}/element_shape", -1)], attrs,
            [_LIST], node.device, node.source,
        )  # fmt: skip
        held = self._variable(listed, _LIST, f"{node.name}/ahead")
        shape = self.body.constant(f"{node.name}/ahead/element_shape", -1)
        item = self.body.add(
            f"{node.name}/ahead/item", "TensorListGetItem", [held, product.index, shape],
            {"element_dtype": dtype}, node.outputs, node.device, node.source,
        )  # fmt: skip
        changed = node.changed(op=lookup("Identity"), inputs=[item], attrs=kind)
        if product.rest is not None:
            below = rows_of(matrix, "rest", width if product.first else 0, other)
            below = self._variable(below, TensorType(dtype, (other, columns)), f"{node.name}/rest")
            rest = self.body.add(f"{node.name}/of_rest", "MatMul", [product.rest, below], kind,
                                 node.outputs, node.device, node.source)  # fmt: skip
            changed = node.changed(op=lookup("AddV2"), inputs=[rest, item], attrs=kind)
        self.body.nodes[node.name] = changed

    def _shape(self, prefix: str, product: _Product) -> Endpoint:
        """Shape of the products: what a user said of the sequence's own need not be true."""
        outer, device, source = self.outer, product.node.device, product.node.source
        dtype = product.node.outputs[0].dtype
        shape = outer.add(
            f"{prefix}/shape", "Shape", [product.sequence], {"T": dtype, "out_type": int32},
            [TensorType(int32, (3,))], device, source,
        )  # fmt: skip
        begin, size = (outer.constant(f"{prefix}/shape/{n}", [v])
                       for n, v in (("begin", 0), ("size", 2)))  # fmt: skip
        kept = outer.add(
            f"{prefix}/kept", "Slice", [shape, begin, size], {"T": int32, "Index": int32},
            [TensorType(int32, (2,))], device, source,
        )  # fmt: skip
        columns = outer.constant(f"{prefix}/columns", [product.columns])
        axis = outer.constant(f"{prefix}/axis", 0)
        return outer.add(
            f"{prefix}/shape_after", "ConcatV2", [kept, columns, axis],
            {"T": int32, "N": 2, "Tidx": int32}, [TensorType(int32, (3,))], device, source,
        )  # fmt: skip

    def _read(self, name: str, read: Node, handle: Endpoint) -> Endpoint:
        """A read of a variable before the loop, with the value that it has in the loop."""
        found = self.outer.add(name, read.op.name, [handle], read.attrs, read.outputs,
                               read.device, read.source)  # fmt: skip
        late = self.outer.nodes[found.node].changed(after=self.before)
        self.outer.nodes[found.node] = late
        return found

    def _variable(self, start: Endpoint, type_: TensorType, name: str) -> Endpoint:
        """A new variable that all iterations pass through, inside the body."""
        self.cond.param(name, type_)
        param = self.body.param(name, type_)
        self.body.result(param.node, param)
        loop = self.outer.nodes[self.name]
        attrs = {**loop.attrs, "T": (*loop.attrs["T"], type_.dtype)}
        if attrs.get("output_shapes"):
            attrs["output_shapes"] = (*attrs["output_shapes"], type_.shape)
        self.outer.nodes[self.name] = loop.changed(
            inputs=(*loop.inputs, start), outputs=(*loop.outputs, type_), attrs=attrs
        )
        return param

    def _function(self, level: BodyEditor, old: Function) -> str:
        """A new function for a body."""
        name = unused(f"{old.name}_ahead", self.library)
        self.library[name] = replace(
            old,
            name=name,
            params=tuple(level.params),
            results=tuple(level.results),
            result_names=tuple(level.result_names),
            body=replace(old.body, nodes=tuple(ordered(level.nodes.values()))),
        )
        return name


class _Region:
    """A function as a region of a loop; endpoints are its values, behind what hands them on."""

    def __init__(self, function: Function) -> None:
        self.nodes = function.body.by_name
        self.params = function.params
        self.results = tuple(_end(self.nodes, e) for e in function.results)

    def made_by(self, value: Endpoint) -> tuple[str, Sequence[Endpoint]] | None:
        """The op that makes a value, with its inputs."""
        node = self.nodes[value.node]
        return node.op.name, [_end(self.nodes, e) for e in node.inputs]

    def constant(self, value: Endpoint) -> int | None:
        """A whole number that is known."""
        return _constant(self.nodes, value)


def _end(nodes: Mapping[str, Node], end: Endpoint) -> Endpoint:
    """An endpoint behind all that does nothing but hand it on."""
    while (node := nodes[end.node]).op.name == "Identity" and not node.after:
        end = node.inputs[0]
    return end


def _captured_tensors(nodes: Mapping[str, Node], end: Endpoint) -> Node:
    return nodes[_end(nodes, end).node]


def _constant(nodes: Mapping[str, Node], end: Endpoint) -> int | None:
    """The value of a whole number that is known, and that comes after nothing."""
    node = _captured_tensors(nodes, end)
    if node.op.name != "Const" or node.after:
        return None
    value = node.attrs["value"]
    return int(value) if value.size == 1 and value.dtype.kind in "iu" else None
