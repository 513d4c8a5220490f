"""Programs that queues run across finish: what is strict in TensorFlow only is not strict here."""

from typing import Any

import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.compiler.request import Request
from graphvm_runtime.ir.control_flow.raise_ import raise_report
from graphvm_runtime.ir.graph import Endpoint
from graphvm_runtime.ir.graphdef.read import read_graph
from tests.control_flow.cases import Session

pytestmark = pytest.mark.timeout(60)
SECONDS = 20_000  # milliseconds: a program that waits for itself fails, and does not hang


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as sess:
        return sess.run(fetches, feeds, options=tf.RunOptions(timeout_in_ms=SECONDS))


def number_queue(capacity: Any = 10) -> Any:
    return tf.FIFOQueue(capacity, [tf.float32], shapes=[[]])


def through_a_conditional() -> Any:
    queue = number_queue()
    pred, a = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [])
    c0, c1 = tf.cond(pred, lambda: (2 * a, 2 * queue.dequeue()), lambda: (a, a))
    return pred, a, c1, queue.enqueue(c0)


@pytest.mark.parametrize(("taken", "want"), [(True, 12.0), (False, 3.0)])
def test_a_branch_that_dequeues_what_its_other_output_enqueues(taken: Any, want: Any) -> None:
    pred, a, c1, enqueue = through_a_conditional()
    assert run([c1, enqueue], {pred: taken, a: 3.0})[0] == want


def through_a_loop() -> Any:
    queue = number_queue()
    _, x, y = tf.while_loop(
        lambda i, x, y: i < 2,
        lambda i, x, y: (i + 1, x * 3.0, tf.cond(i > 0, queue.dequeue, lambda: y)),
        [tf.constant(0), tf.constant(1.0), tf.constant(0.0)],
    )
    return y, queue.enqueue(x)


def test_a_loop_that_dequeues_what_its_other_variable_enqueues() -> None:
    y, enqueue = through_a_loop()
    assert run([y, enqueue])[0] == 9.0


def test_dequeue_and_enqueue_in_one_step_without_order() -> None:
    queue = number_queue()
    taken, put = queue.dequeue(), queue.enqueue(tf.constant(5.0))
    assert run([taken, put])[0] == 5.0


def test_many_waiting_ops_stop_no_other() -> None:
    queues = [number_queue() for _ in range(40)]
    taken = [q.dequeue() for q in queues]
    # each enqueue waits for the dequeue before it
    puts = [queues[0].enqueue(tf.constant(1.0))]
    puts += [q.enqueue(t + 1.0) for q, t in zip(queues[1:], taken, strict=False)]
    assert run([taken[-1], *puts])[0] == 40.0


def test_a_loop_in_a_branch_that_queues_run_across() -> None:
    queue = number_queue()
    pred, x = tf.placeholder(tf.bool, []), tf.constant(4.0)

    def looped() -> Any:
        _, y = tf.while_loop(
            lambda i, _: i < 1, lambda i, _: (i + 1, queue.dequeue()), [tf.constant(0), x]
        )
        return 2.0 * x, 2.0 * y

    first, second = tf.cond(pred, looped, lambda: (x, x))
    assert run([second, queue.enqueue(first)], {pred: True})[0] == 16.0


def test_regions_that_queues_run_across_are_not_raised() -> None:
    """The first program, written as primitives as a TF1 file has it, stays dataflow."""
    *_, c1, enqueue = through_a_conditional()
    graph = read_graph(tf.get_default_graph().as_graph_def(control_flow="v1"))
    request = Request(
        (Endpoint("Placeholder"), Endpoint("Placeholder_1")), (c1.endpoint,), (enqueue.name,)
    )
    report = raise_report(graph, {c1.name, enqueue.name})
    assert [r.raised for r in report] == [False, False]
    assert "a queue is inside" in report[0].reason
    for form in ("raised", "dataflow"):
        assert Session(graph, form).run(request, [np.array(True), np.float32(3)]) == [12.0]


def test_a_queue_above_a_region_alone_does_not_keep_it_from_being_raised() -> None:
    queue = number_queue()
    put = queue.enqueue(tf.constant(2.0))
    x = queue.dequeue()
    y = tf.cond(x > 1.0, lambda: x * 3.0, lambda: x)
    graph = read_graph(tf.get_default_graph().as_graph_def(control_flow="v1"))
    assert [r.raised for r in raise_report(graph, {y.name, put.name})] == [True]
