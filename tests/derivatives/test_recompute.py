"""`recompute=`: the same derivatives for less memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf

CHOICES = ["none", "all", 1, 3, 100]


def program(recompute: Any, random: bool, nested: bool) -> tuple[tf.Graph, list[Any], list[Any]]:
    """A loss with derivatives of first and second order, and what it takes."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(7)
        x, w = tf.placeholder(tf.float64, [4, 4]), tf.placeholder(tf.float64, [4, 4])
        n = tf.placeholder(tf.int32, [])

        def body(i: Any, h: Any, total: Any) -> Any:
            z = tf.tanh(tf.matmul(h, w))
            if nested:
                z = tf.while_loop(lambda j, z: j < 3, lambda j, z: (j + 1, tf.sin(z * w)), [0, z])[
                    1
                ]
                z = tf.cond(tf.reduce_sum(z) > 0, lambda: z * z, lambda: tf.exp(z))
            if random:
                z *= tf.random_uniform([4, 4], dtype=tf.float64, seed=5)
            z = tf.exp(tf.sin(z) * tf.cos(h))
            return i + 1, z / tf.reduce_sum(z), total + tf.reduce_sum(z)

        zero = tf.constant(0.0, tf.float64)
        _, h, total = tf.while_loop(
            lambda i, h, total: i < n, body, [0, x, zero], recompute=recompute
        )
        loss = tf.reduce_sum(h * h) + total
        first = tf.gradients(loss, [x, w])
        second = tf.gradients(tf.reduce_sum(first[0] * first[1]), [x, w])
    return graph, [x, w, n], [loss, *first, *second]


@pytest.mark.slow
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("random", [False, True])
def test_all_choices_give_the_same_derivatives(random: bool, nested: bool) -> None:
    given = np.random.default_rng(0).standard_normal((2, 4, 4))
    results = []
    for choice in CHOICES:
        graph, (x, w, n), out = program(choice, random, nested)
        with tf.Session(graph=graph) as sess:
            # more runs than one: optimised programs must agree as well
            results.append(
                [sess.run(out, {x: given[0], w: given[1], n: trips}) for trips in (0, 1, 7, 7, 7)]
            )
    for other in results[1:]:
        for mine, theirs in zip(results[0], other, strict=True):
            for a, b in zip(mine, theirs, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9)


def chain(recompute: Any, size: int, maximum: Any = None) -> tuple[tf.Graph, Any]:
    """The gradient of a loop whose body makes many arrays of `size` numbers."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.ones([size], tf.float64)

        def body(i: Any, h: Any) -> Any:
            for _ in range(6):
                h = tf.sin(tf.exp(-h * h))
            return i + 1, h

        _, h = tf.while_loop(
            lambda i, h: i < 48, body, [0, x], recompute=recompute, maximum_iterations=maximum
        )
        (gradient,) = tf.gradients(h, [x])
    return graph, gradient


def lists_of(graph: tf.Graph) -> int:
    """How many lists the loops of a graph keep for its derivatives."""
    message = graph.as_graph_def()
    nodes = [*message.node, *(n for f in message.library.function for n in f.node_def)]
    return sum(n.op == "TensorListPushBack" for n in nodes)


def test_only_the_state_is_kept() -> None:
    kept = {choice: lists_of(chain(choice, 4)[0]) for choice in ("none", "all")}
    # sin and exp and h * h need their inputs, six times
    assert kept["none"] >= 12
    assert kept["all"] == 1


def test_memory_goes_down() -> None:
    size = 20_000
    peaks = {}
    values = {}
    for choice in ("none", "all", 7):
        graph, gradient = chain(choice, size)
        with tf.Session(graph=graph) as sess:
            values[choice] = sess.run(gradient)
            tracemalloc.start()
            sess.run(gradient)
            peaks[choice] = tracemalloc.get_traced_memory()[1] / (8 * size)
            tracemalloc.stop()
    np.testing.assert_allclose(values["none"], values["all"])
    np.testing.assert_allclose(values["none"], values[7])
    # arrays alive at once: all of 48 iterations; 48 states; 7 states and 7 iterations
    assert peaks["none"] > 48 * 12
    assert 48 < peaks["all"] < 48 + 60
    assert peaks[7] < 7 * 26
    assert peaks["all"] < peaks["none"] / 5


def test_a_limit_still_holds() -> None:
    expected = None
    for choice in ("none", "all", 5):
        graph, gradient = chain(choice, 3, maximum=17)
        with tf.Session(graph=graph) as sess:
            value = sess.run(gradient)
        expected = value if expected is None else expected
        np.testing.assert_allclose(value, expected)


def test_structures_and_arrays_pass_through() -> None:
    def build(recompute: Any) -> Any:
        x = tf.constant([1.0, 2.0], tf.float64)
        array = tf.TensorArray(tf.float64, 8)

        def body(state: Any, kept: Any) -> Any:
            return (
                {"i": state["i"] + 1, "h": tf.sin(state["h"]) * 1.5},
                kept.write(state["i"], state["h"]),
            )

        state, kept = tf.while_loop(
            lambda state, kept: state["i"] < 8,
            body,
            [{"i": tf.constant(0), "h": x}, array],
            recompute=recompute,
        )
        loss = tf.reduce_sum(state["h"]) + tf.reduce_sum(kept.stack() ** 2)
        return [loss, *tf.gradients(loss, [x])]

    with tf.Graph().as_default(), tf.Session() as sess:
        plain = sess.run(build(None))
        for choice in ("all", 3):
            for mine, theirs in zip(sess.run(build(choice)), plain, strict=True):
                np.testing.assert_allclose(mine, theirs)


def test_one_variable_alone_keeps_its_form() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant(2.0)
        for choice in ("none", "all", 2):
            bare = tf.while_loop(lambda x: x < 9.0, lambda x: x * 2.0, [x], recompute=choice)
            listed = tf.while_loop(
                lambda x: x < 9.0, lambda x: [x * 2.0], [x], recompute=choice,
                return_same_structure=True,
            )  # fmt: skip
            assert isinstance(bare, tf.Tensor)
            assert isinstance(listed, list)
            assert sess.run([bare, *listed]) == [16.0, 16.0]


@pytest.mark.parametrize("wrong", [0, -1, "some", 2.5, True])
def test_other_choices_are_refused(wrong: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="recompute is"):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], recompute=wrong)


@pytest.mark.parametrize("inner", ["none", "all"])
@pytest.mark.parametrize("kind", ["variable", "random", "branch"])
def test_what_an_inner_loop_takes_and_nobody_reads_may_go(kind: str, inner: str) -> None:
    results = []
    for choice in ("none", "all", 2):
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(3)
            w, x = tf.Variable(0.6, dtype=tf.float64), tf.constant(0.5, tf.float64)

            def body(i: Any, a: Any, w: Any = w) -> Any:
                makers: dict[str, Callable[[], Any]] = {
                    "variable": lambda: tf.sin(w),
                    "random": lambda: tf.random_uniform([], seed=1, dtype=tf.float64),
                    "branch": lambda: tf.cond(a > 0.0, lambda: w * 2.0, lambda: w + a),
                }
                idle = makers[kind]()
                _, b, _ = tf.while_loop(
                    lambda j, b, idle: j < 2,
                    lambda j, b, idle: (j + 1, tf.sin(b), idle),
                    (0, a, idle),
                    recompute=inner,
                )
                return i + 1, b

            y = tf.while_loop(lambda i, a: i < 3, body, (0, x), recompute=choice)[1]
            (first,) = tf.gradients(y, [x])
            (second,) = tf.gradients(first, [x])
            sess.run(tf.global_variables_initializer())
            results.append(sess.run([y, first, second]))
    for other in results[1:]:
        np.testing.assert_allclose(results[0], other)
