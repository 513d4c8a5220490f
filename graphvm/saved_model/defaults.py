"""Leaving out attributes that have their default values, for readers that know fewer of them."""

from __future__ import annotations

from collections.abc import Iterable

from graphvm_runtime.ir.graphdef.attrs import write_attr
from graphvm_runtime.ops import known, lookup
from graphvm_runtime.ops.signature import REQUIRED
from graphvm_runtime.protos.graph_pb2 import GraphDef
from graphvm_runtime.protos.node_def_pb2 import NodeDef


def strip_defaults(graph: GraphDef) -> None:
    """Removes such attributes from all nodes, those of functions included."""
    _strip(graph.node)
    for function in graph.library.function:
        _strip(function.node_def)


def _strip(nodes: Iterable[NodeDef]) -> None:
    for node in nodes:
        if not known(node.op):
            continue
        for name, attr in lookup(node.op).attrs.items():
            if attr.default is not REQUIRED and name in node.attr:
                written = write_attr(attr.default, attr.kind)
                if node.attr[name].SerializeToString() == written.SerializeToString():
                    del node.attr[name]
