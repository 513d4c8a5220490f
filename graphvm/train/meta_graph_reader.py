"""Reading a MetaGraphDef: its graph and collections into the default graph, and its saver."""

from __future__ import annotations

import os
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from graphvm.graph.collections import GraphKeys
from graphvm.graph.graph import Graph, get_default_graph
from graphvm.graphdef.importer import import_graph_def
from graphvm.train.saver import Saver
from graphvm.variables.collections import global_variables
from graphvm.variables.variable import Variable
from graphvm_runtime.errors import DataLossError, NotFoundError
from graphvm_runtime.protos.meta_graph_pb2 import CollectionDef, MetaGraphDef
from graphvm_runtime.protos.variable_pb2 import VariableDef

__all__ = ["import_meta_graph", "read_meta_graph_file"]

# Collections whose items are variables, as messages.
_OF_VARIABLES = frozenset({
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.CONCATENATED_VARIABLES,
    GraphKeys.GLOBAL_STEP,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.WEIGHTS,
    GraphKeys.BIASES,
})  # fmt: skip


def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    input_map: Any = None,
    return_elements: Any = None,
) -> Any:
    """Takes a graph with its collections into the default graph.

    Args:
        meta_graph_or_file: the message, or the path of its file, binary or text.
        clear_devices: leave out the devices.
        import_scope: name scope to put it under.
        input_map: see `import_graph_def`.
        return_elements: see `import_graph_def`.

    Returns:
        A Saver of its variables, None where it has none; with `return_elements` a pair of it and
        the elements.

    Raises:
        DataLossError: the file is damaged.
        NotFoundError: there is no file.

    Source: `tf.compat.v1.train.import_meta_graph`.
    """
    if isinstance(meta_graph_or_file, str | os.PathLike):
        message = read_meta_graph_file(os.fspath(meta_graph_or_file))
    else:
        message = MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    if clear_devices:
        for node in message.graph_def.node:
            node.device = ""
    scope = import_scope or ""
    elements = import_graph_def(
        message.graph_def,
        input_map=input_map,
        return_elements=return_elements,
        name=scope,
        producer_op_list=message.meta_info_def.stripped_op_list,
    )
    graph = get_default_graph()
    known: dict[tuple[str, str], Any] = {}
    for name in sorted(message.collection_def):
        for item in _read_collection(name, message.collection_def[name], graph, scope, known):
            graph.add_to_collection(name, item)
    saver = _saver_of(message, scope)
    return saver if return_elements is None else (saver, elements)


def _saver_of(message: MetaGraphDef, scope: str) -> Saver | None:
    if message.HasField("saver_def"):
        return Saver.from_proto(message.saver_def, scope)
    return Saver() if global_variables(scope or None) else None


def _read_collection(
    name: str,
    collection: CollectionDef,
    graph: Graph,
    scope: str,
    known: dict[tuple[str, str], Any],
) -> list[Any]:
    kind = collection.WhichOneof("kind")
    if kind is None:
        return []
    values = list(getattr(collection, kind).value)
    if kind == "node_list":
        return [graph.as_graph_element(f"{scope}/{v}" if scope else v) for v in values]
    if kind == "bytes_list":
        if name in _OF_VARIABLES:
            return [_variable(v, scope, known) for v in values]
        # text where it is text; messages of other kinds stay as they are
        return [_text(v) for v in values]
    return values


def _variable(data: bytes, scope: str, known: dict[tuple[str, str], Any]) -> Variable:
    """One object for a variable, in however many collections it is."""
    message = VariableDef.FromString(data)
    key = (message.variable_name, message.initializer_name)
    if key not in known:
        known[key] = Variable.from_proto(message, scope or None)
    variable: Variable = known[key]
    return variable


def _text(value: bytes) -> Any:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return value
    return text if text.isprintable() else value


def read_meta_graph_file(filename: str) -> MetaGraphDef:
    """The message in a file, binary or text.

    Args:
        filename: path of the file.

    Raises:
        DataLossError: it is damaged.
        NotFoundError: there is no file.

    Source: `tensorflow.python.framework.meta_graph`.
    """
    try:
        with open(filename, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {filename!r}") from None
    try:
        return MetaGraphDef.FromString(data)
    except DecodeError:
        pass
    try:
        return text_format.Parse(data.decode(), MetaGraphDef())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise DataLossError(f"{filename!r} is no MetaGraphDef: {error}") from error
