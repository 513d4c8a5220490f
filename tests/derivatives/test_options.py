"""Every option of `gradients`, alone and beside the others."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphvm as tf

_OPS: list[tuple[str, Any]] = [
    ("Add", lambda a, b: a + b),
    ("Mul", lambda a, b: a * b),
    ("Sin", lambda a, b: tf.sin(a)),
    ("Square", lambda a, b: tf.square(b)),
    ("Sub", lambda a, b: a - b * 0.5),
]


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Nodes of a graph: an op and two earlier tensors; tensors 0 and 1 are given."""
    count = draw(st.integers(2, 6))
    return [
        (draw(st.integers(0, len(_OPS) - 1)), draw(st.integers(0, n)), draw(st.integers(0, n)))
        for n in range(1, 1 + count)
    ]


def build(program: list[tuple[int, int, int]], stopped: set[int]) -> list[Any]:
    """All tensors; those in `stopped` are the outputs of a `stop_gradient`."""
    tensors = [tf.constant(0.7), tf.constant(-1.3)]
    tensors = [tf.stop_gradient(t) if i in stopped else t for i, t in enumerate(tensors)]
    for op, a, b in program:
        made = _OPS[op][1](tensors[a], tensors[b])
        tensors.append(tf.stop_gradient(made) if len(tensors) in stopped else made)
    return tensors


@settings(max_examples=40)
@given(
    programs(),
    st.sets(st.integers(0, 7)),
    st.sets(st.integers(0, 7), min_size=1),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["none", "zero"]),
)
def test_a_stopped_tensor_is_constant_even_where_it_is_a_source(
    program: list[tuple[int, int, int]],
    stops: set[int],
    wanted: set[int],
    colocate: bool,
    gate: bool,
    unconnected: str,
) -> None:
    """The same as `stop_gradient` put in behind each stopped tensor."""
    last = 1 + len(program)
    stops = {min(i, last) for i in stops}
    places = sorted({min(i, last) for i in wanted})
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = build(program, set())
        found = tf.gradients(
            [tensors[-1], tensors[-2]], [tensors[i] for i in places],
            grad_ys=[tf.constant(1.5), None],
            stop_gradients=[tensors[i] for i in sorted(stops)],
            colocate_gradients_with_ops=colocate, gate_gradients=gate,
            unconnected_gradients=unconnected,
        )  # fmt: skip
        copies = build(program, stops)
        want = tf.gradients(
            [copies[-1], copies[-2]], [copies[i] for i in places],
            grad_ys=[tf.constant(1.5), None], unconnected_gradients=unconnected,
        )  # fmt: skip
        assert [g is None for g in found] == [g is None for g in want]
        pairs = [(a, b) for a, b in zip(found, want, strict=True) if a is not None]
        for a, b in session.run(pairs):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_a_stop_holds_for_all_outputs_of_its_operation() -> None:
    """As in TensorFlow, which stops at operations."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1.0, 2.0, 3.0, 4.0])
        a, b = tf.split(x * 3.0, 2)
        to_x, to_a, to_b = tf.gradients(a * 5.0 + b, [x, a, b], stop_gradients=[a])
        assert to_x is None
        assert session.run([to_a, to_b])[0].tolist() == [5.0, 5.0]
        assert session.run(to_b).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("method", [0, 1, 2])
def test_sums_are_colocated_with_what_they_are_the_gradient_of(method: int) -> None:
    with tf.Graph().as_default():
        with tf.device("/cpu:0"):
            x = tf.constant(2.0, name="x")
        y = tf.sin(x, name="y") + tf.cos(x) + tf.square(x)
        (grad,) = tf.gradients(y, x, colocate_gradients_with_ops=True, aggregation_method=method)
        assert grad.op.type == "AddN"
        assert grad.op.colocation_groups() == [b"loc:@x"]
        assert grad.op.device == x.op.device


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


@pytest.mark.parametrize("options", [{"aggregation_method": 77}, {"stop_gradients": "x"}])
def test_options_that_are_none_are_refused(options: dict[str, Any]) -> None:
    x = tf.constant(3.0, name="x")
    with pytest.raises((ValueError, TypeError)):
        tf.gradients(x * x, [x], **options)


def test_names_are_no_tensors_to_differentiate() -> None:
    with pytest.raises(TypeError, match="get_tensor_by_name"):
        tf.gradients("y", "x")


def test_a_trainable_counter_is_left_alone() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w, step = tf.Variable(1.0), tf.Variable(0)
        train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w, global_step=step)
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert session.run([w, step]) == [pytest.approx(0.8), 1]
