"""Session.run: fetches, feeds, callables, timeouts, interrupts, traces."""

import collections
import json
import signal
import threading
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm.session.timeline import Timeline
from graphvm_runtime import config


@pytest.fixture
def graph() -> Any:
    with tf.Graph().as_default() as g:
        yield g


Pair = collections.namedtuple("Pair", "a b")


def test_fetches_nest_in_lists_tuples_dictionaries_and_named_tuples(graph: Any) -> None:
    x = tf.constant(3.0)
    y = tf.constant([1, 2], name="y")
    op = tf.no_op()
    with tf.Session() as sess:
        got = sess.run({"l": [x, (y, op)], "n": Pair(x, "y:0"), "e": []})
    assert got["l"][0] == 3
    assert got["l"][1][1] is None
    assert isinstance(got["l"][1], tuple)
    assert isinstance(got["n"], Pair)
    np.testing.assert_array_equal(got["n"].b, [1, 2])
    assert got["e"] == []


def test_rank_zero_comes_out_as_a_scalar_of_its_type_and_strings_as_bytes(graph: Any) -> None:
    with tf.Session() as sess:
        fetches = tf.constant(2, tf.int64), tf.constant("ab")
        for _ in range(4):
            number, text = sess.run(fetches)
    assert type(number) is np.int64
    assert number == 2
    assert text == b"ab"


def test_any_tensor_can_be_fed_also_the_constant_that_fixed_a_shape(graph: Any) -> None:
    shape = tf.constant([2, 3])
    y = tf.reshape(tf.range(6), shape)
    assert y.shape.as_list() == [2, 3]
    doubled = y + y
    with tf.Session() as sess:
        for _ in range(4):
            assert sess.run(doubled).shape == (2, 3)
            assert sess.run(doubled, {shape: [3, 2]}).shape == (3, 2)
            assert sess.run(doubled, {y: np.ones((2, 3), np.int32)}).tolist() == [[2] * 3] * 2


def test_numbers_are_cast_silently_when_fed(graph: Any) -> None:
    x = tf.placeholder(tf.int32, [])
    u = tf.placeholder(tf.uint8, [1])
    with tf.Session() as sess:
        assert sess.run(x + 0, {x: 1.5}) == 1
        assert sess.run(tf.identity(u), {u: np.array([300])}).tolist() == [44]
        assert sess.run(x + 0, {x: np.array(2**40)}) == 0


def test_bad_feeds_and_fetches_say_what_is_wrong(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [2], name="x")
    y = x * 2.0
    with tf.Session() as sess:
        with pytest.raises(ValueError, match=r"\[3\].*'x:0'.*\[2\]"):
            sess.run(y, {x: [1.0, 2.0, 3.0]})
        with pytest.raises(TypeError, match="nothing"):
            sess.run(y, {"nothing:0": 1.0})
        with pytest.raises(ValueError, match="nothing"):
            sess.run("nothing:0")
        with pytest.raises(TypeError, match="None"):
            sess.run(None)
        with pytest.raises(TypeError, match="x:0"):
            sess.run(y, {x: y})
        with pytest.raises(tf.errors.InvalidArgumentError, match="x") as caught:
            sess.run(y)
        assert "test_run.py" in str(caught.value)
        assert sess.run(y, {x: [1, 2]}).tolist() == [2, 4]


def test_a_fetch_fed_gives_what_was_fed(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as sess:
        for _ in range(4):
            fed = np.array([1, 2], np.float32)
            got = sess.run(x, {x: fed})
            got[0] = 5
            assert fed[0] == 1


def test_a_callable_gives_what_run_gives(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    y = tf.placeholder(tf.float32, [2])
    with tf.Session() as sess:
        one = sess.make_callable(x + 1.0, feed_list=[x])
        two = sess.make_callable([x * y, {"y": y}], feed_list=[x, y])
        for _ in range(5):
            assert one(np.float32(2)) == 3
            a, b = two(2.0, [1, 2])
            assert a.tolist() == [2, 4]
            assert b["y"].tolist() == [1, 2]
        with pytest.raises(TypeError, match="takes 1"):
            one()


def test_a_graph_that_grows_after_a_run_runs_on(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [])
    y = x + 1.0
    with tf.Session() as sess:
        for k in range(4):
            assert sess.run(y, {x: k}) == k + 1
        z = y * 2.0
        for k in range(4):
            assert sess.run([y, z], {x: k}) == [k + 1, 2 * k + 2]


def test_a_loop_that_never_ends_meets_its_timeout(graph: Any) -> None:
    loop = tf.while_loop(lambda i: tf.constant(True), lambda i: i + 1, [tf.constant(0)])
    with tf.Session() as sess:
        with pytest.raises(tf.errors.DeadlineExceededError, match="longer"):
            sess.run(loop, options=tf.RunOptions(timeout_in_ms=200))
        config = tf.ConfigProto(operation_timeout_in_ms=200)
    with tf.Session(config=config) as sess, pytest.raises(tf.errors.DeadlineExceededError):
        sess.run(loop)


def test_a_queue_that_stays_empty_meets_its_timeout(graph: Any) -> None:
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[]])
    item = queue.dequeue()
    with tf.Session() as sess:
        for _ in range(4):
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(item, options=tf.RunOptions(timeout_in_ms=50))
        sess.run(queue.enqueue(3.0))
        assert sess.run(item) == 3  # the requests that timed out take nothing


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_stops_a_loop_and_leaves_the_session_usable(graph: Any) -> None:
    loop = tf.while_loop(lambda i: tf.constant(True), lambda i: i + 1, [tf.constant(0)])
    with tf.Session() as sess:
        timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            sess.run(loop)
        timer.join()
        assert sess.run(tf.constant(1)) == 1


def test_closing_a_session_cancels_what_waits(graph: Any) -> None:
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[]])
    begun = tf.FIFOQueue(2, tf.float32, shapes=[[]])
    with tf.control_dependencies([begun.enqueue(1.0)]):
        item = queue.dequeue()
    begins = begun.dequeue()
    sess = tf.Session()
    caught = []

    def wait() -> None:
        try:
            sess.run(item)
        except tf.errors.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    sess.run(begins)
    sess.close()
    thread.join(10)
    assert caught
    with pytest.raises(RuntimeError, match="closed"):
        sess.run(item)


def test_two_queue_operations_that_wait_for_each_other_in_one_step_finish(graph: Any) -> None:
    a = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    b = tf.FIFOQueue(1, tf.float32, shapes=[[]])
    from_a = a.dequeue()
    to_b = b.enqueue(from_a + 1.0)
    from_b = b.dequeue()
    to_a = a.enqueue(2.0)
    with tf.Session() as sess:
        for _ in range(4):
            got = sess.run([from_b, to_b, to_a], options=tf.RunOptions(timeout_in_ms=10_000))
            assert got[0] == 3
        assert sess.stats([from_b, to_b, to_a])["strands"] > 2


def test_many_blocked_operations_do_not_stop_one_that_can_run(graph: Any) -> None:
    queue = tf.FIFOQueue(1000, tf.float32, shapes=[[]])
    taken = [queue.dequeue() for _ in range(100)]
    given = [queue.enqueue(float(k)) for k in range(100)]
    with tf.Session() as sess:
        got = sess.run([taken, given], options=tf.RunOptions(timeout_in_ms=20_000))
    assert sorted(got[0]) == list(range(100))


def test_a_step_can_be_traced_for_chrome(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [8, 8])
    y = tf.matmul(x, x, name="product") + 1.0
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session() as sess:
        sess.run(y, {x: np.eye(8)}, options=options, run_metadata=metadata)
    events = json.loads(Timeline(metadata.step_stats).generate_chrome_trace_format())
    names = [e["name"] for e in events["traceEvents"] if e["ph"] == "X"]
    assert "product" in names


def test_nothing_falls_back_to_the_interpreter(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [4])
    y = tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.cond(i > 1, lambda: a * 2.0, lambda: a + 1.0)),
        (tf.constant(0), x),
    )[1]
    with tf.Session() as sess:
        stats = sess.stats(y, [x])
        assert stats["interpreted"] == 0
        assert stats["emitted"] >= stats["Call"] + stats["While"] + stats["If"]


@pytest.mark.parametrize("emit", [False, True])
def test_feeding_one_of_several_outputs_needs_nothing_above_them(graph: Any, emit: bool) -> None:
    x = tf.placeholder(tf.float32, [4])
    first, second = tf.split(x, 2)
    with config.EMIT.set(emit), tf.Session() as sess:
        assert sess.run(first + 1.0, {first: [1, 2]}).tolist() == [2, 3]
        assert sess.run([first, second], {first: [1, 2], x: [3, 4, 5, 6]})[1].tolist() == [5, 6]
