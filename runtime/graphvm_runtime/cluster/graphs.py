"""Graphs on their way to another process: a GraphDef without its big constants, and these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from graphvm_runtime.cluster.codec import INLINE, Decoder, Encoder
from graphvm_runtime.errors import InvalidArgumentError
from graphvm_runtime.ir.graph import Function, Node
from graphvm_runtime.ir.graphdef.read import read_nodes
from graphvm_runtime.ir.graphdef.write import write_nodes
from graphvm_runtime.protos.graph_pb2 import GraphDef

_Key = tuple[str, str]  # function (empty for the graph itself) and node


class Packed:
    """Nodes and functions as they are sent.

    Args:
        nodes: of a graph; they may take inputs from nodes that were sent before.
        library: functions.
    """

    def __init__(self, nodes: Sequence[Node], library: Mapping[str, Function]) -> None:
        self.constants: dict[_Key, Any] = {}
        light = {name: f.with_nodes(self._light(name, f.body.nodes)) for name, f in library.items()}
        message = write_nodes(self._light("", nodes), light)
        self._restore_shapes(message)
        self._bytes = np.frombuffer(message.SerializeToString(), np.uint8)

    def _light(self, function: str, nodes: Sequence[Node]) -> list[Node]:
        """The nodes with a single element in place of each big constant."""
        out = []
        for node in nodes:
            if node.op.name == "Const":
                value = node.attrs["value"]
                if value.dtype != object and value.nbytes > INLINE:
                    self.constants[function, node.name] = value
                    node = node.with_attrs(value=np.zeros((), value.dtype))
            out.append(node)
        return out

    def _restore_shapes(self, message: GraphDef) -> None:
        """Gives constants that were taken out their shape back, without their content."""
        if not self.constants:
            return
        bodies = [("", message.node)]
        bodies += [(f.signature.name, f.node_def) for f in message.library.function]
        for function, nodes in bodies:
            for node in nodes:
                value = self.constants.get((function, node.name))
                if value is not None:
                    for size in value.shape:
                        node.attr["value"].tensor.tensor_shape.dim.add(size=size)

    def fill(self, out: Any, encoder: Encoder) -> None:
        """Writes it into a message that has `graph` and `constant`."""
        encoder.fill(out.graph, self._bytes)
        for (function, node), value in self.constants.items():
            added = out.constant.add(function=function, node=node)
            encoder.fill(added.value, value)


def received(message: Any, decoder: Decoder) -> tuple[bytes, dict[_Key, Any]]:
    """The bytes of a GraphDef in a message and its constants, taken off the link."""
    constants = {(c.function, c.node): decoder.value(c.value) for c in message.constant}
    return decoder.value(message.graph).tobytes(), constants


def unpacked(
    data: bytes, constants: Mapping[_Key, Any], outside: Callable[[str], Node]
) -> tuple[list[Node], dict[str, Function]]:
    """The nodes and functions that were sent.

    Args:
        data: of the GraphDef.
        constants: those that were sent beside it.
        outside: nodes that were sent before.

    Raises:
        GraphError: the graph is malformed.
        InvalidArgumentError: it is no graph.
    """
    try:
        nodes, library = read_nodes(data, outside)
    except DecodeError as error:
        raise InvalidArgumentError(f"a graph that cannot be read: {error}") from error
    if constants:
        nodes = _heavy("", nodes, constants)
        library = {
            name: f.with_nodes(_heavy(name, f.body.nodes, constants)) for name, f in library.items()
        }
    return nodes, library


def _heavy(function: str, nodes: Sequence[Node], constants: Mapping[_Key, Any]) -> list[Node]:
    out = []
    for node in nodes:
        value = constants.get((function, node.name))
        if value is not None and node.op.name == "Const":
            value.flags.writeable = False
            node = node.with_attrs(value=value)
        out.append(node)
    return out
