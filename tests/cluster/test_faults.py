"""What goes wrong in one process ends the step in all, soon, with an error that says where."""

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import graphvm as tf
from graphvm_runtime.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
)
from tests.cluster.conftest import (
    KINDS,
    AddressedCluster,
    Cluster,
    LoopbackCluster,
    ProcessesCluster,
    ServersCluster,
    eventually,
)

FIRST, SECOND = "/job:worker/task:0", "/job:worker/task:1"
FOR_EVER = 10**9
BOUND = 10.0  # seconds that any failure may take to reach the client


@pytest.fixture
def graph() -> Iterator[Any]:
    """The default graph, with a loop that goes to and fro, `loop`, for `n` iterations."""
    graph = tf.Graph()
    with graph.as_default():
        n = tf.placeholder(tf.int32, [], name="n")

        def body(i: Any, y: Any) -> Any:
            with tf.device(SECOND):
                half = y * 0.5
            with tf.device(FIRST):
                return i + 1, half + 1.0

        with tf.device(FIRST):
            loop = tf.while_loop(lambda i, y: i < n, body, (tf.constant(0), tf.constant(0.0)))[1]
            tf.identity(loop, name="loop")
        yield graph


class InBackground:
    """A run of the loop on another thread."""

    def __init__(self, session: Any, iterations: int = FOR_EVER, options: Any = None) -> None:
        self.error: BaseException | None = None
        self.session = session
        self.iterations = iterations
        self.options = options
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.session.run("loop:0", {"n:0": self.iterations}, options=self.options)
        except BaseException as error:
            self.error = error

    def failure(self) -> BaseException:
        """What the run raised; fails where it takes too long."""
        self.thread.join(BOUND)
        assert not self.thread.is_alive(), "the run hangs"
        assert self.error is not None
        return self.error


def without_warnings(cluster: AddressedCluster, tasks: Any = None) -> bool:
    """Whether nothing is left of any step and session."""
    found = [cluster.status(i) for i in (range(cluster.count) if tasks is None else tasks)]
    return all(s.steps == 0 and s.sessions == 0 for s in found)


def running(cluster: AddressedCluster, tasks: Any) -> bool:
    return all(cluster.status(i).steps == 1 for i in tasks)


@pytest.fixture
def processes(no_leaks: None) -> Iterator[ProcessesCluster]:
    cluster = ProcessesCluster(2)
    yield cluster
    cluster.close()


@pytest.fixture
def servers(no_leaks: None) -> Iterator[ServersCluster]:
    cluster = ServersCluster(2)
    yield cluster
    cluster.close()


@pytest.mark.cluster
@pytest.mark.parametrize("planned_by", ["master", "client"])
def test_killed_worker(processes: ProcessesCluster, graph: Any, planned_by: str) -> None:
    """Promise 14."""
    session = processes.session(graph, planned_by)
    session.run("loop:0", {"n:0": 3})
    run = InBackground(session)
    assert eventually(lambda: running(processes, (0, 1)))
    processes.processes[1].kill()
    processes.processes[1].wait()
    error = run.failure()
    assert isinstance(error, UnavailableError | AbortedError)
    assert error.task == "/job:worker/replica:0/task:1"
    assert pickle.loads(pickle.dumps(error)).task == error.task
    assert eventually(lambda: processes.status(0).steps == 0)

    with pytest.raises(UnavailableError, match=r"task:1 cannot be reached"):
        session.run("loop:0", {"n:0": 3})
    processes.restart(1)
    with pytest.raises(AbortedError, match=r"task:1 was restarted"):
        session.run("loop:0", {"n:0": 3})
    with processes.session(graph, planned_by) as fresh:
        assert fresh.run("loop:0", {"n:0": 3}) == 1.75
    session.close()
    assert eventually(lambda: without_warnings(processes))


@pytest.mark.cluster
@pytest.mark.slow
def test_hung_worker(processes: ProcessesCluster, graph: Any) -> None:
    session = processes.session(graph)
    session.run("loop:0", {"n:0": 3})
    run = InBackground(session)
    assert eventually(lambda: running(processes, (0, 1)))
    os.kill(processes.processes[1].pid, signal.SIGSTOP)
    error = run.failure()
    assert isinstance(error, UnavailableError)
    assert error.task == "/job:worker/replica:0/task:1"
    os.kill(processes.processes[1].pid, signal.SIGCONT)
    session.close()
    # once it goes on it finds out by itself
    assert eventually(lambda: without_warnings(processes))
    with processes.session(graph) as fresh:
        assert fresh.run("loop:0", {"n:0": 3}) == 1.75


@pytest.mark.cluster
def test_killed_master(processes: ProcessesCluster, graph: Any) -> None:
    session = processes.session(graph)
    session.run("loop:0", {"n:0": 3})
    run = InBackground(session)
    assert eventually(lambda: running(processes, (0, 1)))
    processes.processes[0].kill()
    processes.processes[0].wait()
    assert isinstance(run.failure(), UnavailableError)
    # the other worker has nobody left to work for
    assert eventually(lambda: without_warnings(processes, [1]))
    session.close()
    processes.restart(0)
    with processes.session(graph) as fresh:
        assert fresh.run("loop:0", {"n:0": 3}) == 1.75


@pytest.mark.cluster
def test_client_that_goes_away(processes: ProcessesCluster, graph: Any) -> None:
    session = processes.session(graph)
    run = InBackground(session)
    assert eventually(lambda: running(processes, (0, 1)))
    session.close()
    assert isinstance(run.failure(), CancelledError)
    assert eventually(lambda: without_warnings(processes))


@pytest.mark.parametrize("planned_by", ["master", "client"])
def test_timeout_reaches_all_workers(servers: ServersCluster, graph: Any, planned_by: str) -> None:
    with servers.session(graph, planned_by) as session:
        session.run("loop:0", {"n:0": 3})
        start = time.monotonic()
        with pytest.raises(DeadlineExceededError, match=r"took longer than its 0\.3 seconds"):
            session.run("loop:0", {"n:0": FOR_EVER}, options=tf.RunOptions(timeout_in_ms=300))
        assert time.monotonic() - start < BOUND
        assert eventually(lambda: all(s.worker.open_steps == 0 for s in servers.servers))
        assert session.run("loop:0", {"n:0": 3}) == 1.75
    assert eventually(lambda: without_warnings(servers))


@pytest.mark.usefixtures("interrupts")
@pytest.mark.parametrize("planned_by", ["master", "client"])
def test_interrupt_reaches_all_workers(
    servers: ServersCluster, graph: Any, planned_by: str
) -> None:
    with servers.session(graph, planned_by) as session:
        session.run("loop:0", {"n:0": 3})

        def interrupt() -> None:
            assert eventually(lambda: all(s.worker.open_steps == 1 for s in servers.servers))
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            session.run("loop:0", {"n:0": FOR_EVER})
        thread.join(BOUND)
        assert eventually(lambda: all(s.worker.open_steps == 0 for s in servers.servers))
        assert session.run("loop:0", {"n:0": 3}) == 1.75


def test_server_that_stops_in_order(servers: ServersCluster, graph: Any) -> None:
    session = servers.session(graph)
    session.run("loop:0", {"n:0": 3})
    run = InBackground(session)
    assert eventually(lambda: all(s.worker.open_steps == 1 for s in servers.servers))
    servers.servers[1].stop()
    error = run.failure()
    assert isinstance(error, UnavailableError | CancelledError)
    assert isinstance(error, OpError)
    assert error.task == "/job:worker/replica:0/task:1"
    session.close()
    assert eventually(lambda: servers.servers[0].worker.open_steps == 0)


@pytest.fixture(params=KINDS)
def any_cluster(request: pytest.FixtureRequest, no_leaks: None) -> Iterator[Cluster]:
    kinds = {"loopback": LoopbackCluster, "servers": ServersCluster, "processes": ProcessesCluster}
    cluster = kinds[request.param](2)
    yield cluster
    cluster.close()


def test_failing_node(any_cluster: Cluster) -> None:
    """Class, node, source and task survive; the other worker, which waits, is let go."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None])
        with tf.device(SECOND):
            broken = tf.reshape(x, [2, 2], name="broken")
        with tf.device(FIRST):
            result = broken + 1.0
    with any_cluster.session(graph) as session:
        with pytest.raises(InvalidArgumentError) as caught:
            session.run(result, {x: [1.0, 2.0, 3.0]})
        error = caught.value
        assert error.node_name == "broken"
        assert "test_faults.py" in error.made
        assert error.task == "/job:worker/replica:0/task:1"
        assert session.run(result, {x: [1.0, 2.0, 3.0, 4.0]}).shape == (2, 2)


def test_many_sessions_leave_nothing_behind(servers: ServersCluster, graph: Any) -> None:
    def once() -> None:
        for planned_by in ("master", "client"):
            with servers.session(graph, planned_by) as session:
                assert session.run("loop:0", {"n:0": 3}) == 1.75

    once()
    assert eventually(lambda: without_warnings(servers))
    links = [s.hub.open_links for s in servers.servers]
    before = threading.active_count()
    for _ in range(5):
        once()
    assert eventually(lambda: without_warnings(servers))
    assert eventually(lambda: [s.hub.open_links for s in servers.servers] <= links)
    assert eventually(lambda: threading.active_count() <= before + 2)
