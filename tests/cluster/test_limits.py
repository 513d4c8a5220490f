"""One step's fault stays with that step: values too big, messages that are malformed."""

import gc
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime.cluster.transport import PROTOCOL, Limits
from graphvm_runtime.protos.types_pb2 import DT_FLOAT, DT_STRING
from graphvm_runtime.protos.worker_pb2 import (
    Chunk,
    ExtendSession,
    Hello,
    ListDevices,
    Packet,
    Reply,
    RunCallable,
    RunGraph,
    Tensors,
    Value,
)  # fmt: skip
from tests.cluster.conftest import ServersCluster, eventually

FIRST, SECOND = "/job:worker/task:0", "/job:worker/task:1"
LIMIT = 1_000_000
LINK, SESSION = "/graphvm.WorkerService/Link", "/graphvm.MasterService/Session"


@pytest.fixture
def cluster(no_leaks: None) -> Iterator[ServersCluster]:
    made = ServersCluster(2, Limits(value=LIMIT))
    yield made
    made.close()


@pytest.fixture
def graph() -> Any:
    graph = tf.Graph()
    with graph.as_default():
        n = tf.placeholder(tf.int32, [], name="n")
        x = tf.placeholder(tf.float32, [None], name="x")

        def body(i: Any, y: Any) -> Any:
            with tf.device(SECOND):
                half = y * 0.5
            with tf.device(FIRST):
                return i + 1, half + 1.0

        with tf.device(FIRST):
            end = tf.while_loop(lambda i, y: i < n, body, (tf.constant(0), tf.constant(0.0)))[1]
            tf.identity(end, name="loop")
        with tf.device(SECOND):
            big = tf.fill([n], tf.reduce_sum(x), name="big")
            tf.reduce_sum(tf.identity(x), name="total")
        with tf.device(FIRST):
            tf.reduce_sum(tf.identity(big), name="between")
    return graph


@pytest.mark.parametrize("planned_by", ["master", "client"])
def test_a_value_above_the_limit_fails_its_own_step(
    cluster: ServersCluster, graph: Any, planned_by: str
) -> None:
    few, many = np.ones(2, np.float32), np.ones(LIMIT, np.float32)
    innocent: list[Any] = []
    with cluster.session(graph, planned_by) as other, cluster.session(graph, planned_by) as mine:
        other.run("loop:0", {"n:0": 3})
        thread = threading.Thread(
            target=lambda: innocent.append(other.run("loop:0", {"n:0": 3000}))
        )
        thread.start()
        limit = rf"f32\[{LIMIT}\], {4 * LIMIT} bytes, is above the limit of {LIMIT}"
        for _ in range(2):
            with pytest.raises(tf.errors.ResourceExhaustedError, match=limit) as caught:
                mine.run("between:0", {"n:0": LIMIT, "x:0": few})
            assert "big" in caught.value.node
            with pytest.raises(tf.errors.ResourceExhaustedError, match=limit):
                mine.run("total:0", {"x:0": many})
            assert mine.run(["total:0", "between:0"], {"n:0": 5, "x:0": few}) == [2.0, 10.0]
        thread.join(60)
        assert innocent == [pytest.approx(2.0)]
    assert eventually(lambda: cluster.status(1).steps == 0)


def test_a_task_that_goes_gives_each_step_an_error_of_its_own() -> None:
    cluster = ServersCluster(2)
    names = ("alpha", "beta", "gamma")
    errors: dict[str, Any] = {}
    warm: list[str] = []

    def run(name: str) -> None:
        graph = tf.Graph()
        with graph.as_default():
            n = tf.placeholder(tf.int32, [])

            def body(i: Any, y: Any) -> Any:
                with tf.device(SECOND):
                    half = tf.multiply(y, 0.5, name=name)
                with tf.device(FIRST):
                    return i + 1, half + 1.0

            with tf.device(FIRST):
                end = tf.while_loop(lambda i, y: i < n, body, (tf.constant(0), tf.constant(0.0)))[1]
        with cluster.session(graph) as session:
            session.run(end, {n: 2})
            warm.append(name)  # from here on its error is the one that is looked for
            try:
                session.run(end, {n: 10**9})
            except tf.errors.OpError as error:
                errors[name] = error

    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    try:
        for thread in threads:
            thread.start()
        assert eventually(lambda: len(warm) == len(names) and cluster.status(1).steps == len(names))
        cluster.servers[1].stop()
        for thread in threads:
            thread.join(30)
    finally:
        cluster.close()
    assert set(errors) == set(names)
    for name, error in errors.items():
        assert isinstance(error, tf.errors.UnavailableError)
        assert not [n for n in names if n != name and n in str(error)]


def test_a_constant_above_the_limit_fails_what_uses_it(cluster: ServersCluster) -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.device(SECOND):
        tf.identity(2.0, name="two")
    with cluster.session(graph) as session:
        assert session.run("two:0") == 2.0
        with graph.as_default(), tf.device(SECOND):
            tf.reduce_sum(tf.constant(np.ones(LIMIT, np.float32)), name="total")
        with pytest.raises(tf.errors.ResourceExhaustedError, match="above the limit"):
            session.run("total:0")


GREETING = Packet(hello=Hello(task="somebody", incarnation=1, protocol=PROTOCOL))
CHUNKED = Packet(chunk=Chunk(blob=1, size=9, offset=0, data=b"123"))
FLOAT = Value(dtype=DT_FLOAT, content=b"1234")


def said(address: str, method: str, *messages: Packet | bytes) -> list[Reply]:
    """What a server answers to messages, up to its last one."""
    over = threading.Event()

    def sent() -> Iterator[bytes]:
        for each in (GREETING, *messages):
            yield each if isinstance(each, bytes) else each.SerializeToString()
        over.wait(5)

    with grpc.insecure_channel(address) as channel:
        got: list[Reply] = []
        stream: Any = channel.stream_stream(method)
        call = stream(sent(), timeout=20)
        try:
            for data in call:
                packet = Packet.FromString(data)
                if packet.WhichOneof("kind") == "reply":
                    got.append(packet.reply)
                    break
        except grpc.RpcError:
            pass
        over.set()
        call.cancel()
        return got


@pytest.mark.parametrize("method", [LINK, SESSION])
@pytest.mark.parametrize(
    "messages",
    [
        [b"\xff" * 20],
        [b""],
        [b"\x1a\x05\x08\x01\x10\x02\x18"],
        [Packet(list_devices=ListDevices())],
        [Packet(chunk=Chunk(blob=0, size=1, data=b"1"))],
        [Packet(chunk=Chunk(blob=1, size=1, data=b"12"))],
        [CHUNKED, CHUNKED],
        [Packet(id=1, chunk=Chunk(blob=1, size=1, data=b"1"))],
    ],
    ids=str,
)
def test_a_malformed_message_is_answered(
    cluster: ServersCluster, method: str, messages: list[Packet | bytes]
) -> None:
    (reply,) = said(cluster.addresses[1], method, *messages)
    assert reply.failure.type == "DataLossError"
    assert "KeyError" not in reply.failure.what
    assert len(reply.failure.what) > 10


@pytest.mark.parametrize(
    "value",
    [
        Value(dtype=DT_FLOAT, dim=[-1], content=b"1234"),
        Value(dtype=DT_FLOAT, dim=[3], content=b"1234"),
        Value(dtype=DT_STRING, dim=[1 << 50]),
        Value(dtype=99, content=b"1234"),  # type: ignore[arg-type]
        Value(dtype=DT_FLOAT, dim=[9], blob=4),
    ],
    ids=str,
)
def test_a_malformed_value_is_the_answer_to_its_call(cluster: ServersCluster, value: Value) -> None:
    bad: dict[str, list[Packet]] = {
        LINK: [Packet(id=1, run_graph=RunGraph(handle=1, step=1, feed=[FLOAT, value]))],
        SESSION: [
            Packet(id=1, run_callable=RunCallable(handle=1, feed=[value])),
            Packet(id=1, extend_session=ExtendSession(graph=value)),
        ],
    }
    for method, calls in bad.items():
        for call in calls:
            (reply,) = said(cluster.addresses[1], method, call)
            assert reply.failure.type == "DataLossError"
            assert "a value " in reply.failure.what


def test_a_malformed_value_between_tasks_leaves_the_link(cluster: ServersCluster) -> None:
    tensor = Tensors.Tensor(channel=1, value=Value(dtype=DT_FLOAT, dim=[-2]))
    (reply,) = said(
        cluster.addresses[1], LINK,
        Packet(tensors=Tensors(step=5, tensor=[tensor])),
        Packet(id=3, list_devices=ListDevices()),
    )  # fmt: skip
    assert reply.failure.type == "PermissionDeniedError"


def test_a_graph_that_refers_to_a_node_that_is_not_there(cluster: ServersCluster) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.identity(tf.constant(1.0, name="one"), name="two")
    definition = graph.as_graph_def()
    del definition.node[0]
    data = definition.SerializeToString()
    value = Value(dtype=4, dim=[len(data)], content=data)  # type: ignore[arg-type]
    call = Packet(id=1, extend_session=ExtendSession(graph=value))
    (reply,) = said(cluster.addresses[0], SESSION, call)
    assert reply.failure.type in ("GraphError", "NameNotFoundError")
    assert "one" in reply.failure.what


def test_memory_goes_with_the_link() -> None:
    cluster = ServersCluster(1, Limits(value=1 << 28))
    try:
        size = 1 << 27
        half = [
            Packet(chunk=Chunk(blob=1, size=size, offset=k << 20, data=b"a" * (1 << 20)))
            for k in range(100)
        ]
        before = resident()
        said(cluster.addresses[0], LINK, *half, b"\xff" * 20)
        time.sleep(0.1)
        gc.collect()
        assert eventually(lambda: resident() - before < 60 << 20)
    finally:
        cluster.close()


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
