"""Clusters of three kinds: workers joined by hand, servers in this process, processes."""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

import graphvm as tf
from graphvm_runtime.cluster.threads import Threads
from graphvm_runtime.cluster.transport import Limits
from graphvm_runtime.cluster.worker import LocalWorker, Loopback
from graphvm_runtime.engine.master import MasterSession
from graphvm_runtime.protos.worker_pb2 import GetStatusRequest, GetStatusResponse
from graphvm_runtime.protos.worker_pb2_grpc import WorkerServiceStub
from graphvm_runtime.server import Server, addresses_of
from graphvm_runtime.values.resources import ResourceManager

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("loopback", "servers", pytest.param("processes", marks=pytest.mark.cluster))
TASKS = 3


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Whether something comes true within so many seconds."""
    deadline = time.monotonic() + seconds
    tick = threading.Event()
    while not holds():
        if time.monotonic() > deadline:
            return False
        tick.wait(0.01)
    return True


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


class Cluster:
    """Some tasks of a job `worker`."""

    def __init__(self, count: int) -> None:
        self.count = count

    def session(self, graph: Any = None, planned_by: str = "master") -> Any:
        """A session over its tasks, whose master is task 0, or this process."""
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


class LoopbackCluster(Cluster):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.threads = Threads("loopback")
        self.workers = [
            LocalWorker(f"/job:worker/replica:0/task:{i}", ResourceManager(), self.threads)
            for i in range(count)
        ]
        Loopback(self.workers)

    def session(self, graph: Any = None, planned_by: str = "master") -> Any:
        session = tf.Session(graph=graph)
        session._engine = MasterSession(self.workers, self.workers[0].task)
        return session

    def close(self) -> None:
        assert [w.open_steps for w in self.workers] == [0] * self.count
        self.threads.shutdown()


class AddressedCluster(Cluster):
    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.addresses = [f"localhost:{p}" for p in free_ports(count)]

    def session(self, graph: Any = None, planned_by: str = "master") -> Any:
        if planned_by == "master":
            return tf.Session(f"grpc://{self.addresses[0]}", graph=graph)
        config = tf.ConfigProto(allow_soft_placement=True)
        job = config.cluster_def.job.add(name="worker")
        for index, address in enumerate(self.addresses):
            job.tasks[index] = address
        return tf.Session(graph=graph, config=config)

    def status(self, task: int) -> GetStatusResponse:
        with grpc.insecure_channel(self.addresses[task]) as channel:
            found: GetStatusResponse = WorkerServiceStub(channel).GetStatus(
                GetStatusRequest(), timeout=10
            )
            return found


class ServersCluster(AddressedCluster):
    def __init__(self, count: int, limits: Limits | None = None) -> None:
        super().__init__(count)
        self.servers = [
            Server(addresses_of({"worker": self.addresses}), "worker", i, limits=limits)
            for i in range(count)
        ]
        for server in self.servers:
            server.start()

    def close(self) -> None:
        for server in self.servers:
            server.stop()


class ProcessesCluster(AddressedCluster):
    def __init__(self, count: int, *options: str) -> None:
        super().__init__(count)
        self.options = options
        self.processes: list[subprocess.Popen[str]] = [self.start(i) for i in range(count)]
        for process in self.processes:
            assert process.stdout is not None
            assert "serves at" in process.stdout.readline()

    def start(self, task: int) -> subprocess.Popen[str]:
        cluster = json.dumps({"worker": self.addresses})
        command = [sys.executable, "-m", "graphvm_runtime", "worker", "--cluster", cluster]
        path = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
        return subprocess.Popen(
            [*command, "--task", str(task), *self.options],
            stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )

    def restart(self, task: int) -> None:
        before = self.processes[task].stdout
        assert before is not None
        before.close()
        self.processes[task] = self.start(task)
        stdout = self.processes[task].stdout
        assert stdout is not None
        assert "serves at" in stdout.readline()

    def close(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)
            assert process.stdout is not None
            process.stdout.close()


MAKERS: dict[str, Callable[[int], Cluster]] = {
    "loopback": LoopbackCluster, "servers": ServersCluster, "processes": ProcessesCluster,
}  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster of each kind, shared by the tests of a module; they use names of their own."""
    made = MAKERS[request.param](TASKS)
    yield made
    made.close()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def no_leaks() -> Iterator[None]:
    """Counts threads, files and child processes before and after."""
    gc.collect()
    threads = set(threading.enumerate())
    files = open_files()
    yield
    gc.collect()
    assert eventually(lambda: not {t for t in threading.enumerate() if t.is_alive()} - threads), (
        set(threading.enumerate()) - threads
    )
    assert eventually(lambda: open_files() <= files), (files, open_files())
