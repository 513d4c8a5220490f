"""Tensors as signatures name them.

Source: `tf.compat.v1.saved_model.utils`.
"""

from __future__ import annotations

from typing import Any

from graphvm.graph.graph import Graph, Tensor, get_default_graph
from graphvm_runtime.errors import GraphError, clipped
from graphvm_runtime.protos.meta_graph_pb2 import TensorInfo

__all__ = ["build_tensor_info", "get_tensor_from_tensor_info"]


def build_tensor_info(tensor: Any) -> TensorInfo:
    """Name, element type and static shape of a tensor.

    Args:
        tensor: a tensor, or a variable.

    Returns:
        The message.

    Raises:
        TypeError: it is neither.

    Source: `tf.compat.v1.saved_model.build_tensor_info`.
    """
    element = getattr(tensor, "_as_graph_element", None)
    found = tensor if element is None else element()
    if not isinstance(found, Tensor):
        raise TypeError(f"a signature names tensors, not {clipped(tensor)}")
    return TensorInfo(
        name=found.name,
        dtype=found.dtype.as_datatype_enum,  # type: ignore[arg-type]  # one of its numbers
        tensor_shape=found.shape.as_proto(),
    )


def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None
) -> Tensor:
    """The tensor that a message names.

    Args:
        tensor_info: the message.
        graph: the default graph otherwise.
        import_scope: name scope that the graph was imported under.

    Returns:
        The tensor.

    Raises:
        NameNotFoundError: the graph has none of that name.
        GraphError: the message names no tensor but parts of one.

    Source: `tf.compat.v1.saved_model.get_tensor_from_tensor_info`.
    """
    if tensor_info.WhichOneof("encoding") != "name":
        raise GraphError("the message names no single tensor")
    name = f"{import_scope}/{tensor_info.name}" if import_scope else tensor_info.name
    return (graph or get_default_graph()).get_tensor_by_name(name)
