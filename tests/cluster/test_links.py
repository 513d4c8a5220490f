"""What goes over the links of a cluster: how many messages, and what happens when one breaks."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import graphvm as tf
from graphvm_runtime.cluster.transport import Link
from graphvm_runtime.errors import CancelledError
from tests.cluster.conftest import ProcessesCluster, ServersCluster, eventually

FIRST, SECOND = "/job:worker/task:0", "/job:worker/task:1"
ROUNDS = 300


@pytest.fixture
def graph() -> Any:
    graph = tf.Graph()
    with graph.as_default():
        n = tf.placeholder(tf.int32, [], name="n")

        def body(i: Any, y: Any) -> Any:
            with tf.device(SECOND):
                half = y * 0.5
            with tf.device(FIRST):
                return i + 1, half + 1.0

        with tf.device(FIRST):
            end = tf.while_loop(lambda i, y: i < n, body, (tf.constant(0), tf.constant(0.0)))[1]
            tf.identity(end, name="loop")
    return graph


@pytest.mark.cluster
def test_one_message_a_hop_and_no_master_in_the_loop(
    graph: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 13: this process plans; what it sends does not depend on the number of rounds."""
    sent: Counter[str] = Counter()
    outgoing = Link.outgoing

    def counted(link: Link) -> Iterator[bytes]:
        for message in outgoing(link):
            sent[link.peer] += 1
            yield message

    monkeypatch.setattr(Link, "outgoing", counted)
    cluster = ProcessesCluster(2)
    try:
        with cluster.session(graph, "client") as session:
            session.run("loop:0", {"n:0": 3})
            sent.clear()
            session.run("loop:0", {"n:0": ROUNDS})
            assert sent == {f"/job:worker/replica:0/task:{i}": 1 for i in (0, 1)}
    finally:
        cluster.close()


def test_what_waits_together_goes_together(graph: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The predicate and the variable of a round are one message."""
    sent: Counter[int] = Counter()
    outgoing = Link.outgoing

    def counted(link: Link) -> Iterator[bytes]:
        for message in outgoing(link):
            sent[id(link)] += 1
            yield message

    cluster = ServersCluster(2)
    try:
        monkeypatch.setattr(Link, "outgoing", counted)
        with cluster.session(graph, "master") as session:
            session.run("loop:0", {"n:0": ROUNDS})
    finally:
        cluster.close()
    for count in sent.values():
        assert count <= 1.5 * ROUNDS


def test_a_broken_link_is_opened_again(graph: Any, no_leaks: None) -> None:
    cluster = ServersCluster(2)
    hub = cluster.servers[0].hub
    with cluster.session(graph) as session:
        assert session.run("loop:0", {"n:0": 3}) == 1.75
        hub.link("/job:worker/replica:0/task:1").close(CancelledError("cut"))
        assert eventually(lambda: cluster.servers[1].worker.open_sessions == 0)
        assert session.run("loop:0", {"n:0": 3}) == 1.75
    cluster.close()


@pytest.mark.parametrize("planned_by", ["master", "client"])
def test_a_trace_has_the_spans_of_all_tasks(graph: Any, planned_by: str, no_leaks: None) -> None:
    cluster = ServersCluster(2)
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with cluster.session(graph, planned_by) as session:
        session.run("loop:0", {"n:0": 2}, options=options, run_metadata=metadata)
    cluster.close()
    devices = {d.device for d in metadata.step_stats.dev_stats}
    assert any("task:0" in d for d in devices)
    assert any("task:1" in d for d in devices)
