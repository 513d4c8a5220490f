"""Graph to GraphDef, as TensorFlow writes it: all attributes, control inputs last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import GRADIENT, Endpoint, Function, Graph, Node
from graphvm_runtime.ir.graphdef.attrs import face_of_attr, kind_of, write_attr, write_attr_into
from graphvm_runtime.ir.graphdef.debug_info import SourceWriter
from graphvm_runtime.ir.graphdef.tensor_proto import shape_proto
from graphvm_runtime.ops.registry import OpDef
from graphvm_runtime.ops.signature import REQUIRED, Arg
from graphvm_runtime.protos.function_pb2 import FunctionDef
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.protos.node_def_pb2 import NodeDef
from graphvm_runtime.protos.op_def_pb2 import OpDef as OpDefProto
from graphvm_runtime.shapes import Shape

__all__ = [
    "face_of_attr", "file_form", "write_attr", "write_function", "write_graph", "write_node",
    "write_op_def",
]  # fmt: skip

# Attributes of our own that mean nothing outside; TensorFlow's own ones (`_class`) are kept.
INTERNAL_ATTRS = frozenset(
    ("_handle_type", "_family", "_order", "_counter", "_trips", "_output_shapes", "_path")
)
_ARG_ATTRS = frozenset(("T", "index", "_output_shapes", "_handle_type"))


def file_form(graph: Graph, derived: Mapping[str, str] | None = None) -> Graph:
    """The graph without `_Saved` nodes, which only programs in memory have.

    Args:
        graph: any graph.
        derived: see `ir.calls.without_symbolic`.
    """
    if any(n.op.name == "_Saved" for n in graph.all_nodes()):
        # loaded late: few graphs have derivatives of loops and branches
        from graphvm_runtime.ir.calls import without_counted, without_symbolic
        from graphvm_runtime.ir.control_flow.raise_ import raise_
        from graphvm_runtime.ir.derivatives.materialise import materialise

        # paths name what is inside of loops and branches as they are raised, and of calls
        graph = without_counted(without_symbolic(graph, derived or {}))
        graph = materialise(raise_(graph))
    return graph


def write_graph(
    graph: Graph, *, shapes: bool = False, sources: bool = False, internal: bool = False
) -> GraphDef:
    """The message of a graph.

    Args:
        graph: what to write.
        shapes: write static shapes as `_output_shapes`.
        sources: write the user's own lines as `debug_info`.
        internal: write ops and attributes that only GraphVM knows too: for its own processes.

    Raises:
        GraphError: without `internal`, the graph has an op that files cannot hold.
    """
    message = GraphDef()
    message.versions.producer = graph.producer
    message.versions.min_consumer = graph.min_consumer
    lines = SourceWriter(message.debug_info) if sources else None
    known: dict[int, NodeDef] = {}
    for node in graph.nodes:
        made = message.node.add()
        _fill(made, node, _plain_inputs(node.inputs), internal, known)
        if shapes and node.outputs:
            _add_shapes(made, [t.shape for t in node.outputs])
        if lines is not None:
            lines.add(node.name, node.source)
    for function in graph.library.values():
        message.library.function.append(write_function(function, shapes=shapes, internal=internal))
        if GRADIENT in function.attrs:
            derived = function.attrs[GRADIENT].name
            message.library.gradient.add(function_name=function.name, gradient_func=derived)
        if lines is not None:
            for node in function.body.nodes:
                lines.add(node.name, node.source, function.name)
    return message


def write_nodes(nodes: Sequence[Node], library: Mapping[str, Function]) -> GraphDef:
    """Some nodes of a graph and functions, whole, for another process of GraphVM's own.

    `read_nodes` reads them back.
    """
    graph = Graph(tuple(nodes), library)
    return write_graph(graph, shapes=True, sources=True, internal=True)


def write_node(node: Node, *, internal: bool = True) -> NodeDef:
    """The message of one node."""
    made = NodeDef()
    _fill(made, node, _plain_inputs(node.inputs), internal, {})
    return made


def _plain_inputs(ends: Sequence[Endpoint]) -> list[str]:
    return [f"{name}:{index}" if index else name for name, index in ends]


def _fill(
    made: NodeDef, node: Node, inputs: list[str], internal: bool, known: dict[int, NodeDef]
) -> None:
    if not internal and node.op.internal:
        raise GraphError(
            f"op {node.op.name} is GraphVM's own: files cannot hold it", node=node.signature()
        )
    # Nodes with the same attributes share the mapping: it is written out once, then copied.
    attrs = node.attrs
    twin = known.get(id(attrs))
    if twin is None:
        declared = node.op.attrs
        has_tensor = False
        for name, value in attrs.items():
            if name in INTERNAL_ATTRS and not internal:
                continue
            kind = declared[name].kind if name in declared else kind_of(value)
            write_attr_into(made.attr[name], value, kind)
            has_tensor = has_tensor or kind == "tensor"
        if not has_tensor:
            twin = NodeDef()
            twin.CopyFrom(made)
            known[id(attrs)] = twin
    else:
        made.CopyFrom(twin)
    made.name = node.name
    made.op = node.op.name
    if node.after:
        inputs = inputs + ["^" + name for name in node.after]
    if inputs:
        made.input.extend(inputs)
    device = str(node.device)
    if device:
        made.device = device


def _add_shapes(made: NodeDef, shapes: Iterable[Shape]) -> None:
    made.attr["_output_shapes"].list.shape.extend([shape_proto(s) for s in shapes])


def write_function(
    function: Function,
    *,
    shapes: bool = False,
    internal: bool = False,
) -> FunctionDef:
    """The message of a function.

    Args:
        function: what to write.
        shapes: write static shapes of its nodes.
        internal: see `write_graph`.

    Raises:
        GraphError: see `write_graph`.
    """
    made = FunctionDef()
    signature = made.signature
    signature.name = function.name
    params = {e.node: i for i, e in enumerate(function.params)}
    body = function.body.by_name
    for position, end in enumerate(function.params):
        node = body[end.node]
        arg = signature.input_arg.add(name=node.name)
        arg.type = node.outputs[0].dtype.base.enum  # type: ignore[assignment]  # a number of it
        arg.is_ref = node.outputs[0].dtype.is_ref
        held = node.attrs.get("_handle_type")
        if held is not None:
            data = arg.handle_data.add(dtype=held.dtype.enum)
            data.shape.CopyFrom(shape_proto(held.shape))
        extra = made.arg_attr[position].attr
        extra["_output_shapes"].list.shape.append(shape_proto(node.outputs[0].shape))
        for name, value in node.attrs.items():
            if name not in _ARG_ATTRS:
                write_attr_into(extra[name], value)
    known: dict[int, NodeDef] = {}
    for node in function.body.nodes:
        if node.name in params:
            continue
        inputs = [
            e.node if e.node in params else _body_output(body[e.node], e.index) for e in node.inputs
        ]
        _fill(made.node_def.add(), node, inputs, internal, known)
        if shapes and node.outputs:
            _add_shapes(made.node_def[-1], [t.shape for t in node.outputs])
    for name, end in zip(function.result_names, function.results, strict=True):
        result = signature.output_arg.add(name=name)
        type_ = function.body.type_of(end)
        result.type = type_.dtype.base.enum  # type: ignore[assignment]  # a number of it
        result.is_ref = type_.dtype.is_ref
        made.ret[name] = end.node if end.node in params else _body_output(body[end.node], end.index)
    for name in function.control:
        made.control_ret[name] = name
        signature.control_output.append(name)
    for name, value in function.attrs.items():
        if name == GRADIENT:
            continue  # the library says it
        write_attr_into(made.attr[name], value)
    signature.is_stateful = function.is_stateful
    return made


def _body_output(node: Node, index: int) -> str:
    """Output `index` as a body names it: `node:output_name:k`."""
    at = 0
    for arg in node.op.outputs:
        count = len(arg.dtypes(node.attrs))
        if index < at + count:
            return f"{node.name}:{arg.name}:{index - at}"
        at += count
    raise GraphError(f"{node.name!r} has no output {index}", node=node.signature())


def write_op_def(op: OpDef) -> OpDefProto:
    """The declaration of an op as TensorFlow's message."""
    made = OpDefProto(name=op.name, summary=op.doc)
    for arg in op.inputs:
        made.input_arg.append(_arg_def(arg))
    for arg in op.outputs:
        made.output_arg.append(_arg_def(arg))
    for name, declared in op.attrs.items():
        attr = made.attr.add(name=name, type=declared.kind)
        if declared.default is not REQUIRED:
            write_attr_into(attr.default_value, declared.default, declared.kind)
        if declared.minimum is not None:
            attr.has_minimum = True
            attr.minimum = declared.minimum
        if declared.allowed is not None:
            kind = declared.kind.removeprefix("list(").rstrip(")")
            write_attr_into(attr.allowed_values, declared.allowed, f"list({kind})")
    made.is_stateful = op.is_stateful
    made.is_commutative = op.commutative
    return made


def _arg_def(arg: Arg) -> OpDefProto.ArgDef:
    made = OpDefProto.ArgDef(
        name=arg.name,
        type_attr=arg.type_attr,
        number_attr=arg.number_attr,
        type_list_attr=arg.list_attr,
        is_ref=arg.is_ref,
    )
    if arg.dtype is not None:
        made.type = arg.dtype.enum  # type: ignore[assignment]  # an enum's number is an int
    return made
