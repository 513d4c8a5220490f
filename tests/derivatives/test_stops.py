"""Tensors that count as constant: what makes them is not differentiated, whatever else they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphvm as tf

# each node: what it is made of, by place; two inputs are multiplied, one is doubled
DAGS = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.booleans()), max_size=6)


def built(dag: list[tuple[int, int, bool]], stops: set[int]) -> tuple[list[Any], Any]:
    """The nodes, and the last value; where there are stops, each is a stop_gradient."""
    # a source depends on nothing, a copy of it is what others use
    nodes: list[Any] = [tf.constant(2.0), tf.constant(3.0)]
    used = [tf.stop_gradient(n) if i in stops else n for i, n in enumerate(nodes)]
    for a, b, two in dag:
        i, j = a % len(used), b % len(used)
        nodes.append(used[i] * used[j] + used[i] if two else 2.0 * used[i])
        stopped = len(nodes) - 1 in stops
        used.append(tf.stop_gradient(nodes[-1]) if stopped else nodes[-1])
    return used, tf.add_n(used)


@settings(max_examples=40, deadline=None)
@given(DAGS, st.data())
def test_stops_are_like_stop_gradients_put_in(dag: Any, data: Any) -> None:
    places = st.sets(st.integers(0, len(dag) + 1))
    stops, xs = data.draw(places), sorted(data.draw(places))
    with tf.Graph().as_default(), tf.Session() as session:
        nodes, y = built(dag, set())
        found = tf.gradients(y, [nodes[i] for i in xs], stop_gradients=[nodes[i] for i in stops])
        copies, z = built(dag, stops)
        wanted = tf.gradients(z, [copies[i] for i in xs])
        assert [g is None for g in found] == [g is None for g in wanted]
        pairs = [p for p in zip(found, wanted, strict=True) if p[0] is not None]
        for got, want in session.run(pairs):
            assert got == want


@pytest.mark.parametrize("stop", [0, 1])
def test_all_of_a_node_stops(stop: int) -> None:
    x = tf.constant([1.0, 2.0])
    parts = tf.split(x, 2)
    assert tf.gradients(parts[1], [x], stop_gradients=[parts[stop]]) == [None]


@pytest.mark.parametrize("options", [
    {"colocate_gradients_with_ops": True}, {"gate_gradients": True},
    {"aggregation_method": tf.AggregationMethod.EXPERIMENTAL_TREE},
    {"grad_ys": [2.0]}, {"unconnected_gradients": tf.UnconnectedGradients.ZERO},
], ids=lambda o: next(iter(o)))  # fmt: skip
def test_a_stopped_x_beside_each_option(options: dict[str, Any]) -> None:
    x = tf.constant(1.0)
    free = tf.constant(4.0)
    y = 2.0 * x
    z = x + y
    found = tf.gradients([z], [x, y, free], stop_gradients=[x, y], **options)
    scale = 2.0 if "grad_ys" in options else 1.0
    with tf.Session() as session:
        assert session.run(found[:2]) == [scale, scale]
        assert (found[2] is None) == ("unconnected_gradients" not in options)


def test_a_stopped_result_of_control_flow() -> None:
    x = tf.constant(3.0)
    y = tf.cond(tf.constant(True), lambda: x * x, lambda: x)
    (g,) = tf.gradients(y * x, [x], stop_gradients=[y])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(g), 9)
