"""How clusters are written: what is refused, and with what words."""

import gc
import socket
import subprocess
import sys
from typing import Any

import pytest

import graphvm as tf
from graphvm_runtime.__main__ import main
from graphvm_runtime.cluster.addresses import addresses_of, is_local, split, to_bind
from graphvm_runtime.cluster.transport import Limits
from graphvm_runtime.errors import InvalidArgumentError, UnavailableError
from graphvm_runtime.server import Safety, Server
from tests.cluster.conftest import ServersCluster, eventually, free_ports


def test_who_can_reach_an_address_is_decided_by_the_whole_of_it() -> None:
    local = [
        "localhost:1", "LOCALHOST:1", "127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "unix:/tmp/x",
        "[::ffff:127.0.0.1]:1",
    ]  # fmt: skip
    reachable = [
        "127.evil.org:1", "127.0.0.1.evil.org:1", "localhost.evil.org:1", "0.0.0.0:1", "[::]:1",
        "10.1.2.3:1", "host:1", "127.1:1", "[::2]:1",
    ]  # fmt: skip
    assert all(map(is_local, local))
    assert not any(map(is_local, reachable))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("localhost", "has no port"),
        ("[::1]", "has no port"),
        (":5", "has no port"),
        ("", "is empty"),
        ("localhost:", "no number"),
        ("localhost:http", "no number"),
        ("localhost:-1", "no number"),
        ("localhost:+1", "no number"),
        ("localhost:\u0661", "no number"),
        ("localhost:65536", "not in 1..65535"),
        ("localhost:" + "9" * 5000, "not in 1..65535"),
        ("::1:22", "several colons"),
        ("a:1:2", "several colons"),
        ("[host]:1", "no IPv6 address"),
        ("http://host:1", "several colons"),
        ("a b:1", "characters"),
        ("a,b:1", "characters"),
        ("unix:", "has no path"),
        (5, "is no text"),
        (None, "is no text"),
    ],
)
def test_a_malformed_address(address: Any, why: str) -> None:
    with pytest.raises(InvalidArgumentError, match="task 0 of job 'worker': the address") as caught:
        addresses_of({"worker": [address]})
    assert why in caught.value.what
    if isinstance(address, str):
        with pytest.raises(InvalidArgumentError):
            tf.Session(f"grpc://{address}")


def test_a_well_formed_address() -> None:
    assert split("host-1.example:22") == ("host-1.example", 22)
    assert split("[::1]:0") == ("::1", 0)


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        ({"worker": "localhost:1"}, "where a list of addresses is wanted"),
        ({"worker": None}, "where a list of addresses is wanted"),
        ({"worker": 5}, "where a list of addresses is wanted"),
        ({"": ["a:1"]}, "no name of a job"),
        ({"a/b": ["a:1"]}, "no name of a job"),
        ({"a b": ["a:1"]}, "no name of a job"),
        ({"1a": ["a:1"]}, "no name of a job"),
        ({5: ["a:1"]}, "no name of a job"),
        ({"w": {"x": "a:1"}}, "task with the number 'x'"),
        ({"w": {-1: "a:1"}}, "task with the number -1"),
        ({"w": ["a:1", "a:1"]}, "task 0 of job 'w' and task 1 of job 'w' both have"),
        ({"w": ["a:1"], "ps": ["A:1"]}, "both have the address"),
        ({"w": ["localhost:1", "127.0.0.1:1"]}, "both have the address"),
        ({"w": ["[::1]:1", "[0::1]:1"]}, "both have the address"),
        ({"w": ["unix:/a", "unix:/a"]}, "both have the address"),
        (["a:1"], "maps jobs to addresses"),
    ],
)
def test_a_malformed_cluster(cluster: Any, why: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        addresses_of(cluster)
    assert why in caught.value.what


def test_a_session_refuses_a_malformed_cluster_too() -> None:
    config = tf.ConfigProto()
    job = config.cluster_def.job.add(name="worker")
    job.tasks[0] = job.tasks[1] = "localhost:5"
    with pytest.raises(InvalidArgumentError, match="both have the address"):
        tf.Session(config=config)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cluster", '{"worker": "localhost:1"}'], "where a list of addresses is wanted"),
        (["--cluster", '{"worker": ["localhost"]}'], "has no port"),
        (["--cluster", '{"worker": [1]}'], "is no text"),
        (["--cluster", '{"worker": null}'], "where a list"),
        (["--cluster", '{"worker": {"a": "b:1"}}'], "task with the number 'a'"),
        (["--cluster", '{"cluster": 5}'], "where a list"),
        (["--cluster", "[1]"], "must be an object"),
        (["--cluster", "{" + '"a":{' * 90_000], "the cluster is no JSON"),
        (["--cluster", "a\0b"], "the cluster cannot be read"),
        (["--cluster", "."], "the cluster cannot be read"),
        (["--cluster", '{"worker": ["localhost:0"]}', "--max-bytes", "-1"], "must be above 0"),
        (["--cluster", '{"worker": ["localhost:0"]}', "--max-bytes", "0"], "must be above 0"),
        (["--cluster", '{"worker": ["localhost:0"]}', "--max-nodes", "-1"], "must be above 0"),
        (["--cluster", '{"worker": ["localhost:0"]}', "--allow", "SavV2"], "no op has the name"),
        (["--cluster", '{"worker": ["localhost:0"]}', "--task", "-1"], "no task -1"),
    ],
    ids=lambda x: str(x)[:60],
)
def test_the_command_refuses_in_a_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", *arguments]) == 1
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_limits_and_allowed_ops() -> None:
    for name in ("value", "nodes", "connect", "keepalive", "answer"):
        with pytest.raises(InvalidArgumentError, match=f"{name!r} is -1"):
            Limits(**{name: -1})
    with pytest.raises(InvalidArgumentError, match="no op has the name 'Sav'"):
        Server({"w": {0: "localhost:0"}}, "w", 0, Safety(allowed=frozenset({"Sav"})))


def other_family() -> list[tuple[socket.AddressFamily, str]]:
    return [(socket.AF_INET, "127.0.0.1")] + [(socket.AF_INET6, "::1")] * has_ipv6()


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(("family", "host"), other_family())
def test_a_port_that_is_taken_at_one_address_of_a_name(
    family: socket.AddressFamily, host: str, no_leaks: None
) -> None:
    with socket.socket(family) as taken:
        taken.bind((host, 0))
        taken.listen()
        address = f"localhost:{taken.getsockname()[1]}"
        with pytest.raises(UnavailableError, match=f"cannot listen on {address}"):
            Server({"worker": {0: address}}, "worker", 0)


def test_only_the_named_address_is_bound(no_leaks: None) -> None:
    (port,) = free_ports(1)
    server = Server({"worker": {0: f"127.0.0.1:{port}"}}, "worker", 0)
    server.start()
    try:
        with socket.socket() as other:
            other.bind(("127.0.0.2", port))
    finally:
        server.stop()
    ports = {a.rpartition(":")[2] for a in to_bind("localhost:0")}
    assert len(ports) == 1
    with pytest.raises(UnavailableError, match="the host is not known"):
        to_bind("no-such-host.invalid:5")


@pytest.mark.parametrize("planned_by", ["master", "client"])
def test_a_session_that_is_dropped_is_closed(planned_by: str, no_leaks: None) -> None:
    cluster = ServersCluster(2)
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/job:worker/task:1"):
            y = tf.identity(2.0)
        with tf.device("/job:worker/task:0"):
            z = y + 1.0
    try:
        for _ in range(3):
            assert cluster.session(graph, planned_by).run(z) == 3.0
        call = cluster.session(graph, planned_by).make_callable(z)
        gc.collect()
        assert call() == 3.0  # what is made of a session keeps it
        del call
        gc.collect()
        assert eventually(lambda: cluster.status(0).sessions == cluster.status(1).sessions == 0)
    finally:
        cluster.close()


def test_a_session_that_is_left_open_does_not_disturb_the_end() -> None:
    cluster = ServersCluster(1)
    code = (
        "import sys, graphvm as tf\n"
        "y = tf.constant(1.0) + 1.0\n"
        "config = tf.ConfigProto()\n"
        "config.cluster_def.job.add(name='worker').tasks[0] = sys.argv[1]\n"
        "sessions = [tf.Session('grpc://' + sys.argv[1]), tf.Session(config=config)]\n"
        "print(*[s.run(y) for s in sessions])\n"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, cluster.addresses[0]],
            capture_output=True, text=True, timeout=60, env={"PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
    finally:
        cluster.close()
    assert (done.stdout, done.stderr, done.returncode) == ("2.0 2.0\n", "", 0)
