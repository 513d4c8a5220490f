"""Walks over a graph and its functions, free names, constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphvm as tf
from graphvm_runtime import dtypes
from graphvm_runtime.ir.constants import constant
from graphvm_runtime.ir.graph import Graph, Node, unused
from graphvm_runtime.ir.graphdef.read import read_graph
from graphvm_runtime.shapes import TensorType


def with_a_branch() -> Graph:
    x = tf.placeholder(tf.float32, [])
    tf.cond(x > 0, lambda: tf.sin(x), lambda: tf.cos(x))
    return read_graph(tf.get_default_graph().as_graph_def())


def test_all_nodes_are_those_of_the_graph_and_of_its_functions() -> None:
    graph = with_a_branch()
    ops = [n.op.name for n in graph.all_nodes()]
    assert ops[: len(graph.nodes)] == [n.op.name for n in graph.nodes]
    assert {"Sin", "Cos"} <= set(ops[len(graph.nodes) :])


def test_a_change_of_bodies_changes_functions_too_and_not_the_graph_itself() -> None:
    def elsewhere(nodes: Iterable[Node]) -> list[Node]:
        return [n.with_attrs(_seen=True) for n in nodes]

    graph = with_a_branch()
    changed = graph.map_bodies(elsewhere)
    assert all("_seen" in n.attrs for n in changed.all_nodes())
    assert not any("_seen" in n.attrs for n in graph.all_nodes())
    for name, function in graph.library.items():
        assert changed.library[name].results == function.results


@given(st.lists(st.sampled_from(["x", "x_1", "x_2", "x_3", "y"])), st.sampled_from(["x", "y"]))
def test_a_free_name_is_the_first_that_is_taken_nowhere(taken: list[str], wanted: str) -> None:
    found = unused(wanted, taken[::2], set(taken[1::2]))
    candidates = [wanted, *(f"{wanted}_{i}" for i in range(1, 10))]
    assert found == next(c for c in candidates if c not in taken)


@pytest.mark.parametrize("value", [1.5, [1, 2], np.zeros((2, 0))])
def test_a_constant_has_the_type_of_its_array_and_cannot_be_changed(value: Any) -> None:
    node = constant("c", value, dtypes.float32, after=["a"])
    held = node.attrs["value"]
    assert node.outputs == (TensorType(dtypes.float32, np.shape(value)),)
    assert (held.dtype, node.after) == (np.float32, ("a",))
    assert not held.flags.writeable
