"""`import_graph_def`: the nodes of a file into a graph."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from google.protobuf.message import Message

from graphvm.graph.builder import check_groups
from graphvm.graph.conversion import convert_to_tensor
from graphvm.graph.graph import Graph, Operation, Tensor, get_default_graph
from graphvm.graph.source import user_line
from graphvm_runtime.errors import GraphError, GraphvmError, clipped
from graphvm_runtime.ir.graph import Endpoint, Function
from graphvm_runtime.ir.graphdef.debug_info import Sources
from graphvm_runtime.ir.graphdef.file_order import Mapped
from graphvm_runtime.ir.graphdef.functions import Instances
from graphvm_runtime.ir.graphdef.node_reader import Reader
from graphvm_runtime.ir.graphdef.read import check_versions, gradients_of, read_library
from graphvm_runtime.ir.graphdef.write import write_function
from graphvm_runtime.ir.names import as_text, named_node, parse_output
from graphvm_runtime.protos.graph_pb2 import GraphDef


def import_graph_def(
    graph_def: GraphDef,
    input_map: Mapping[str | bytes, Any] | None = None,
    return_elements: Sequence[str | bytes] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Tensor | Operation] | None:
    """Takes the nodes of a graph into the default graph.

    Args:
        graph_def: the graph; it is not changed.
        input_map: tensors of the default graph in place of some of its outputs: `"x"`, `"x:1"`,
            or `"^x"` for control inputs.
        return_elements: names of operations and tensors of the file to give back.
        name: scope for its names; "import" where it is None, none where it is empty.
        op_dict: not looked at, as in TensorFlow.
        producer_op_list: OpList of the program that wrote it; attributes that we do not know are
            dropped where they have the default there.

    Returns:
        What `return_elements` name, None without it.

    Raises:
        GraphError: it is malformed, or `input_map` or `return_elements` name nothing in it.
        ShapeError: shapes do not fit.
        NotFoundError: it has an op that is not known.
        TypeError: a name is neither text nor bytes.

    Source: `tf.import_graph_def`.
    """
    del op_dict
    if input_map is not None and not isinstance(input_map, Mapping):
        raise TypeError(f"input_map must be a dictionary, got {clipped(input_map)}")
    message = _as_ours(graph_def)
    check_versions(message.versions)
    graph = get_default_graph()
    try:
        with graph.name_scope("import" if name is None else name) as scope:
            given = {as_text(k): v for k, v in (input_map or {}).items()}
            inputs = _inputs(graph, name, given)
            wanted = None if return_elements is None else [as_text(e) for e in return_elements]
            return _imported(graph, message, scope, inputs, wanted, producer_op_list)
    except GraphvmError as error:
        error.located("", user_line())  # where the file does not tell a line
        raise


def _as_ours(message: Any) -> GraphDef:
    if isinstance(message, GraphDef):
        return message
    if not isinstance(message, Message):
        raise TypeError(f"graph_def must be a GraphDef, not {clipped(message)}")
    ours = GraphDef()  # TensorFlow's own message
    ours.ParseFromString(message.SerializeToString())
    return ours


def _inputs(graph: Graph, name: str | None, input_map: Mapping[str, Any]) -> dict[str, Any]:
    """The replacements, tensors all (operations where they are control inputs)."""
    plain = [
        k for k, v in input_map.items()
        if not isinstance(v, Tensor) and not (k.startswith("^") and isinstance(v, Operation))
    ]  # fmt: skip
    if not plain:
        return dict(input_map)
    if name == "":
        raise GraphError(
            f"input_map has a value for {plain[0]!r} that is no tensor, and the import no name",
            do="convert it with convert_to_tensor, or give a name",
        )
    with graph.name_scope("_inputs"):
        return {k: convert_to_tensor(v) if k in plain else v for k, v in input_map.items()}


def _imported(
    graph: Graph,
    message: GraphDef,
    scope: str,
    inputs: Mapping[str, Any],
    return_elements: Sequence[str] | None,
    producer_op_list: Any,
) -> list[Tensor | Operation] | None:
    mapped = _mapped(graph, inputs)
    names = {n.name for n in message.node}
    _check_input_map(message, names, inputs)
    with graph.building(), _collector_resting():
        sources = Sources(message.debug_info if message.HasField("debug_info") else None)
        ops = None if producer_op_list is None else {o.name: o for o in producer_op_list.op}
        own = {f.signature.name for f in message.library.function}
        instances = Instances(
            message.library.function,
            {n: f for n, f in graph.library.items() if n not in own},
            gradients_of(message.library),
        )
        reader = Reader(
            instances,
            sources,
            rename=_renaming(graph, names, scope),
            mapped=mapped,
            outside=graph.node,
            producer_ops=ops,
            producer=message.versions.producer or message.version,
        )
        nodes = reader.read(message.node)
        for name, index in mapped.ends:
            replaced = reader.made.get(name)
            if replaced is not None and index >= len(replaced.outputs):
                raise GraphError(f"input_map names {name}:{index}, which does not exist")
        for text in return_elements or ():
            _check_element(reader, mapped, text)
        check_groups(nodes, graph.__contains__)
        library = read_library(instances, sources, ops)
        new = [f for n, f in library.items() if not _is_there(graph.library.get(n), f)]
        for function in new:
            graph.functions.add(function)
        graph.append(nodes)
        graph.place(nodes)
        graph.merge_versions(message.versions.producer or message.version,
                             message.versions.min_consumer)  # fmt: skip
    if return_elements is None:
        return None
    return [_element(graph, reader, mapped, text) for text in return_elements]


def _is_there(known: Function | None, function: Function) -> bool:
    """Whether the graph has the same function already; another one of its name is an error."""
    if known is None:
        return False
    texts = [write_function(f, internal=True) for f in (known, function)]
    if texts[0] != texts[1]:
        raise GraphError(f"the graph has another function {function.name!r}")
    return True


@contextmanager
def _collector_resting() -> Iterator[None]:
    """Lets the garbage collector rest: of what is read nearly all stays, and it grows by millions.

    Looking through all of it again and again takes longer than the reading.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _mapped(graph: Graph, inputs: Mapping[str, Any]) -> Mapped:
    ends: dict[tuple[str, int], Endpoint] = {}
    after: dict[str, str] = {}
    for key, value in inputs.items():
        if key.startswith("^"):
            after[key[1:]] = graph.as_graph_element(
                value.op if isinstance(value, Tensor) else value
            ).name
        else:
            ends[parse_output(key)] = graph.capture(value).endpoint
    return Mapped(ends, after)


def _check_input_map(message: GraphDef, names: set[str], inputs: Mapping[str, Any]) -> None:
    """Raises GraphError where a key names nothing, and nothing in the file takes it either."""
    missing = {k for k in inputs if named_node(k) not in names}
    if missing:
        taken = {t if t.startswith("^") else parse_output(t) for n in message.node for t in n.input}
        missing = {k for k in missing if (k if k.startswith("^") else parse_output(k)) not in taken}
    if missing:
        raise GraphError(
            f"input_map names what the graph does not have: {', '.join(sorted(missing))}"
        )


def _renaming(graph: Graph, names: set[str], scope: str) -> Callable[[str], str] | None:
    """Final names: inside the scope, with a suffix where the graph has the name already.

    None where all names stay as they are.
    """
    if not scope and not graph.version:
        return None
    given: dict[str, str] = {}
    # a node beside a scope of its name would share it with the nodes inside
    scopes = {
        "/".join(parts[:i])
        for n in graph.nodes_since(0)
        if n.name.startswith(scope) and "/" in n.name
        for parts in [n.name.split("/")]
        for i in range(1, len(parts))
    }

    def is_taken(name: str) -> bool:
        return name in graph or name in scopes

    def rename(name: str) -> str:
        final = given.get(name)
        if final is None:
            final = scope + name
            if is_taken(final):
                count = 1
                while is_taken(f"{final}_{count}") or f"{name}_{count}" in names:
                    count += 1
                final = f"{final}_{count}"
            given[name] = final
        return final

    return rename


def _check_element(reader: Reader, mapped: Mapped, text: str) -> None:
    name, index = parse_output(text)
    node = reader.made.get(name)
    is_tensor = ":" in text
    if is_tensor and (name, index) in mapped.ends:
        return
    if node is None or (is_tensor and index >= len(node.outputs)):
        raise GraphError(f"return_elements names {text!r}, which the graph does not have")


def _element(graph: Graph, reader: Reader, mapped: Mapped, text: str) -> Tensor | Operation:
    name, index = parse_output(text)
    if ":" not in text:
        return graph.operation_of(reader.made[name])
    end = mapped.ends.get((name, index))
    return graph.tensor_at(Endpoint(reader.made[name].name, index) if end is None else end)
