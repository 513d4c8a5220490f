"""Products with elements of a sequence are made ahead of the loop, where that is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime import config

TRIPS, ROWS, WIDTH, CELLS = (
    5,
    16,
    128,
    128,
)  # large enough to pay: 2**20 multiplications for 4*CELLS


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def run(fetches: Any, feeds: dict[Any, Any]) -> tuple[list[Any], bool]:
    """The values, and whether the program of the first has a product ahead of its loop."""
    with config.EMIT.set(True), tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        values = sess.run(fetches, feeds)
        return values, "/ahead" in sess.program(fetches[0], list(feeds))


def both(fetches: Any, feeds: dict[Any, Any]) -> bool:
    """Runs with the pass and without; whether it did something."""
    found, ahead = run(fetches, feeds)
    with config.PASSES.set("-hoist-matmul"):
        expected, without = run(fetches, feeds)
    assert not without
    for mine, theirs in zip(found, expected, strict=True):
        near = 2e-4 if np.asarray(mine).dtype == np.float32 else 1e-9
        np.testing.assert_allclose(mine, theirs, rtol=near, atol=near)
    return ahead


@pytest.mark.parametrize("steps", [None, [1, 5, 0, 3] * 4])
@pytest.mark.parametrize(
    ("cell", "moved"),
    [
        (lambda: tf.nn.rnn_cell.BasicLSTMCell(CELLS), True),
        (lambda: tf.nn.rnn_cell.LSTMCell(CELLS, use_peepholes=True, num_proj=64), True),
        (lambda: tf.nn.rnn_cell.GRUCell(2 * CELLS), True),
        (lambda: tf.nn.rnn_cell.BasicRNNCell(4 * CELLS), True),
        (lambda: tf.nn.rnn_cell.BasicRNNCell(8), False),
    ],
)
def test_networks(cell: Callable[[], Any], moved: bool, steps: Any) -> None:
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [ROWS, TRIPS, WIDTH])
        y, state = tf.nn.dynamic_rnn(cell(), x, sequence_length=steps, dtype=tf.float32)
        parts = [state] if isinstance(state, tf.Tensor) else list(state)
        loss = tf.reduce_sum(y * y)
        slopes = tf.gradients(loss, [x, *tf.trainable_variables()])
        value = rng().standard_normal((ROWS, TRIPS, WIDTH)).astype(np.float32)
        assert both([y, *parts], {x: value}) == moved
        assert both([loss, *slopes], {x: value}) == moved


def sequence(
    *, start: int = 0, limit: Any = TRIPS, step: int = 1, index: Any = lambda i: i,
    inside: Any = lambda x: x, last: bool = False, dtype: Any = tf.float64, length: Any = TRIPS,
    variable: bool = False, changes: bool = False, alone: bool = False,
) -> tuple[list[Any], dict[Any, Any]]:  # fmt: skip
    """A loop that multiplies, in one of many ways that look alike."""
    xs = tf.placeholder(dtype, [length, ROWS, WIDTH])
    w = tf.placeholder(dtype, [WIDTH + (0 if alone else CELLS), 4 * CELLS])
    held = tf.Variable(tf.ones([WIDTH + CELLS, 4 * CELLS], dtype), use_resource=True)
    elements = tf.TensorArray(dtype, TRIPS, element_shape=[ROWS, WIDTH]).unstack(xs)

    def body(i: Any, h: Any) -> Any:
        x = inside(elements.read(index(i)))
        row = x if alone else tf.concat([h, x] if last else [x, h], 1)
        matrix = held if variable else w
        z = tf.matmul(row, matrix)
        before = [held.assign_add(0.5 * tf.ones_like(held))] if changes else []
        with tf.control_dependencies(before):
            return i + step, tf.tanh(z[:, :CELLS] + z[:, CELLS : 2 * CELLS])

    h = tf.zeros([ROWS, CELLS], dtype)
    _, y = tf.while_loop(lambda i, _: i < limit, body, [tf.constant(start), h])
    make = rng().standard_normal
    return [y], {xs: make((TRIPS, ROWS, WIDTH)), w: 0.1 * make(tuple(w.shape))}


@pytest.mark.parametrize(
    "options", [{}, {"last": True}, {"alone": True}, {"variable": True}, {"dtype": tf.float32}]
)
def test_products_that_are_made_ahead(options: dict[str, Any]) -> None:
    with tf.Graph().as_default():
        assert both(*sequence(**options))


@pytest.mark.parametrize(
    "options",
    [
        {"start": 1},
        {"limit": 3},
        {"step": 2},
        {"index": lambda i: TRIPS - 1 - i},
        {"inside": lambda x: x * 2.0},
        {"length": None},
        {"variable": True, "changes": True},
    ],
)
def test_products_that_stay_where_they_are(options: dict[str, Any]) -> None:
    with tf.Graph().as_default():
        assert not both(*sequence(**options))


def test_a_sequence_that_the_loop_changes_stays() -> None:
    with tf.Graph().as_default():
        xs = tf.placeholder(tf.float64, [TRIPS, ROWS, WIDTH])
        w = tf.placeholder(tf.float64, [WIDTH, 4 * CELLS])
        elements = tf.TensorArray(
            tf.float64, TRIPS, element_shape=[ROWS, WIDTH], clear_after_read=False
        ).unstack(xs)

        def body(i: Any, held: Any, total: Any) -> Any:
            z = tf.matmul(held.read(i), w)
            at = tf.minimum(i + 1, TRIPS - 1)
            return i + 1, held.write(at, z[:, :WIDTH] * 0.1), total + z

        start = [tf.constant(0), elements, tf.zeros([ROWS, 4 * CELLS], tf.float64)]
        _, _, total = tf.while_loop(lambda i, *_: i < TRIPS, body, start)
        feeds = {xs: rng().standard_normal((TRIPS, ROWS, WIDTH)), w: np.ones((WIDTH, 4 * CELLS))}
        assert not both([total], feeds)


def test_two_products_in_a_loop_in_a_branch() -> None:
    with tf.Graph().as_default():
        xs = tf.placeholder(tf.float64, [TRIPS, ROWS, WIDTH])
        w = tf.placeholder(tf.float64, [WIDTH + CELLS, 4 * CELLS])
        on = tf.placeholder(tf.bool, [])

        def loop() -> Any:
            elements = tf.TensorArray(tf.float64, TRIPS, clear_after_read=False).unstack(xs)

            def body(i: Any, h: Any) -> Any:
                x = elements.read(i)
                z = tf.matmul(tf.concat([x, h], 1), w) + tf.matmul(tf.concat([h, x], 1), w)
                return i + 1, tf.tanh(z[:, :CELLS])

            start = [tf.constant(0), tf.zeros([ROWS, CELLS], tf.float64)]
            return tf.while_loop(lambda i, _: i < TRIPS, body, start)[1]

        y = tf.cond(on, loop, lambda: tf.zeros([ROWS, CELLS], tf.float64))
        make = rng().standard_normal
        feeds = {xs: make((TRIPS, ROWS, WIDTH)), w: 0.1 * make((WIDTH + CELLS, 4 * CELLS))}
        for value in (True, False):
            assert both([y], {**feeds, on: value})


@pytest.mark.parametrize("what", ["concat", "axis", "element", "product"])
def test_what_happens_beside_a_product_happens_still(what: str) -> None:
    with tf.Graph().as_default():
        xs = tf.placeholder(tf.float64, [TRIPS, ROWS, WIDTH])
        w = tf.placeholder(tf.float64, [WIDTH + CELLS, 4 * CELLS])
        count = tf.Variable(0, use_resource=True)
        elements = tf.TensorArray(tf.float64, TRIPS, element_shape=[ROWS, WIDTH]).unstack(xs)

        def counted(make: Callable[[], Any], on: bool) -> Any:
            with tf.control_dependencies([count.assign_add(1)] if on else []):
                return make()

        def body(i: Any, h: Any) -> Any:
            x = counted(lambda: elements.read(i), what == "element")
            axis = counted(lambda: tf.constant(1), what == "axis")
            row = counted(lambda: tf.concat([x, h], axis), what == "concat")
            z = counted(lambda: tf.matmul(row, w), what == "product")
            return i + 1, tf.tanh(z[:, :CELLS])

        start = [tf.constant(0), tf.zeros([ROWS, CELLS], tf.float64)]
        y = tf.while_loop(lambda i, _: i < TRIPS, body, start)[1]
        with tf.control_dependencies([y]):
            after = tf.identity(count.read_value())
        make = rng().standard_normal
        feeds = {xs: make((TRIPS, ROWS, WIDTH)), w: 0.1 * make((WIDTH + CELLS, 4 * CELLS))}
        assert not both([y, after], feeds)
        assert run([y, after], feeds)[0][1] == TRIPS


def test_a_matrix_is_read_after_all_that_the_loop_waits_for() -> None:
    with tf.Graph().as_default():
        xs = tf.placeholder(tf.float64, [TRIPS, ROWS, WIDTH])
        held = tf.Variable(tf.zeros([WIDTH + CELLS, 4 * CELLS], tf.float64), use_resource=True)
        queue = tf.FIFOQueue(4, [tf.float64], [[WIDTH + CELLS, 4 * CELLS]])
        with tf.control_dependencies([queue.enqueue(0.1 * tf.ones_like(held))]):
            taken = queue.dequeue()
        with tf.control_dependencies([held.assign(taken)]):
            h = tf.identity(tf.zeros([ROWS, CELLS], tf.float64))
        elements = tf.TensorArray(tf.float64, TRIPS, element_shape=[ROWS, WIDTH]).unstack(xs)

        def body(i: Any, h: Any) -> Any:
            return i + 1, tf.tanh(tf.matmul(tf.concat([elements.read(i), h], 1), held)[:, :CELLS])

        y = tf.while_loop(lambda i, _: i < TRIPS, body, [tf.constant(0), h])[1]
        assert both([y], {xs: rng().standard_normal((TRIPS, ROWS, WIDTH))})


@pytest.mark.parametrize("shape", [[None, 4 * CELLS], [None, None], None])
def test_a_matrix_of_unknown_shape_stays(shape: Any) -> None:
    with tf.Graph().as_default():
        xs = tf.placeholder(tf.float64, [TRIPS, ROWS, WIDTH])
        w = tf.placeholder(tf.float64, shape)
        elements = tf.TensorArray(tf.float64, TRIPS, element_shape=[ROWS, WIDTH]).unstack(xs)

        def body(i: Any, h: Any) -> Any:
            z = tf.matmul(tf.concat([elements.read(i), h], 1), w)
            z.set_shape([ROWS, 4 * CELLS])
            return i + 1, tf.tanh(z[:, :CELLS])

        start = [tf.constant(0), tf.zeros([ROWS, CELLS], tf.float64)]
        y = tf.while_loop(lambda i, _: i < TRIPS, body, start)[1]
        make = rng().standard_normal
        feeds = {xs: make((TRIPS, ROWS, WIDTH)), w: 0.1 * make((WIDTH + CELLS, 4 * CELLS))}
        assert not both([y], feeds)


def test_a_sequence_that_is_longer_than_set_shape_said() -> None:
    with tf.Graph().as_default():
        given = tf.placeholder(tf.float64, [None, ROWS, WIDTH])
        xs = tf.identity(given)
        xs.set_shape([TRIPS, ROWS, WIDTH])
        w = tf.placeholder(tf.float64, [WIDTH, 4 * CELLS])
        elements = tf.TensorArray(tf.float64, TRIPS).unstack(xs)
        total = tf.while_loop(
            lambda i, _: i < TRIPS,
            lambda i, t: (i + 1, t + tf.matmul(elements.read(i), w)),
            [tf.constant(0), tf.zeros([ROWS, 4 * CELLS], tf.float64)],
        )[1]
        make = rng().standard_normal
        feeds = {given: make((TRIPS + 3, ROWS, WIDTH)), w: make((WIDTH, 4 * CELLS))}
        assert both([total], feeds)


def test_a_loop_in_a_loop() -> None:
    with tf.Graph().as_default():
        xs = tf.placeholder(tf.float64, [TRIPS, ROWS, WIDTH])
        w = tf.placeholder(tf.float64, [WIDTH + CELLS, 4 * CELLS])
        elements = tf.TensorArray(
            tf.float64, TRIPS, element_shape=[ROWS, WIDTH], clear_after_read=False
        ).unstack(xs)

        def step(i: Any, h: Any) -> Any:
            return i + 1, tf.tanh(tf.matmul(tf.concat([elements.read(i), h], 1), w)[:, :CELLS])

        def through(h: Any) -> Any:
            return tf.while_loop(lambda i, _: i < TRIPS, step, [tf.constant(0), h])[1]

        y = tf.while_loop(
            lambda j, _: j < 3,
            lambda j, h: (j + 1, through(h) + step(tf.constant(0), h)[1]),
            [0, tf.zeros([ROWS, CELLS], tf.float64)],
        )[1]
        make = rng().standard_normal
        feeds = {xs: make((TRIPS, ROWS, WIDTH)), w: 0.1 * make((WIDTH + CELLS, 4 * CELLS))}
        both([y], feeds)
