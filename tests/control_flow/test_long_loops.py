"""Loops that run long: flat memory, and threads that leave each other alone."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import graphvm as tf


def test_ten_million_iterations_take_no_memory() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        n = tf.placeholder(tf.int32, [])
        count, total = tf.while_loop(
            lambda i, x: i < n, lambda i, x: (i + 1, x * 0.5 + 1.0), [0, tf.constant(0.0)]
        )
        for trips in (10, 10, 10):
            sess.run([count, total], {n: trips})
        tracemalloc.start()
        sess.run([count, total], {n: 1000})
        small = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert sess.run([count, total], {n: 9_800_000}) == [9_800_000, 2.0]
        tracemalloc.start()
        assert sess.run([count, total], {n: 200_000}) == [200_000, 2.0]
        assert tracemalloc.get_traced_memory()[1] < small + 4096
        tracemalloc.stop()


@pytest.mark.parametrize("machine", ["interpreted", "emitted"])
def test_a_loop_over_arrays_lists_and_branches_keeps_no_more_than_its_state(machine: str) -> None:
    from graphvm_runtime import config

    switch = config.INTERPRET if machine == "interpreted" else config.EMIT
    with switch.set(True), tf.Graph().as_default(), tf.Session() as sess:
        n = tf.placeholder(tf.int32, [])
        ring = tf.TensorArray(tf.float64, 4, clear_after_read=False).unstack(np.zeros((4, 1000)))

        def body(i: Any, x: Any, ring: Any) -> Any:
            x = tf.cond(tf.equal(i % 2, 0), lambda: x * 0.5, lambda: x + ring.read(i % 4))
            return i + 1, x, ring.write(i % 4, x)

        count, x, _ = tf.while_loop(
            lambda i, *_: i < n, body, [0, tf.ones([1000], tf.float64), ring]
        )
        peaks = []
        for trips in (100, 100, 3000):
            tracemalloc.start()
            assert sess.run([count, x], {n: trips})[0] == trips
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        # the state is five arrays of 8000 bytes
        assert peaks[2] < peaks[1] + 50_000


def test_a_loop_in_one_thread_leaves_a_session_in_another_alone() -> None:
    endless, other = tf.Graph(), tf.Graph()
    with endless.as_default():
        loop = tf.while_loop(lambda i: tf.constant(True), lambda i: i + 1, [tf.constant(0)])
    with other.as_default():
        x = tf.placeholder(tf.float32, [3])
        total = tf.while_loop(lambda i, x: i < 10, lambda i, x: (i + 1, x * 2.0), [0, x])[1]
    faults: list[BaseException] = []
    started = threading.Event()

    def run_forever(sess: Any) -> None:
        started.set()
        try:
            sess.run(loop)
        except BaseException as error:
            faults.append(error)

    first = tf.Session(graph=endless)
    thread = threading.Thread(target=run_forever, args=(first,))
    thread.start()
    started.wait()
    with tf.Session(graph=other) as second:
        for k in range(50):
            assert second.run(total, {x: [k, 1, 2]}).tolist() == [1024 * k, 1024, 2048]
        with pytest.raises(ValueError, match="cannot be fed"):
            second.run(total, {x: [0, 1]})
        assert thread.is_alive()
        first.close()
        thread.join(20)
        assert second.run(total, {x: [1, 1, 1]}).tolist() == [1024] * 3
    assert isinstance(faults[0], tf.errors.CancelledError)
