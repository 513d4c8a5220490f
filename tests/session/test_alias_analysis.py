"""Who owns an array: nothing that a caller does to its arrays changes a session's state."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.compiler.assemble import Assembler
from graphvm_runtime.compiler.program import Call
from graphvm_runtime.dtypes import float64
from graphvm_runtime.ir.derivatives.levels import BodyEditor
from graphvm_runtime.ir.graph import Function, Graph
from graphvm_runtime.shapes import TensorType


def _runs(session: Any, fetch: Any, feeds: Any = None, times: Any = 4) -> Any:
    """The same run in every tier: interpreted first, emitted later."""
    return [session.run(fetch, feeds) for _ in range(times)]


@pytest.fixture
def graph() -> Any:
    with tf.Graph().as_default() as g:
        yield g


def test_a_feed_changed_after_an_assign_leaves_the_variable_alone(graph: Any) -> None:
    v = tf.Variable(np.zeros(4, np.float32))
    x = tf.placeholder(tf.float32, [4])
    put = v.assign(x)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(4):
            fed = np.ones(4, np.float32)
            sess.run(put.op, {x: fed})
            fed[:] = 7
            np.testing.assert_array_equal(sess.run(v), np.ones(4, np.float32))


@pytest.mark.parametrize("view", ["reshape", "transpose", "slice", "identity", "squeeze"])
def test_a_view_of_a_feed_is_copied_before_a_variable_keeps_it(graph: Any, view: Any) -> None:
    x = tf.placeholder(tf.float32, [2, 2, 1])
    views: dict[str, Callable[[], Any]] = {
        "reshape": lambda: tf.reshape(x, [2, 2, 1]),
        "transpose": lambda: tf.transpose(x, [1, 0, 2]),
        "slice": lambda: x[:, :, :],
        "identity": lambda: tf.identity(x),
        "squeeze": lambda: tf.expand_dims(tf.squeeze(x, [2]), 2),
    }
    seen = views[view]()
    v = tf.Variable(np.zeros((2, 2, 1), np.float32))
    put = v.assign(seen)
    with tf.Session() as sess:
        sess.run(v.initializer)
        for _ in range(4):
            fed = np.ones((2, 2, 1), np.float32)
            sess.run(put.op, {x: fed})
            fed[:] = 7
            assert (sess.run(v) == 1).all()


@pytest.mark.parametrize("what", ["variable", "constant", "feed", "loop"])
def test_a_fetch_that_the_caller_changes_is_its_own(graph: Any, what: Any) -> None:
    v = tf.Variable(np.arange(4, dtype=np.float32))
    x = tf.placeholder(tf.float32, [4])
    start = tf.constant([1.0, 2.0, 3.0, 4.0])
    n = tf.placeholder_with_default(0, [])
    fetches: dict[str, Callable[[], Any]] = {
        "variable": lambda: tf.identity(v),
        "constant": lambda: tf.identity(start),
        "feed": lambda: tf.identity(x),
        "loop": lambda: tf.while_loop(
            lambda i, a: i < n, lambda i, a: (i + 1, a + 1.0), (tf.constant(0), start)
        )[1],
    }
    fetch = fetches[what]()
    feeds = {x: np.arange(4, dtype=np.float32)}
    with tf.Session() as sess:
        sess.run(v.initializer)
        want = sess.run(fetch, feeds).copy()
        for _ in range(4):
            got = sess.run(fetch, feeds)
            got[:] = -1
            np.testing.assert_array_equal(sess.run(fetch, feeds), want)
            np.testing.assert_array_equal(feeds[x], np.arange(4))


def test_two_fetches_of_one_memory_do_not_share_it(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [4])
    y = x * 2.0
    z = tf.reshape(y, [2, 2])
    with tf.Session() as sess:
        for _ in range(4):
            a, b, _ = sess.run([y, z, y], {x: np.ones(4, np.float32)})
            a[:] = 5
            assert (b == 2).all()


def test_what_a_variable_took_and_the_caller_fetched_are_apart(graph: Any) -> None:
    v = tf.Variable(np.zeros(4, np.float32))
    x = tf.placeholder(tf.float32, [4])
    y = x + 1.0
    put = v.assign(y)
    with tf.Session() as sess:
        sess.run(v.initializer)
        for _ in range(4):
            got, _ = sess.run([y, put.op], {x: np.zeros(4, np.float32)})
            got[:] = 9
            assert (sess.run(v) == 1).all()
            sess.run(v.assign_add(np.ones(4, np.float32)).op)


def test_a_read_before_an_assign_keeps_its_value_when_both_are_fetched(graph: Any) -> None:
    v = tf.Variable(np.zeros(4096, np.float32))
    before = v.read_value()
    with tf.control_dependencies([before]):
        add = v.assign_add(np.ones(4096, np.float32))
    with tf.Session() as sess:
        sess.run(v.initializer)
        for k in range(4):
            old, _ = sess.run([before, add.op])
            assert (old == k).all()


def test_an_array_fetched_earlier_is_not_written_by_a_later_step(graph: Any) -> None:
    v = tf.Variable(np.zeros(4096, np.float32))
    add = v.assign_add(np.ones(4096, np.float32))
    with tf.Session() as sess:
        sess.run(v.initializer)
        held = [sess.run(v)]
        for _ in range(4):
            sess.run(add.op)
            held.append(sess.run(v))
    assert [h[0] for h in held] == [0, 1, 2, 3, 4]


def test_threads_in_one_session_do_not_write_into_each_other(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [64, 64])
    y = x
    for _ in range(20):
        y = tf.tanh(y * 1.01) + 0.5
    wrong: list[int] = []
    with tf.Session() as sess:
        feeds = [np.full((64, 64), k, np.float32) for k in range(4)]
        want = [sess.run(y, {x: f}) for f in feeds]

        def work(k: Any) -> None:
            got = [sess.run(y, {x: feeds[k]}) for _ in range(50)]
            wrong.extend(k for g in got if not np.array_equal(g, want[k]))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def test_assign_add_from_many_threads_loses_nothing(graph: Any) -> None:
    v = tf.Variable(np.zeros(2048, np.float32))
    add = v.assign_add(np.ones(2048, np.float32))
    with tf.Session() as sess:
        sess.run(v.initializer)
        threads = [
            threading.Thread(target=lambda: [sess.run(add.op) for _ in range(50)]) for _ in range(4)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert (sess.run(v) == 200).all()


@pytest.mark.parametrize("of_function", [False, True])
def test_what_is_sent_is_copied_where_it_may_be_written_over(of_function: bool) -> None:
    """A step may still read what it sent when its program has gone on."""
    level = BodyEditor({}, [], [], [], ())
    level.param("x", TensorType(float64, (1000,)))
    attrs = {"T": float64, "_channel": 0, "recv_device": b"/job:worker/task:1"}
    level.add("send", "_Send", level.params, attrs, [])
    nodes = tuple(level.nodes.values())
    body = Function("f", tuple(level.params), (), (), Graph(nodes))
    assembler = Assembler({"f": body})
    program = (
        assembler.function("f").ready if of_function
        else assembler.program("main", nodes, body.params, ())
    )  # fmt: skip
    (send,) = (ins for ins in program.code if isinstance(ins, Call) and ins.node.name == "send")
    assert send.copies == ((0,) if of_function else ())


def test_what_is_computed_for_nothing_shares_one_buffer_and_nothing_else() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [16])
        idle = tf.group(*[x * float(k) for k in range(20)])
        used = x * 3.0
        value = np.arange(16.0)
        with tf.Session() as sess:
            for _ in range(4):
                _, found = sess.run([idle, used], {x: value})
                np.testing.assert_array_equal(found, np.arange(16.0) * 3)
                found[:] = -1
            np.testing.assert_array_equal(value, np.arange(16.0))
            assert sess.stats(idle, [x])["buffered"] == 20
