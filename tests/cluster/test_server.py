"""Servers: who may reach them, what they run, how they are started."""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

import graphvm as tf
from graphvm_runtime import config
from graphvm_runtime.__main__ import main
from graphvm_runtime.cluster.hub import LINK, SESSION, Hub, dial
from graphvm_runtime.cluster.remote import RemoteWorker, TaskHandler
from graphvm_runtime.cluster.threads import Threads
from graphvm_runtime.cluster.transport import Handler, Limits
from graphvm_runtime.cluster.worker import LocalWorker
from graphvm_runtime.errors import (
    AbortedError,
    GraphvmError,
    InvalidArgumentError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnavailableError,
)
from graphvm_runtime.protos.worker_pb2 import Hello, Packet
from graphvm_runtime.server import Keys, Safety, Server, addresses_of, is_local
from graphvm_runtime.values.resources import ResourceManager
from tests.cluster.conftest import ProcessesCluster, free_ports

TASK = "/job:worker/replica:0/task:0"


@pytest.fixture
def server(no_leaks: None) -> Iterator[Server]:
    made = Server(addresses_of({"worker": ["localhost:0"]}), "worker", 0)
    made.start()
    yield made
    made.stop()


def test_local_addresses() -> None:
    assert all(map(is_local, ["localhost:1", "127.0.0.1:1", "[::1]:1", "unix:/tmp/x"]))
    assert not any(map(is_local, ["0.0.0.0:1", "10.1.2.3:1", "host:1", "localhost.evil.org:1"]))


def test_an_address_that_others_reach_must_be_asked_for() -> None:
    cluster = addresses_of({"worker": ["0.0.0.0:0"]})
    with pytest.raises(PermissionDeniedError, match=r"0\.0\.0\.0:0 can be reached from other"):
        Server(cluster, "worker", 0)
    Server(cluster, "worker", 0, Safety(insecure=True)).stop()


def test_a_task_that_is_not_in_the_cluster() -> None:
    with pytest.raises(InvalidArgumentError, match="no task 3 of job 'worker'"):
        Server(addresses_of({"worker": ["localhost:0"]}), "worker", 3)


def test_an_address_that_is_taken(no_leaks: None) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UnavailableError, match=f"cannot listen on {address}"):
            Server(addresses_of({"worker": [address]}), "worker", 0)


def saving_graph(folder: Path) -> tuple[Any, Any]:
    graph = tf.Graph()
    with graph.as_default():
        write = tf.raw_ops.SaveV2(
            prefix=tf.constant(str(folder / "x")), tensor_names=tf.constant(["v"]),
            shape_and_slices=tf.constant([""]), tensors=[tf.constant([1.0])],
        )  # fmt: skip
    return graph, write


def test_ops_that_touch_the_host_are_refused(server: Server, tmp_path: Path) -> None:
    graph, write = saving_graph(tmp_path)
    with (
        tf.Session(server.target, graph=graph) as session,
        pytest.raises(PermissionDeniedError, match="does not run SaveV2") as caught,
    ):
        session.run(write)
    assert "--allow SaveV2" in caught.value.do
    assert not list(tmp_path.iterdir())


def test_printing_into_a_file_is_refused_and_elsewhere_is_not(
    server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with tf.Graph().as_default() as graph:
        into_file = tf.print("x", output_stream=f"file://{tmp_path}/x")
        shown = tf.print("seen")
    with tf.Session(server.target, graph=graph) as session:
        session.run(shown)
        with pytest.raises(PermissionDeniedError, match="does not run PrintV2"):
            session.run(into_file)
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr().err == "seen\n"


def test_ops_that_touch_the_host_run_where_they_are_allowed(no_leaks: None, tmp_path: Path) -> None:
    graph, write = saving_graph(tmp_path)
    server = Server(
        addresses_of({"worker": ["localhost:0"]}), "worker", 0,
        Safety(allowed=frozenset({"SaveV2"})),
    )  # fmt: skip
    server.start()
    with tf.Session(server.target, graph=graph) as session:
        session.run(write)
    server.stop()
    assert list(tmp_path.iterdir())


def test_limits_of_nodes_and_bytes(no_leaks: None) -> None:
    server = Server(
        addresses_of({"worker": ["localhost:0"]}), "worker", 0,
        limits=Limits(value=1_000_000, nodes=20),
    )  # fmt: skip
    server.start()
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None])
        y = x + 1.0
    with tf.Session(server.target, graph=graph) as session:
        assert session.run(y, {x: [1.0]}).tolist() == [2.0]
        with pytest.raises(ResourceExhaustedError, match="above the limit of 1000000"):
            session.run(y, {x: np.zeros(1_000_000)})
    with graph.as_default():
        for _ in range(20):
            y += 1.0
    with (
        tf.Session(server.target, graph=graph) as session,
        pytest.raises(GraphvmError, match="the limit is 20"),
    ):
        session.run(y, {x: [1.0]})
    server.stop()


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphvm_runtime.engine import remote

    monkeypatch.setattr(remote, "Limits", lambda: Limits(connect=0.3))
    (port,) = free_ports(1)
    graph = tf.Graph()
    with graph.as_default():
        y = tf.constant(1.0) + 1.0
    with (
        tf.Session(f"grpc://localhost:{port}", graph=graph) as session,
        pytest.raises(UnavailableError),
    ):
        session.run(y)


@pytest.mark.parametrize("target", ["http://x", "localhost:1", "grpc://"])
def test_a_target_that_is_none(target: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is no target"):
        tf.Session(target)


def test_another_task_at_the_address(server: Server, no_leaks: None) -> None:
    threads = Threads("test")
    here = LocalWorker("/job:me/replica:0/task:0", ResourceManager(), threads)
    other = "/job:ps/replica:0/task:0"
    handler = TaskHandler(here, serves=False)
    hub = handler.hub = Hub(here.task, {other: server.address}, handler, threads, Limits())
    with pytest.raises(InvalidArgumentError, match=f"is {TASK}, not {other}"):
        RemoteWorker(other, hub, 1.0).contact()
    hub.close()
    threads.shutdown()


def test_a_client_may_not_act_as_a_master(server: Server, no_leaks: None) -> None:
    """On a session's stream there are sessions only; no graph is registered for others."""
    threads = Threads("test")
    link = dial(
        server.address, SESSION, Handler(), threads, Limits(), Hello(protocol=1), patience=5.0
    )

    def build(packet: Packet, encoder: Any) -> None:
        packet.cleanup_session.session = 1

    with pytest.raises(PermissionDeniedError, match="may not ask for cleanup_session"):
        link.call(build)[1].result()
    link.close()
    threads.shutdown()


def test_another_protocol_is_refused(server: Server, no_leaks: None) -> None:
    threads = Threads("test")

    def ask() -> None:  # it may be told at once, or when it asks for something
        hello = Hello(task="x", protocol=99)
        link = dial(server.address, LINK, Handler(), threads, Limits(), hello, patience=5.0)
        link.call(lambda packet, encoder: packet.list_devices.SetInParent())[1].result()

    with pytest.raises(AbortedError, match="speaks version 99 of the protocol"):
        ask()
    threads.shutdown()


def test_garbage_on_the_wire_ends_that_stream_alone(server: Server) -> None:
    with grpc.insecure_channel(server.address) as channel:
        call: Any = channel.stream_stream(LINK)
        replies = call(iter([b"\x12\xff\xff\xff"]))
        last = [Packet.FromString(r) for r in replies][-1]
        assert last.reply.failure.type == "DataLossError"
    graph = tf.Graph()
    with graph.as_default():
        y = tf.constant(1.0) + 1.0
    with tf.Session(server.target, graph=graph) as session:
        assert session.run(y) == 2.0


def test_devices_of_a_cluster(server: Server) -> None:
    with tf.Session(server.target) as session:
        assert session.list_devices() == [f"{TASK}/device:CPU:0"]


def test_unix_socket(no_leaks: None, tmp_path: Path) -> None:
    server = Server(addresses_of({"worker": [f"unix:{tmp_path}/s"]}), "worker", 0)
    server.start()
    graph = tf.Graph()
    with graph.as_default():
        y = tf.constant(1.0) + 1.0
    with tf.Session(server.target, graph=graph) as session:
        assert session.run(y) == 2.0
    server.stop()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make certificates")
def test_tls_needs_a_certificate_of_the_client(no_leaks: None, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-keyout", key, "-out", certificate, "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    files = [str(certificate), str(certificate), str(key)]
    server = Server(
        addresses_of({"worker": ["localhost:0"]}), "worker", 0, Safety(keys=Keys(*files))
    )
    server.start()
    graph = tf.Graph()
    with graph.as_default():
        y = tf.constant(1.0) + 1.0
    with (
        config.TLS.set(",".join(files)),
        tf.Session(f"grpcs://{server.address}", graph=graph) as session,
    ):
        assert session.run(y) == 2.0
    with pytest.raises(UnavailableError):
        dial(server.address, SESSION, Handler(), threads := Threads("test"), Limits(connect=0.5),
             Hello(protocol=1))  # fmt: skip
    threads.shutdown()
    server.stop()


def test_train_server(no_leaks: None) -> None:
    server = tf.train.Server.create_local_server()
    graph = tf.Graph()
    with graph.as_default():
        y = tf.constant(20.0) + 1.0
    with tf.Session(server.target, graph=graph) as session:
        assert session.run(y) == 21.0
    assert server.server_def.job_name == "localhost"
    server.stop()
    server.join()


def test_cluster_spec() -> None:
    spec = tf.train.ClusterSpec({"worker": ["a:1", "b:2"], "ps": {1: "c:3"}})
    assert spec.as_dict() == {"worker": ["a:1", "b:2"], "ps": {1: "c:3"}}
    assert tf.train.ClusterSpec(spec.as_cluster_def()) == spec
    assert spec.num_tasks("worker") == 2
    assert spec.task_indices("ps") == [1]
    assert spec.task_address("worker", 1) == "b:2"
    assert spec.job_tasks("ps") == [None, "c:3"]
    with pytest.raises(ValueError, match="no job 'chief'"):
        spec.num_tasks("chief")
    with pytest.raises(TypeError, match="list or a mapping"):
        tf.train.ClusterSpec({"worker": "a:1"})


@pytest.mark.cluster
def test_the_command_serves_and_ends_in_order() -> None:
    cluster = ProcessesCluster(1, "--allow", "SaveV2")
    process = cluster.processes[0]
    process.terminate()
    assert process.wait(10) == 128 + 15
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--cluster", "{"], "the cluster is no JSON"),
        (["--cluster", "no-such-file"], "the cluster cannot be read"),
        (["--cluster", '{"worker": ["0.0.0.0:1"]}'], "can be reached from other machines"),
        (["--cluster", '{"worker": ["localhost:1"]}', "--task", "4"], "no task 4"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", *arguments]) == 1
    assert said in capsys.readouterr().err


def test_inspect_stops_where_nobody_reads_on(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32)
        for _ in range(3000):  # more than a pipe holds
            x = tf.identity(x)
        (tmp_path / "long.pb").write_bytes(graph.as_graph_def().SerializeToString())
    with subprocess.Popen(
        [sys.executable, "-m", "graphvm_runtime", "inspect", str(tmp_path / "long.pb")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith("# ")
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_inspect_prints_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.add(tf.constant(1.0, name="one"), 2.0, name="sum")
    definition = graph.as_graph_def()
    binary, text = tmp_path / "g.pb", tmp_path / "g.pbtxt"
    binary.write_bytes(definition.SerializeToString())
    text.write_text(str(definition))
    for file in (binary, text):
        assert main(["inspect", str(file)]) == 0
        assert "%sum = AddV2(one:0, sum/y:0)" in capsys.readouterr().out
    assert main(["inspect", "--summary", str(binary)]) == 0
    assert "2 Const" in capsys.readouterr().out
    (tmp_path / "junk").write_bytes(b"\xff\xff\xff")
    assert main(["inspect", str(tmp_path / "junk")]) == 1
    assert "is no GraphDef" in capsys.readouterr().err


def test_grpc_is_loaded_only_for_clusters() -> None:
    code = "import sys, graphvm; graphvm.Session(); graphvm.train.ClusterSpec({'a': ['b:1']}); "
    code += "print(json.dumps('grpc' in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", "import json; " + code],
        capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert json.loads(done.stdout) is False
