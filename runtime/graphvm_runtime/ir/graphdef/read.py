"""GraphDef to Graph: names resolved, defaults filled, functions instantiated, types worked out.

Nodes may stand in any order. What is wrong with a graph is said here, with the node; what is wrong
with a constant's content only when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from graphvm_runtime.dtypes import from_enum
from graphvm_runtime.errors import GraphError, GraphvmError, warned
from graphvm_runtime.ir.effects import SideEffects
from graphvm_runtime.ir.graph import GRADIENT, PRODUCER, Endpoint, Function, Graph, Node
from graphvm_runtime.ir.graphdef.attrs import (
    Bindings,
    read_attr,
    read_undeclared,
)
from graphvm_runtime.ir.graphdef.debug_info import Sources
from graphvm_runtime.ir.graphdef.functions import Instances, arg_types, flat_names, result_ends
from graphvm_runtime.ir.graphdef.node_reader import SHAPES, Reader
from graphvm_runtime.ir.graphdef.tensor_proto import shape_of_proto
from graphvm_runtime.ops.signature import AttrValue, FuncRef
from graphvm_runtime.protos.function_pb2 import FunctionDef, FunctionDefLibrary
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.protos.op_def_pb2 import OpDef as OpDefProto
from graphvm_runtime.protos.versions_pb2 import VersionDef
from graphvm_runtime.shapes import Shape, TensorType


def check_versions(versions: VersionDef) -> None:
    """Raises GraphError where the file does not want to be read by us."""
    if versions.producer < 0:
        raise GraphError(f"the version of a graph must not be negative, got {versions.producer}")
    if versions.min_consumer > PRODUCER:
        raise GraphError(
            f"the graph asks for a reader of version {versions.min_consumer} or later; "
            f"this one reads up to {PRODUCER}",
            do="upgrade, or write the graph with an older version",
        )
    if PRODUCER in versions.bad_consumers:
        raise GraphError(f"the graph does not want to be read by version {PRODUCER}")


def read_graph(
    message: GraphDef,
    *,
    producer_ops: Mapping[str, OpDefProto] | None = None,
    internal: bool = True,
) -> Graph:
    """The graph of a message.

    Args:
        message: nodes in any order.
        producer_ops: declarations of the program that wrote it; attributes that we do not know
            are dropped where they have the default there.
        internal: whether ops are taken that only programs in memory have, see `write_graph`.

    Raises:
        GraphError: it is malformed.
        ShapeError: shapes do not fit.
        NotFoundError: it has an op that is not known.
    """
    check_versions(message.versions)
    instances = Instances(message.library.function, {}, gradients_of(message.library))
    sources = Sources(message.debug_info if message.HasField("debug_info") else None)
    producer = message.versions.producer or message.version
    reader = Reader(
        instances,
        sources,
        producer_ops=producer_ops,
        internal=internal,
        # a graph that was never in a file has no producer
        producer=producer or (PRODUCER if internal else 0),
    )
    nodes = reader.read(message.node)
    library = read_library(instances, sources, producer_ops, internal)
    return Graph(tuple(nodes), library, producer, message.versions.min_consumer)


def read_nodes(
    data: bytes, outside: Callable[[str], Node]
) -> tuple[list[Node], dict[str, Function]]:
    """What `write_nodes` wrote: nodes and functions.

    Args:
        data: the serialized message.
        outside: nodes that came before, which inputs may name.

    Raises:
        GraphError: it is malformed.
    """
    message = GraphDef.FromString(data)
    instances = Instances(message.library.function, {}, gradients_of(message.library))
    sources = Sources(message.debug_info)
    reader = Reader(instances, sources, outside=outside, is_open=True, internal=True)
    nodes = reader.read(message.node)
    return nodes, read_library(instances, sources, internal=True)


def gradients_of(library: FunctionDefLibrary) -> dict[str, str]:
    """Names of the functions that are gradients of others, by the names of these."""
    return {g.function_name: g.gradient_func for g in library.gradient}


def read_library(
    instances: Instances,
    sources: Sources,
    producer_ops: Mapping[str, OpDefProto] | None = None,
    internal: bool = False,
) -> dict[str, Function]:
    """The functions of a file, as far as they have no open attributes or something calls them.

    Raises:
        GraphError: one that is called cannot be read.
    """
    out: dict[str, Function] = {}
    place = {name: at for at, name in enumerate(instances.definitions)}
    origin: dict[str, int] = {}
    # those that are called, then what they call, then the rest
    rest = [n for n, f in instances.definitions.items() if not f.signature.attr]
    failed: dict[str, str] = {}
    while instances.pending or rest:
        if not instances.pending:
            wanted = set(instances.needed)
            instances.instance(FuncRef(rest.pop()))
            called = False
        else:
            called = True
            wanted = instances.needed
        for definition, name, bindings in _drained(instances):
            origin[name] = place[definition.signature.name]
            try:
                out[name] = read_function(
                    definition, name, bindings, instances, sources, producer_ops, internal
                )
            except GraphvmError as error:
                if called or name in wanted:
                    raise
                failed[name] = error.what
    for name, what in failed.items():
        warned(f"function {name!r}, which nothing calls, is left out: {what}")
    left_by = SideEffects({**instances.known, **out}).left_by
    return {
        name: _prompt(out[name], left_by) if name in instances.called else out[name]
        for name in sorted(out, key=origin.__getitem__)
    }


def _prompt(function: Function, left_by: Callable[[Node], bool]) -> Function:
    """A function that is called: all its side effects happen, as TensorFlow has it.

    Of the bodies of branches and loops only what their results need runs.
    """
    found = [n.name for n in function.body.nodes if left_by(n)]
    if set(found) <= set(function.control):
        return function
    return replace(function, control=tuple(dict.fromkeys([*function.control, *found])))


def _drained(instances: Instances) -> list[tuple[FunctionDef, str, dict[str, AttrValue]]]:
    pending, instances.pending = instances.pending, []
    return pending


def read_function(
    definition: FunctionDef,
    name: str,
    bindings: Bindings,
    instances: Instances,
    sources: Sources,
    producer_ops: Mapping[str, OpDefProto] | None = None,
    internal: bool = False,
) -> Function:
    """An instance of a function of a file.

    Args:
        definition: the file's.
        name: of the instance.
        bindings: values of its attributes.
        instances: the functions that it may call.
        sources: the user's own lines.
        producer_ops: see `read_graph`.
        internal: see `Reader`.

    Raises:
        GraphError: it is malformed.
    """
    signature = definition.signature
    reader = Reader(
        instances,
        sources,
        function=signature.name,
        bindings=bindings,
        producer_ops=producer_ops,
        internal=internal,
    )
    labels = flat_names(signature.input_arg, bindings)
    params: list[Endpoint] = []
    at = 0
    for position, arg in enumerate(signature.input_arg):
        types = arg_types(arg, bindings)
        for index, dtype in enumerate(types):
            given = {}
            if position in definition.arg_attr:
                given = read_undeclared(definition.arg_attr[position].attr, bindings)
            shapes = given.pop(SHAPES, None)
            shape: Shape = shapes[min(index, len(shapes) - 1)] if shapes else None
            attrs = {**given, "T": dtype, "index": at, SHAPES: (shape,)}
            if arg.handle_data:
                held = arg.handle_data[0]
                attrs["_handle_type"] = _held(held)
            reader.arg(arg.name, index, labels[at], attrs, TensorType(dtype, shape))
            params.append(Endpoint(labels[at]))
            at += 1
    nodes = reader.read(definition.node_def)
    results, result_names = result_ends(definition, bindings, reader.result)
    control = []
    for key in signature.control_output or sorted(definition.control_ret):
        node = definition.control_ret.get(key, key)
        if node not in reader.made:
            raise GraphError(f"function {name!r} has no node {node!r}, its control output {key!r}")
        control.append(node)
    attrs = {k: read_attr(v, "", bindings) for k, v in definition.attr.items()}
    derived = instances.gradients.get(signature.name)
    if derived is not None and derived in instances:
        attrs[GRADIENT] = instances.instance(FuncRef(derived, tuple(bindings.items())))
    return Function(
        name,
        tuple(params),
        results,
        result_names,
        Graph(tuple(nodes)),
        tuple(control),
        MappingProxyType(attrs),
    )


def _held(message: Any) -> TensorType:
    return TensorType(from_enum(message.dtype), shape_of_proto(message.shape))
