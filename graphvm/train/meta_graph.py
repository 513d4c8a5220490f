"""Writing a MetaGraphDef: a graph with its collections and its saver, in one message."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from google.protobuf import text_format
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.message import Message

from graphvm.graph.graph import Graph, Operation, Tensor, get_default_graph
from graphvm_runtime.errors import GraphError
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.protos.meta_graph_pb2 import CollectionDef, MetaGraphDef

if TYPE_CHECKING:
    from graphvm_runtime.protos.saver_pb2 import SaverDef

__all__ = ["export_meta_graph", "write_graph"]


def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: GraphDef | None = None,
    saver_def: SaverDef | None = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
) -> MetaGraphDef:
    """A graph with its collections.

    Args:
        filename: where to write it too.
        meta_info_def: a MetaInfoDef to take over.
        graph_def: the nodes, where they are not those of `graph`.
        saver_def: the saver that belongs to it.
        collection_list: names of the collections; all otherwise.
        as_text: write the file as text.
        graph: the default graph otherwise.
        export_scope: only the nodes of that name scope, under names without it.
        clear_devices: leave out the devices.

    Returns:
        The message.

    Raises:
        GraphError: the graph has something that TensorFlow's files cannot say.

    Source: `tf.compat.v1.train.export_meta_graph`.
    """
    graph = graph or get_default_graph()
    message = MetaGraphDef()
    if meta_info_def is not None:
        message.meta_info_def.MergeFrom(meta_info_def)
    nodes = graph_def if graph_def is not None else graph.as_graph_def()
    message.graph_def.CopyFrom(_inside(nodes, export_scope) if export_scope else nodes)
    if clear_devices:
        for node in message.graph_def.node:
            node.device = ""
    if saver_def is not None:
        message.saver_def.CopyFrom(saver_def)
    names = graph.get_all_collection_keys() if collection_list is None else collection_list
    for name in names:
        _write_collection(message.collection_def[name], graph.get_collection(name), export_scope)
        if not message.collection_def[name].WhichOneof("kind"):
            del message.collection_def[name]
    if filename is not None:
        _write(message, os.fspath(filename), as_text)
    return message


def _inside(nodes: GraphDef, scope: str) -> GraphDef:
    """The nodes of a name scope, under names without it."""
    prefix = f"{scope}/"
    out = GraphDef(versions=nodes.versions, library=nodes.library)
    for node in nodes.node:
        if not node.name.startswith(prefix):
            continue
        copy = out.node.add()
        copy.CopyFrom(node)
        copy.name = node.name.removeprefix(prefix)
        copy.ClearField("input")
        for text in node.input:
            caret, name = ("^", text[1:]) if text.startswith("^") else ("", text)
            if not name.startswith(prefix):
                if caret:
                    continue
                raise GraphError(f"{node.name!r} takes {name!r}, which is outside of {scope!r}")
            copy.input.append(caret + name.removeprefix(prefix))
    return out


def _write_collection(into: CollectionDef, items: Sequence[Any], scope: str | None) -> None:
    """Writes what has a form in files; a collection with anything else in it is left out."""
    prefix = f"{scope}/" if scope else ""
    for item in items:
        if hasattr(item, "to_proto"):
            proto = item.to_proto(export_scope=scope)
            if proto is not None:
                into.bytes_list.value.append(proto.SerializeToString())
        elif isinstance(item, AnyMessage):
            into.any_list.value.append(item)
        elif isinstance(item, Message):
            into.bytes_list.value.append(item.SerializeToString())
        elif isinstance(item, Tensor | Operation):
            if item.name.startswith(prefix):
                into.node_list.value.append(item.name.removeprefix(prefix))
        elif isinstance(item, bytes):
            into.bytes_list.value.append(item)
        elif isinstance(item, str):
            into.bytes_list.value.append(item.encode())
        elif isinstance(item, int):
            into.int64_list.value.append(item)
        elif isinstance(item, float):
            into.float_list.value.append(item)
        else:
            into.Clear()
            return


def write_graph(graph_or_graph_def: Any, logdir: str, name: str, as_text: bool = True) -> str:
    """Writes a graph into a file.

    Args:
        graph_or_graph_def: a Graph or a GraphDef.
        logdir: the directory, made where it is not there.
        name: of the file.
        as_text: as text, otherwise binary.

    Returns:
        Path of the file.

    Source: `tf.io.write_graph`.
    """
    message = (
        graph_or_graph_def.as_graph_def()
        if isinstance(graph_or_graph_def, Graph)
        else graph_or_graph_def
    )
    os.makedirs(os.fspath(logdir), exist_ok=True)
    path = os.path.join(os.fspath(logdir), name)
    _write(message, path, as_text)
    return path


def _write(message: Message, path: str, as_text: bool) -> None:
    """Writes a file in one step: it is there whole, or as it was."""
    temporary = f"{path}.part{os.urandom(6).hex()}"
    try:
        with open(temporary, "xb") as file:
            file.write(
                text_format.MessageToString(message).encode()
                if as_text
                else message.SerializeToString()
            )
        os.replace(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.remove(temporary)
        raise
