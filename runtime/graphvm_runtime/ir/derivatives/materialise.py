"""`_Saved` nodes become accumulators and branch outputs.

`gradients` only adds nodes. What a derived body needs from inside another body it names by a node
`_Saved(path)` (see `saved.py`). This pass makes the data flow of it:

* a loop gets a list for each value that is named in it, pushed in every iteration;
* a branch or a call gets another output (the other branch gives a placeholder);
* the derived region gets that as another input and, where it is a loop, reads it at its own count.

Values are lists of lists where loops nest. What nobody needs is neither carried nor computed: a
derived body is kept only as far as its used results, and what others name in it, reach.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from graphvm_runtime.device_spec import ANY, DeviceSpec
from graphvm_runtime.dtypes import DType, int32, variant
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.bodies import body_keys, body_ref, with_bodies
from graphvm_runtime.ir.derivatives.levels import BodyEditor, CapturePath
from graphvm_runtime.ir.derivatives.recomputing import Recomputing
from graphvm_runtime.ir.derivatives.saved import (
    COUNT,
    COUNTER,
    FAMILY,
    ORDER,
    RECOMPUTE,
    SAVED,
    TRIPS,
    concerned_functions,
    is_derived,
    path_of,
)
from graphvm_runtime.ir.graph import (
    Endpoint,
    Function,
    Graph,
    Node,
    endpoint,
    functions_used,
    ordered,
    unused,
)
from graphvm_runtime.ops.functional import BRANCHES, LOOPS
from graphvm_runtime.ops.signature import FuncRef
from graphvm_runtime.shapes import TensorType

_LIST = TensorType(variant, ())
_SCALAR = TensorType(int32, ())


def materialise(graph: Graph, fetches: Collection[Endpoint] | None = None) -> Graph:
    """The same program without `_Saved` nodes.

    Args:
        graph: may be pruned already.
        fetches: the outputs that anybody looks at; all of them when it is None.

    Returns:
        A graph of TensorFlow's own ops. Bodies that change get new names, the others are shared.

    Raises:
        GraphError: a path leads nowhere.
    """
    return _Work(graph, fetches).done()


class _Work:
    """One run of the pass."""

    def __init__(self, graph: Graph, fetches: Collection[Endpoint] | None) -> None:
        self.graph = graph
        self.fetches = fetches
        self.library = dict(graph.library)
        self.concerned = concerned_functions(graph.nodes, graph.library)
        self.top = BodyEditor({n.name: n for n in graph.nodes}, [], [], [], ())
        self.pending: list[tuple[BodyEditor, Endpoint | str]] = []
        self.saved: list[tuple[BodyEditor, Node]] = []
        self.outputs: dict[tuple[BodyEditor, str, str, Endpoint], Endpoint] = {}
        self.inputs: dict[tuple[BodyEditor, Endpoint], Endpoint] = {}
        self.items: dict[tuple[BodyEditor, Endpoint], Endpoint] = {}
        self.shapes: dict[tuple[BodyEditor, Endpoint, DType], Endpoint] = {}
        self.counts: dict[tuple[BodyEditor, str], Endpoint] = {}
        self.lists: dict[tuple[BodyEditor, str], Endpoint] = {}
        self.functions: dict[BodyEditor, str] = {}
        self.again = Recomputing(self._kept, self._carried, self._input)

    def done(self) -> Graph:
        if not any(self._is_concerned(n) for n in self.graph.nodes):
            return self.graph
        self._demand_all()
        counts = []
        asked: list[tuple[BodyEditor, Node, list[Node]]] = []
        whole = set()
        for level, node in self.saved:
            if path_of(node)[1].endswith(COUNT):
                counts.append((level, node))
                continue
            shapes = _shape_readers(level, node)
            asked.append((level, node, shapes))
            if not shapes:
                whole.add(_source_key(level, node))
        for level, node, shapes in asked:
            if not shapes or _source_key(level, node) in whole:
                level.replaced[Endpoint(node.name)] = self._brought(level, node)
                continue
            for each in shapes:
                level.replaced[Endpoint(each.name)] = self._brought(level, node, each)
                level.live.discard(each.name)
        for level, node in counts:  # last: a list made for another value counts as well
            level.replaced[Endpoint(node.name)] = self._brought(level, node)
        self.again.copy_all()
        nodes = self._nodes(self.top)
        before = functions_used(self.graph.nodes, self.graph.library)
        after = functions_used(nodes, self.library)
        library = {n: f for n, f in self.library.items() if n in after or n not in before}
        return replace(self.graph, nodes=tuple(nodes), library=library)

    # -- what is needed --------------------------------------------------------------------

    def _is_concerned(self, node: Node) -> bool:
        """Whether the node, or one in its bodies, is of a derivative."""
        return is_derived(node) or any(ref.name in self.concerned for ref in node.functions())

    def _demand_all(self) -> None:
        """Finds all that is needed, in all bodies that are concerned."""
        top = self.top
        for name, node in top.nodes.items():
            self.pending.append((top, name))
            if self.fetches is None:
                self.pending.extend((top, Endpoint(name, i)) for i in range(len(node.outputs)))
        self.pending.extend((top, e) for e in self.fetches or ())
        while self.pending:
            level, what = self.pending.pop()
            if isinstance(what, Endpoint):
                self._demand(level, what)
            else:
                self._demand_node(level, what)

    def _demand(self, level: BodyEditor, end: Endpoint) -> None:
        if end in level.used:
            return
        level.used.add(end)
        node = level.nodes.get(end.node)
        if node is None or end.index >= len(node.outputs):
            raise GraphError(f"{end} is needed, but there is no such value")
        self._demand_node(level, end.node)
        if node.op.name == "_Arg" and level.owner is not None:
            self._demand_param(level, level.param_index[end.node])
        elif (end.node, "body") in level.bodies:
            self._demand_variable(level, node, end.index)
        else:
            for attr in body_keys(node):
                body = level.bodies.get((end.node, attr))
                if body is not None and attr != "cond":
                    self.pending.append((body, body.results[end.index]))

    def _demand_node(self, level: BodyEditor, name: str) -> None:
        if name in level.live:
            return
        level.live.add(name)
        node = level.nodes.get(name)
        if node is None:
            raise GraphError(f"{name!r} is needed, but not in the graph")
        self.pending.extend((level, n) for n in node.after)
        if node.op.name == SAVED:
            self.saved.append((level, node))
            self._demand_source(level, node)
        attrs = body_keys(node)
        if attrs and (self._is_concerned(node) or (name, attrs[0]) in level.bodies):
            self._open(level, node)
            if node.op.name in BRANCHES:
                self.pending.append((level, node.inputs[0]))
        else:
            self.pending.extend((level, e) for e in node.inputs)

    def _demand_param(self, body: BodyEditor, index: int) -> None:
        """A parameter is needed: so is the input that it stands for."""
        assert body.owner is not None
        level, name, _ = body.owner
        node = level.nodes[name]
        if node.op.name in LOOPS:
            self._demand_variable(level, node, index)
        else:
            at = index + (node.op.region.first if node.op.region else 0)
            self.pending.append((level, node.inputs[at]))

    def _demand_variable(self, level: BodyEditor, node: Node, index: int) -> None:
        """A loop variable is needed: at the start, and after each iteration."""
        body = level.bodies[node.name, "body"]
        self.pending.append((level, node.inputs[index]))
        self.pending.append((body, body.params[index]))
        self.pending.append((body, body.results[index]))

    def _open(self, level: BodyEditor, node: Node) -> None:
        """Makes the bodies of a node levels of their own.

        Until then all of the node was taken; from then on it counts which outputs are used, so
        those that were asked for before are asked for again.
        """
        closed = [key for key in body_keys(node) if (node.name, key) not in level.bodies]
        for key in closed:
            self._open_body(level, node, key)
        if closed:
            again = [e for e in level.used if e.node == node.name]
            level.used.difference_update(again)
            self.pending.extend((level, e) for e in again)

    def _open_body(self, level: BodyEditor, node: Node, attr: str) -> None:
        function = self.graph.function(body_ref(node, attr))
        body = BodyEditor.of(function, (level, node.name, attr))
        level.bodies[node.name, attr] = body
        self.pending.extend((body, n) for n in function.control)
        if attr == "cond":
            self.pending.extend((body, e) for e in function.results)

    def _demand_source(self, level: BodyEditor, saved: Node) -> None:
        steps, last = path_of(saved)
        at = level.above(len(steps))[0]
        for name, attr in steps:
            region = at.nodes.get(name)
            if region is None or attr not in body_keys(region):
                raise _astray(saved, name, attr)
            self._open(at, region)
            self._demand_node(at, name)
            at = at.bodies[name, attr]
        if last.endswith(COUNT):
            loop = last.removesuffix(COUNT)
            if loop not in at.nodes or at.nodes[loop].op.name not in LOOPS:
                raise _astray(saved, loop, "body")
            self._open(at, at.nodes[loop])
            self._demand_node(at, loop)
        else:
            self.pending.append((at, endpoint(last)))

    # -- ways out of and into bodies -------------------------------------------------------

    def _brought(self, level: BodyEditor, saved: Node, shape: Node | None = None) -> Endpoint:
        """The value that a `_Saved` node names, or its shape, in the body that needs it."""
        steps, last = path_of(saved)
        readers = level.above(len(steps))
        sources = [readers[0]]
        for step in steps:
            sources.append(sources[-1].bodies[step])
        for step, reader, around in zip(steps, readers[1:], readers, strict=False):
            assert reader.owner is not None
            if around.nodes[reader.owner[1]].op.name not in LOOPS and step[1] == "body":
                raise _astray(saved, *step)
        if last.endswith(COUNT):
            value, device = self._trips(sources[-1], last.removesuffix(COUNT)), ANY
        else:
            value = endpoint(last)
            device = sources[-1].nodes[value.node].device
            if shape is not None:
                value = self._shape(sources[-1], value, shape)
        return self._carried(CapturePath(steps, tuple(sources), tuple(readers), device), value)

    def _carried(self, way: CapturePath, value: Endpoint) -> Endpoint:
        """A value at the end of a way, at the other end."""
        if not way.steps:
            return value
        loop = way.sources[-2].nodes[way.steps[-1][0]]
        if way.steps[-1][1] == "body" and loop.attrs.get(RECOMPUTE):
            return self.again.ask(way, value)
        return self._kept(way, value)

    def _kept(self, way: CapturePath, value: Endpoint) -> Endpoint:
        """The same, by way of another output of the innermost body's node."""
        name, attr = way.steps[-1]
        outside = self._output(way.sources[-2], name, attr, value, way.device)
        inner = way.readers[-1]
        found = self._input(way.readers[-2], inner, self._carried(way.outer(), outside))
        if attr == "body":
            backwards = way.sources[-2].nodes[name].attrs.get(ORDER, 1) < 0
            type_ = way.sources[-1].type_of(value)
            found = self._item(inner, found, type_, backwards, way.device)
        return found

    def _output(
        self, level: BodyEditor, name: str, attr: str, value: Endpoint, device: DeviceSpec
    ) -> Endpoint:
        """A value of a body as an output of its node: a list of all, where it is a loop."""
        key = (level, name, attr, value)
        if key not in self.outputs:
            body = level.bodies[name, attr]
            if attr == "body":
                self.outputs[key] = self._collected(level, name, body, value, device)
            else:
                self.outputs[key] = self._returned(level, name, attr, value)
        return self.outputs[key]

    def _collected(
        self, level: BodyEditor, name: str, body: BodyEditor, value: Endpoint, device: DeviceSpec
    ) -> Endpoint:
        type_ = body.type_of(value)
        what = f"{name}/{value.node.rpartition('/')[2]}"
        start = level.add(
            f"{what}/list",
            "EmptyTensorList",
            [
                level.constant(f"{what}/element_shape", _element_shape(type_)),
                level.constant(f"{what}/max_num_elements", -1),
            ],
            {"element_dtype": type_.dtype, "shape_type": int32},
            [_LIST],
            device,
        )
        at = self._loop_variable(level, name, start, _LIST, f"{value.node}/list")
        body.results[at] = body.add(
            f"{value.node}/push",
            "TensorListPushBack",
            [body.params[at], value],
            # nobody but derivatives in this step sees the list
            {"element_dtype": type_.dtype, "_shares": True},
            [_LIST],
            device,
        )
        out = Endpoint(name, at)
        self.lists.setdefault((level, name), out)
        return out

    def _returned(self, level: BodyEditor, name: str, attr: str, value: Endpoint) -> Endpoint:
        node = level.nodes[name]
        type_ = level.bodies[name, attr].type_of(value)
        for each in body_keys(node):
            body = level.bodies[name, each]
            body.result(
                f"{value.node.rpartition('/')[2]}_{value.index}",
                value if each == attr else body.placeholder(type_),
            )
        at = len(node.outputs)
        level.nodes[name] = _extended(node, "Tout", (), (type_,))
        return Endpoint(name, at)

    def _input(self, outer: BodyEditor, inner: BodyEditor, value: Endpoint) -> Endpoint:
        """A value from around a region, inside one of its bodies."""
        key = (inner, value)
        if key not in self.inputs:
            assert inner.owner is not None
            name = inner.owner[1]
            node = outer.nodes[name]
            type_ = outer.type_of(value)
            what = f"saved/{value.node.rpartition('/')[2]}"
            if node.op.name in LOOPS:
                at = self._loop_variable(outer, name, value, type_, what)
            else:
                at = len(inner.params)
                for attr in body_keys(node):
                    outer.bodies[name, attr].param(what, type_)
                outer.nodes[name] = _extended(node, "Tin", (value,), (), (type_,))
            for attr in body_keys(node):
                body = outer.bodies[name, attr]
                self.inputs[body, value] = body.params[at]
        return self.inputs[key]

    def _loop_variable(
        self, level: BodyEditor, name: str, start: Endpoint, type_: TensorType, what: str
    ) -> int:
        """A new loop variable, which the body passes through as yet; its place."""
        node = level.nodes[name]
        level.bodies[name, "cond"].param(what, type_)
        body = level.bodies[name, "body"]
        param = body.param(what, type_)
        body.result(param.node, param)
        level.nodes[name] = _extended(node, "T", (start,), (type_,))
        return len(node.outputs)

    def _item(
        self,
        body: BodyEditor,
        list_: Endpoint,
        type_: TensorType,
        backwards: bool,
        device: DeviceSpec,
    ) -> Endpoint:
        """What a list holds for the iteration of a derived loop."""
        key = (body, list_)
        if key not in self.items:
            assert body.owner is not None
            node = body.owner[0].nodes[body.owner[1]]
            index = body.params[node.attrs[COUNTER]]
            scalar = {"T": int32}
            if backwards:
                length = body.add("length", "TensorListLength", [list_], {}, [_SCALAR], device)
                one = body.constant("one", 1)
                last = body.add("last", "Sub", [length, one], scalar, [_SCALAR])
                index = body.add("index", "Sub", [last, index], scalar, [_SCALAR])
            self.items[key] = body.add(
                f"{list_.node}/item",
                "TensorListGetItem",
                [list_, index, body.constant("element_shape", _element_shape(type_))],
                {"element_dtype": type_.dtype, "Tshape": int32},
                [type_],
                device,
            )
        return self.items[key]

    def _shape(self, level: BodyEditor, value: Endpoint, like: Node) -> Endpoint:
        key = (level, value, like.outputs[0].dtype)
        if key not in self.shapes:
            attrs = {**like.attrs, "T": level.type_of(value).dtype}
            device = level.nodes[value.node].device
            self.shapes[key] = level.add(
                f"{value.node}/shape", "Shape", [value], attrs, like.outputs, device
            )
        return self.shapes[key]

    def _trips(self, level: BodyEditor, name: str) -> Endpoint:
        """How often a loop runs."""
        key = (level, name)
        if key not in self.counts:
            list_ = self.lists.get(key)
            if list_ is not None:
                self.counts[key] = level.add(
                    f"{name}/trips", "TensorListLength", [list_], {}, [_SCALAR]
                )
            else:
                zero = level.constant(f"{name}/zero", 0)
                at = self._loop_variable(level, name, zero, _SCALAR, "trips")
                body = level.bodies[name, "body"]
                body.results[at] = body.add(
                    "trips/next", "AddV2", [body.params[at], body.constant("trips/one", 1)],
                    {"T": int32}, [_SCALAR],
                )  # fmt: skip
                self.counts[key] = Endpoint(name, at)
        return self.counts[key]

    # -- the graph anew --------------------------------------------------------------------

    def _nodes(self, level: BodyEditor) -> list[Node]:
        """What is left of a level, its bodies made into functions."""
        kept = [
            n for n in level.nodes.values()
            if (n.name in level.live or n.name in level.param_index) and n.op.name != SAVED
        ]  # fmt: skip
        names = {n.name for n in kept}
        out: list[Node] = []
        for given in kept:
            node = given
            functions = {
                attr: self._function(level.bodies[node.name, attr])
                for attr in body_keys(node)
                if (node.name, attr) in level.bodies
            }
            inputs = tuple(map(level.resolved, node.inputs))
            if functions:
                # Inputs whose parameters nobody needs may have gone.
                types = node.op.input_dtypes(node.attrs)
                inputs = tuple(
                    e if e.node in names
                    else self._unused(level, out, TensorType(t, None))
                    for e, t in zip(inputs, types, strict=True)
                )  # fmt: skip
            if inputs != node.inputs:
                node = node.changed(inputs=inputs)
            if not names.issuperset(node.after):
                node = node.changed(after=[n for n in node.after if n in names])
            changed = {
                attr: FuncRef(f, body_ref(node, attr).attrs)
                for attr, f in functions.items()
                if f != body_ref(node, attr).name
            }
            left = {k: v for k, v in node.attrs.items() if k not in (FAMILY, ORDER, COUNTER, TRIPS)}
            if changed or len(left) < len(node.attrs):
                node = node.changed(attrs=with_bodies(left, changed))
            out.append(node)
        return ordered(out)

    def _unused(self, level: BodyEditor, out: list[Node], type_: TensorType) -> Endpoint:
        end = level.placeholder(type_)
        out.append(level.nodes[end.node])
        return end

    def _function(self, level: BodyEditor) -> str:
        """The name of the function that a body has become."""
        if level not in self.functions:
            self.functions[level] = self._made_function(level)
        return self.functions[level]

    def _made_function(self, level: BodyEditor) -> str:
        old = level.function
        assert old is not None
        assert level.owner is not None
        results = list(map(level.resolved, level.results))
        loop = level.owner[2] == "body"
        for i, end in enumerate(results):
            if end.node not in level.live and end.node not in level.param_index:
                type_ = level.nodes[end.node].outputs[end.index]
                results[i] = level.params[i] if loop else level.placeholder(type_)
        nodes = self._nodes(level)
        if tuple(results) == old.results and len(nodes) == len(old.body.nodes):
            same = {id(n) for n in old.body.nodes}
            if all(id(n) in same for n in nodes):
                return old.name
        name = unused(f"{old.name}_saved", self.library)
        self.library[name] = Function(
            name,
            tuple(level.params),
            tuple(results),
            tuple(level.result_names),
            replace(old.body, nodes=tuple(nodes)),
            tuple(n for n in level.control if n in level.live),
            old.attrs,
        )
        return name


def _source_key(level: BodyEditor, saved: Node) -> tuple[BodyEditor, tuple[bytes, ...]]:
    return level.above(len(path_of(saved)[0]))[0], saved.attrs["path"]


def _shape_readers(level: BodyEditor, saved: Node) -> list[Node]:
    """The nodes that take a saved value, where all of them want only its shape."""
    end = Endpoint(saved.name)
    if end in level.results:
        return []
    users = [n for n in level.nodes.values() if n.name in level.live and end in n.inputs]
    return users if all(n.op.name == "Shape" for n in users) else []


def _element_shape(type_: TensorType) -> int | list[int]:
    """A shape as list ops take it: -1 for what is not known."""
    if type_.shape is None:
        return -1
    return [-1 if d is None else d for d in type_.shape]


def _extended(
    node: Node,
    attr: str,
    inputs: tuple[Endpoint, ...],
    outputs: tuple[TensorType, ...],
    types: tuple[TensorType, ...] = (),
) -> Node:
    """A control flow node with more inputs or outputs, or both."""
    attrs = dict(node.attrs)
    attrs[attr] = (*attrs[attr], *(t.dtype for t in types or outputs))
    for shapes in ("output_shapes", "_output_shapes"):
        if attrs.get(shapes):
            attrs[shapes] = (*attrs[shapes], *(t.shape for t in outputs))
    return node.changed(inputs=node.inputs + inputs, outputs=node.outputs + outputs, attrs=attrs)


def _astray(saved: Node, name: str, attr: str) -> GraphError:
    path = " / ".join(p.decode(errors="surrogateescape") for p in saved.attrs["path"])
    return GraphError(
        f"the path {path} leads through {name!r}.{attr}, which is not there",
        node=saved.signature(),
        do="keep the control flow whose derivative this is in the graph",
    )
