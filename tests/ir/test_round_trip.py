"""What is written or printed is read back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import graphvm as tf
from graphvm_runtime.errors import GraphError
from graphvm_runtime.ir.graph import Graph, Node
from graphvm_runtime.ir.graphdef.read import read_graph, read_nodes
from graphvm_runtime.ir.graphdef.write import write_graph, write_nodes
from graphvm_runtime.ir.text import parse_graph, print_graph
from graphvm_runtime.ir.verify import verify
from tests.ir.random_graphs import graphs

often = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def everything(graph: Graph) -> bytes:
    """All that a graph says, bit for bit."""
    message = write_graph(graph, shapes=True, sources=True, internal=True)
    return message.SerializeToString(deterministic=True)


@often
@given(graphs())
def test_graphs_keep_the_rules(graph: tf.Graph) -> None:
    verify(graph.ir())


@often
@given(graphs())
def test_text_is_read_back(graph: tf.Graph) -> None:
    held = graph.ir()
    text = print_graph(held)
    back = parse_graph(text)
    assert print_graph(back) == text
    assert everything(back) == everything(held)
    verify(back)


@often
@given(graphs())
def test_messages_are_read_back(graph: tf.Graph) -> None:
    held = graph.ir()
    back = read_graph(write_graph(held, shapes=True, sources=True))
    assert print_graph(back) == print_graph(held)
    assert everything(back) == everything(held)


@often
@given(graphs())
def test_nodes_cross_in_two_parts(graph: tf.Graph) -> None:
    held = graph.ir()
    half = len(held.nodes) // 2
    first, library = read_nodes(
        write_nodes(held.nodes[:half], held.library).SerializeToString(), _no_node
    )
    known = {n.name: n for n in first}
    second, none = read_nodes(
        write_nodes(held.nodes[half:], {}).SerializeToString(), known.__getitem__
    )
    assert none == {}
    whole = Graph((*first, *second), library, held.producer)
    assert print_graph(whole) == print_graph(held)


def _no_node(name: str) -> Node:
    raise GraphError(name)


FILES = [
    f
    for f in sorted((Path(__file__).parent.parent / "data" / "goldens").glob("*/*/graph.pb"))
    if f.parent.parent.name != "errors_import"
]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f"{f.parent.parent.name}/{f.parent.name}")
def test_files_of_tensorflow_are_read_back(file: Path) -> None:
    held = read_graph(tf.GraphDef.FromString(file.read_bytes()))
    verify(held)
    text = print_graph(held)
    assert print_graph(parse_graph(text)) == text
    assert print_graph(read_graph(write_graph(held, shapes=True, internal=True))) == text
