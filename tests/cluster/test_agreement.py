"""A program gives the same on one device and on many, wherever its nodes are put."""

import itertools
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import graphvm as tf
from tests.cluster.conftest import TASKS, Cluster
from tests.cluster.programs import DERIVED, PLAIN, Program

_numbers = itertools.count()


def scattered(seed: int) -> Any:
    """A device function that puts each op somewhere, or nowhere in particular."""
    chance = random.Random(seed)

    def device(op: Any) -> str:
        task = chance.choice([*range(TASKS), None])
        return "" if task is None else f"/job:worker/task:{task}"

    return device


def built(program: Program, seed: int) -> tuple[Any, Any, Any, Sequence[Any]]:
    graph = tf.Graph()
    with graph.as_default(), tf.name_scope(f"test{next(_numbers)}"):
        x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
        with tf.device(scattered(seed)):
            return graph, x, n, list(program(x, n))


def equal(got: Any, want: Any) -> None:
    if np.asarray(want).dtype == object:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_allclose(got, want, rtol=1e-6)


def check(cluster: Cluster, program: Program, seed: int, planned_by: str) -> None:
    graph, x, n, outputs = built(program, seed)
    with tf.Session(graph=graph) as here, cluster.session(graph, planned_by) as there:
        for count in (0, 1, 5):
            feeds = {x: 0.7, n: count}
            for got, want in zip(there.run(outputs, feeds), here.run(outputs, feeds), strict=True):
                equal(got, want)


@pytest.mark.parametrize("program", [*PLAIN, *DERIVED], ids=lambda p: p.__name__)
def test_scattered_program(cluster: Cluster, program: Program) -> None:
    check(cluster, program, 0, "master")


@pytest.mark.parametrize("cluster", ["loopback"], indirect=True)
@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize("program", [*PLAIN, *DERIVED], ids=lambda p: p.__name__)
def test_program_scattered_otherwise(cluster: Cluster, program: Program, seed: int) -> None:
    check(cluster, program, seed, "master")


def nest(chance: random.Random, x: Any, n: Any, v: Any, depth: int) -> Any:
    """Branches and loops in each other, each of them on some task of two, or nowhere."""
    task = chance.choice([0, 1, None])
    kind = chance.choice(["op", "cond", "loop"]) if depth else "op"
    with tf.device("" if task is None else f"/job:worker/task:{task}"):
        if kind == "op":
            which = chance.choice(["exp", "add", "sin"])
            return {"exp": tf.exp(-v) * x, "add": v + x, "sin": tf.sin(v * x)}[which]
        if kind == "cond":
            return tf.cond(
                v > 0.5 if chance.random() < 0.5 else n > 2,
                lambda: nest(chance, x, n, v, depth - 1),
                lambda: nest(chance, x, n, v, depth - 1),
            )
        less = chance.choice([0, 1])
        return tf.while_loop(
            lambda j, a: j < n - less,
            lambda j, a: (j + 1, nest(chance, x, n, a, depth - 1)),
            (tf.constant(0), v),
        )[1]


def check_nest(cluster: Cluster, seed: int) -> None:
    """The lists that a derivative needs stay where they are made, however deep that is."""
    chance = random.Random(seed)
    graph = tf.Graph()
    with graph.as_default():
        x, n = tf.placeholder(tf.float64, []), tf.placeholder(tf.int32, [])
        outputs = [nest(chance, x, n, x * x, 3)]
        for _ in range(1 + seed % 2):
            outputs += tf.gradients(outputs[-1], [x])
    with tf.Session(graph=graph) as here, cluster.session(graph) as there:
        for count in (0, 1, 4):
            feeds = {x: 0.7, n: count}
            np.testing.assert_allclose(there.run(outputs, feeds), here.run(outputs, feeds))


@pytest.mark.parametrize("cluster", ["loopback"], indirect=True)
@pytest.mark.parametrize("seed", [*range(12), 16, 39])
def test_scattered_nest_with_its_derivatives(cluster: Cluster, seed: int) -> None:
    check_nest(cluster, seed)


@pytest.mark.parametrize("seed", [16, 39])
def test_scattered_nest_with_its_derivatives_everywhere(cluster: Cluster, seed: int) -> None:
    check_nest(cluster, seed)


@pytest.mark.parametrize("devices", list(itertools.product([0, 1, None], repeat=3)), ids=str)
@pytest.mark.parametrize("cluster", ["loopback"], indirect=True)
def test_a_cond_with_a_loop_with_a_cond_and_its_derivatives(
    cluster: Cluster, devices: tuple[int | None, ...]
) -> None:
    loop, cond, leaf = ("" if d is None else f"/job:worker/task:{d}" for d in devices)
    graph = tf.Graph()
    with graph.as_default():
        x, n = tf.placeholder(tf.float64, []), tf.placeholder(tf.int32, [])

        def inner(v: Any) -> Any:
            with tf.device(leaf):
                return tf.exp(-v) * x

        def body(j: Any, v: Any) -> Any:
            with tf.device(cond):
                return j + 1, tf.cond(v > 0.5, lambda: inner(v), lambda: v + x)

        def taken() -> Any:
            with tf.device(loop):
                return tf.while_loop(lambda j, v: j < n, body, (tf.constant(0), x * x))[1]

        outputs = [tf.cond(n > 2, taken, lambda: x * 3.0)]
        for _ in range(2):
            outputs += tf.gradients(outputs[-1], [x])
    with tf.Session(graph=graph) as here, cluster.session(graph) as there:
        for count in (1, 3):
            feeds = {x: 0.7, n: count}
            np.testing.assert_allclose(there.run(outputs, feeds), here.run(outputs, feeds))


def test_a_list_that_branches_make_or_hand_on_stays_in_one_place(cluster: Cluster) -> None:
    graph = tf.Graph()
    first, second = "/job:worker/task:0", "/job:worker/task:1"
    with graph.as_default():
        x, n = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
        with tf.device(first):
            both = tf.stack([x, x + 1.0])
            none = tf.constant([], tf.int32)
            items = tf.raw_ops.TensorListFromTensor(tensor=both, element_shape=none)

        def other() -> Any:
            with tf.device(second):
                return tf.raw_ops.TensorListSetItem(input_handle=items, index=0, item=tf.sin(x))

        chosen = tf.cond(n > 2, other, lambda: items)
        with tf.device(second):
            got = 2.0 * tf.raw_ops.TensorListStack(
                input_handle=chosen, element_shape=none, element_dtype=tf.float32
            )
    with cluster.session(graph) as session:
        for count in (1, 3):
            want = [2 * np.sin(0.7) if count > 2 else 1.4, 3.4]
            np.testing.assert_allclose(session.run(got, {x: 0.7, n: count}), want, rtol=1e-6)


@pytest.mark.parametrize("program", [*PLAIN, *DERIVED[:2]], ids=lambda p: p.__name__)
def test_scattered_program_planned_by_the_client(cluster: Cluster, program: Program) -> None:
    check(cluster, program, 7, "client")


def test_alternating_loop_and_its_gradient(cluster: Cluster) -> None:
    """Promise 13: only what crosses is sent, and numbers are those of one process."""
    graph = tf.Graph()
    first, second = "/job:worker/task:0", "/job:worker/task:1"
    with graph.as_default():
        n, start = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [])

        def body(i: Any, y: Any) -> Any:
            with tf.device(second):
                half = tf.sin(y) * 0.5
            with tf.device(first):
                return i + 1, half + 1.0

        with tf.device(first):
            end = tf.while_loop(lambda i, y: i < n, body, (tf.constant(0), start))[1]
        (slope,) = tf.gradients(end, [start], colocate_gradients_with_ops=True)
    with tf.Session(graph=graph) as here, cluster.session(graph) as there:
        feeds = {n: 50, start: 0.3}
        equal(there.run([end, slope], feeds), here.run([end, slope], feeds))
        stats = there.stats(end, [n, start])
        # the predicate and y one way, the half the other
        assert stats["shares"] == 2
        assert stats["sends"] == 3


@pytest.mark.parametrize("planned_by", ["master", "client"])
def test_big_tensors_travel_in_chunks(cluster: Cluster, planned_by: str) -> None:
    graph = tf.Graph()
    big = np.arange(3_000_000, dtype=np.float32)
    with graph.as_default():
        with tf.device("/job:worker/task:0"):
            fed = tf.placeholder(tf.float32, [None])
            constant = tf.constant(big[:100_000])
        with tf.device("/job:worker/task:1"):
            doubled = fed * 2.0 + tf.reduce_sum(constant)
        with tf.device("/job:worker/task:2"):
            again = doubled + 1.0
    with cluster.session(graph, planned_by) as session:
        got = session.run([again, doubled], {fed: big})
        want = big * 2.0 + np.sum(big[:100_000])
        np.testing.assert_allclose(got[1], want, rtol=1e-6)
        np.testing.assert_allclose(got[0], want + 1.0, rtol=1e-6)
        got[0][0] = -1  # the caller's own


def test_variables_outlive_sessions(cluster: Cluster) -> None:
    if type(cluster).__name__ == "LoopbackCluster":
        pytest.skip("its sessions share workers, not servers")
    graph = tf.Graph()
    with graph.as_default(), tf.device("/job:worker/task:1"):
        v = tf.Variable(1.0, name="outlives")
        more = tf.assign_add(v, 1.0)
    with cluster.session(graph) as session:
        session.run(v.initializer)
        session.run(more)
    with cluster.session(graph) as session:
        assert session.run(more) == 3.0


def test_runs_go_on_at_the_same_time(cluster: Cluster) -> None:
    from concurrent.futures import ThreadPoolExecutor

    graph, x, n, outputs = built(PLAIN[1], 3)
    here, there = tf.Session(graph=graph), cluster.session(graph)
    with here, there, ThreadPoolExecutor(4) as pool:
        jobs = [(k, pool.submit(there.run, outputs, {x: 0.1 * k, n: k % 5})) for k in range(24)]
        for k, job in jobs:
            equal(job.result(60), here.run(outputs, {x: 0.1 * k, n: k % 5}))


@pytest.mark.parametrize("optimizer", ["GradientDescentOptimizer", "AdamOptimizer"])
def test_training_with_variables_on_several_tasks(cluster: Cluster, optimizer: str) -> None:
    chance = np.random.default_rng(0)
    inputs = chance.normal(size=(64, 5)).astype(np.float32)
    wanted = (inputs.sum(1, keepdims=True) > 0).astype(np.float32)
    graph = tf.Graph()
    with graph.as_default(), tf.name_scope(f"test{next(_numbers)}"):
        x, y = tf.placeholder(tf.float32, [None, 5]), tf.placeholder(tf.float32, [None, 1])
        with tf.device("/job:worker/task:1"):
            first = tf.Variable(chance.normal(size=(5, 8)).astype(np.float32))
        with tf.device("/job:worker/task:2"):
            second = tf.Variable(chance.normal(size=(8, 1)).astype(np.float32))
        with tf.device("/job:worker/task:0"):
            guess = tf.matmul(tf.tanh(tf.matmul(x, first)), second)
            loss = tf.reduce_mean(tf.square(guess - y))
        train = getattr(tf.train, optimizer)(0.05).minimize(loss)
        start = tf.global_variables_initializer()
    losses: list[list[float]] = []
    for session in (tf.Session(graph=graph), cluster.session(graph)):
        with session:
            session.run(start)
            feeds = {x: inputs, y: wanted}
            losses.append([session.run([loss, train], feeds)[0] for _ in range(10)])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
    assert losses[0][-1] < losses[0][0]


@pytest.mark.parametrize(
    "value",
    [b"text", b"", np.float32(1.5), np.int64(-3), np.bool_(True), np.complex64(1 + 2j)],
    ids=repr,
)
def test_scalars_of_every_kind_come_out_as_in_one_process(cluster: Cluster, value: Any) -> None:
    with tf.Graph().as_default() as graph:
        with tf.device("/job:worker/task:0"):
            made = tf.constant(value)
        with tf.device("/job:worker/task:1"):
            moved = tf.identity(made)
        with tf.Session(graph=graph) as here, cluster.session(graph) as there:
            want, got = here.run([made, moved]), there.run([made, moved])
    assert [type(v) for v in got] == [type(v) for v in want]
    assert got == want
