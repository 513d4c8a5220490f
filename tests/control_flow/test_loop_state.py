"""Arrays that a loop carries are written over, and nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphvm as tf
from graphvm.functions.function import FuncGraph
from graphvm_runtime import config
from graphvm_runtime.ops.signature import FuncRef

SIZE = 300  # large enough to be written over
LARGE = 6400  # large enough for planned buffers as well


def start(number: int = 0, size: int = SIZE) -> Any:
    return np.random.default_rng(number).uniform(-1, 1, size)


def agreeing(fetches: Any, feeds: dict[Any, Any]) -> Any:
    """What all machines give, in several runs, from feeds that stay as they are."""
    before = {k: np.copy(v) for k, v in feeds.items()}
    found = []
    for switch in (config.INTERPRET, config.EMIT, None):
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for _ in range(4):
                if switch is None:
                    found.append(sess.run(fetches, feeds))
                else:
                    with switch.set(True):
                        found.append(sess.run(fetches, feeds))
                sess.run(tf.global_variables_initializer())
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    for key, value in feeds.items():
        np.testing.assert_array_equal(value, before[key])
    return found[0]


def in_place(fetches: Any, feeds: dict[Any, Any]) -> tuple[int, int]:
    """How many instructions write over something, and how many arrays are copied, if emitted."""
    with config.EMIT.set(True), tf.Session() as sess:
        sess.run(fetches, feeds)
        stats = sess.stats(fetches, list(feeds))
        return stats["in place"], stats["copies"]


def test_a_sum_is_added_to_where_it_is() -> None:
    x = tf.placeholder(tf.float64, [SIZE])
    n = tf.placeholder(tf.int32, [])
    y = tf.while_loop(lambda i, t: i < n, lambda i, t: (i + 1, t + x), [0, tf.sin(x)])[1]
    value = start()
    (found,) = agreeing([y], {x: value, n: 5})
    np.testing.assert_allclose(found, np.sin(value) + 5 * value)
    assert in_place([y], {x: value, n: 5}) == (1, 0)


def test_what_a_loop_begins_with_is_copied_where_somebody_else_has_it() -> None:
    x = tf.placeholder(tf.float64, [SIZE])
    kept = tf.sin(x)
    loops = [
        tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * 2.0), [0, begin])[1]
        for begin in (x, kept, tf.constant(start(1)), tf.Variable(start(2)), kept[::-1],
                      tf.reshape(kept, [SIZE]), tf.zeros([SIZE], tf.float64) + 1)
    ]  # fmt: skip
    value = start()
    found = agreeing([*loops, kept, x], {x: value})
    sin = np.sin(value)
    for got, begin in zip(
        found, [value, sin, start(1), start(2), sin[::-1], sin, np.ones(SIZE)], strict=False
    ):
        np.testing.assert_array_equal(got, begin * 8)
    np.testing.assert_array_equal(found[-2], sin)


def test_a_loop_without_trips_gives_what_it_began_with() -> None:
    x = tf.placeholder(tf.float64, [SIZE])
    y = tf.while_loop(lambda i, t: i < 0, lambda i, t: (i + 1, t * 2.0), [0, x])[1]
    with tf.Session() as sess:
        value = start()
        for _ in range(4):
            found = sess.run(y, {x: value})
            np.testing.assert_array_equal(found, value)
            found[:] = 0
        np.testing.assert_array_equal(value, start())


def test_two_results_of_one_array() -> None:
    x = tf.placeholder(tf.float64, [SIZE])

    def body(i: Any, a: Any, b: Any) -> Any:
        c = a + b
        return i + 1, c, c

    def views(i: Any, a: Any, b: Any) -> Any:
        c = a + b
        return i + 1, c, c[::-1]

    for each in (body, views):
        _, a, b = tf.while_loop(lambda i, *_: i < 4, each, [0, x, x * 3.0])
        agreeing([a, b], {x: start()})


def test_what_lists_hold_is_left_alone() -> None:
    x = tf.placeholder(tf.float64, [SIZE])

    def body(i: Any, t: Any, seen: Any) -> Any:
        return i + 1, tf.tanh(t * 1.5), seen.write(i, t)

    seen = tf.TensorArray(tf.float64, 5)
    _, last, seen = tf.while_loop(lambda i, *_: i < 5, body, [0, x + 1.0, seen])
    value = start()
    found, end = agreeing([seen.stack(), last], {x: value})
    t = value + 1.0
    for row in found:
        np.testing.assert_array_equal(row, t)
        t = np.tanh(t * 1.5)
    np.testing.assert_array_equal(end, t)


def test_what_variables_are_given_is_left_alone() -> None:
    v = tf.Variable(np.zeros(SIZE), use_resource=True)

    def body(i: Any, t: Any) -> Any:
        with tf.control_dependencies([tf.assign(v, t)]):
            return i + 1, tf.sin(t) + 0.0 * v.read_value()

    y = tf.while_loop(lambda i, t: i < 3, body, [0, tf.constant(start())])[1]
    with tf.control_dependencies([y]):
        after = v.read_value()
    found, held = agreeing([y, after], {})
    np.testing.assert_array_equal(held, np.sin(np.sin(start())))
    np.testing.assert_array_equal(found, np.sin(held))


def test_a_loop_that_fails_leaves_its_feeds_alone() -> None:
    x = tf.placeholder(tf.float64, [SIZE])

    def body(i: Any, t: Any) -> Any:
        with tf.control_dependencies([tf.Assert(i < 3, ["too far"])]):
            return i + 1, t * 2.0

    y = tf.while_loop(lambda i, t: i < 5, body, [0, x])[1]
    with tf.Session() as sess:
        value = start()
        for _ in range(4):
            with pytest.raises(tf.errors.InvalidArgumentError, match="too far"):
                sess.run(y, {x: value})
        np.testing.assert_array_equal(value, start())


# -- any loop ---------------------------------------------------------------------------------

UNARY: list[Callable[[Any], Any]] = [
    tf.tanh, tf.sin, tf.negative, tf.identity, lambda x: x[::-1],
    lambda x: tf.reshape(x, [-1, 10])[:, ::-1], lambda x: x * 0.5,
    lambda x: tf.cond(x[0, 0] > 0, lambda: x, lambda: -x),
    lambda x: tf.while_loop(lambda j, y: j < 2, lambda j, y: (j + 1, y * 0.5 + x), [0, x])[1],
    lambda x: tf.concat([x[:5], x[5:]], 0),
    lambda x: tf.matmul(x, tf.constant(start(3, 100).reshape(10, 10))),
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    tf.add, tf.multiply, tf.maximum, lambda x, y: tf.add_n([x, y, x]),
    lambda x, y: tf.cond(x[1, 1] > y[1, 1], lambda: x + 0.1, lambda: y),
]  # fmt: skip

places = st.integers(0, 7)
instructions = st.one_of(
    st.tuples(st.integers(0, len(UNARY) - 1), places),
    st.tuples(st.integers(0, len(BINARY) - 1), places, places),
)


@settings(max_examples=60, deadline=None)
@given(
    code=st.lists(instructions, min_size=1, max_size=8),
    results=st.lists(places, min_size=3, max_size=3),
    begin=st.lists(st.integers(0, 3), min_size=3, max_size=3),
    trips=st.integers(0, 3),
    size=st.sampled_from([SIZE, LARGE]),
    blocking=st.booleans(),
)
def test_any_loop_over_arrays_is_the_same_in_all_machines(
    code: list[tuple[int, ...]], results: list[int], begin: list[int], trips: int, size: int,
    blocking: bool,
) -> None:  # fmt: skip
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [size // 10, 10])
        outside = [x, tf.sin(x), tf.constant(start(1, size).reshape(-1, 10)), x * 2.0]

        def body(i: Any, *carried: Any) -> Any:
            values = [*carried, outside[1]]
            for number, *args in code:
                picked = [values[a % len(values)] for a in args]
                table: Any = UNARY if len(picked) == 1 else BINARY
                values.append(table[number](*picked))
            return (i + 1, *(values[-1 - r % len(values)] for r in results))

        loop = tf.while_loop(lambda i, *_: i < trips, body, [0, *(outside[b] for b in begin)])
        fetches = [*loop[1:], *outside]
        if blocking:  # then the loop runs in a strand
            queue = tf.FIFOQueue(4, [tf.float64], [[]])
            with tf.control_dependencies([queue.enqueue(1.0)]):
                fetches.append(queue.dequeue() + tf.reduce_sum(loop[1]))
        agreeing(fetches, {x: start(0, size).reshape(-1, 10)})


# -- shapes that are not what a user said -----------------------------------------------------

SHAPES = [(128, 128), (1, 128), (128, 1)]


@pytest.mark.parametrize("shape", SHAPES)
def test_values_of_another_shape_than_set_shape_said(shape: tuple[int, ...]) -> None:
    given = tf.placeholder(tf.float64, None)
    x = tf.identity(given)
    x.set_shape([128, 128])
    loops = [
        tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + 1.0), [0, x * 2.0])[1],
        tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a) * x), [0, x])[1],
    ]
    chains = [x * 2.0, tf.tanh(x * 2.0 + 1.0), tf.concat([x, x], 0) * 2.0]
    value = start(0, shape[0] * shape[1]).reshape(shape)
    found = agreeing([*loops, *(tf.reduce_sum(c) for c in chains)], {given: value})
    np.testing.assert_allclose(found[0], value * 2 + 3)
    np.testing.assert_allclose(found[2], np.sum(value * 2))
    np.testing.assert_allclose(found[3], np.sum(np.tanh(value * 2 + 1)))


def test_a_variable_that_took_another_shape() -> None:
    v = tf.Variable(np.ones((128, 128)), use_resource=False)
    other = tf.assign(v, np.ones((1, 128)), validate_shape=False)
    total = tf.reduce_sum(tf.tanh(v * 2.0 + 1.0))
    # that the variable has the shape it was made with is a rule of our own
    with config.VERIFY.set(False), tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(other)
        for _ in range(4):
            assert sess.run(total) == pytest.approx(128 * np.tanh(3.0))


# -- bodies ------------------------------------------------------------------------------------


def test_a_body_that_contains_itself() -> None:
    graph = FuncGraph("round", tf.get_default_graph())
    attrs = {"cond": FuncRef("again"), "body": FuncRef("round"), "output_shapes": ((), (SIZE,))}
    with graph.as_default():
        n, x = graph.add_arg(tf.int32, [], "n"), graph.add_arg(tf.float64, [SIZE], "x")
        inner = graph.add_node("StatelessWhile", ([n - 1, x * 2.0],), attrs, "inner").outputs
    test = FuncGraph("again", tf.get_default_graph())
    with test.as_default():
        m, _ = test.add_arg(tf.int32, [], "n"), test.add_arg(tf.float64, [SIZE], "x")
        go_on = m > 0
    test.finish([go_on])
    graph.finish([inner[0], inner[1] + 1.0])
    x = tf.placeholder(tf.float64, [SIZE])
    made = tf.get_default_graph().add_node("StatelessWhile", ([tf.constant(3), x],), attrs)
    agreeing([made.outputs[1]], {x: start()})


def test_programs_say_what_a_body_owns() -> None:
    x = tf.placeholder(tf.float64, [SIZE])
    y = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + x), [0, x])[1]
    with config.EMIT.set(True), tf.Session() as sess:
        sess.run(y, {x: start()})
        assert "while_body owning 1(" in sess.program(y, [x])
