"""Placing and cutting are passes like the others: dumped, verified, and left out on demand."""

from pathlib import Path
from typing import Any

import pytest

import graphvm as tf
from graphvm_runtime import config
from graphvm_runtime.ir.text import parse_graph
from tests.cluster.conftest import Cluster

pytestmark = pytest.mark.parametrize("cluster", ["loopback"], indirect=True)


def run(cluster: Cluster) -> tuple[float, dict[str, int]]:
    """Something that spans two tasks, and counts of how it was spread."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [])
        with tf.device("/job:worker/task:0"):
            y = tf.sin(x, name="first")
        with tf.device("/job:worker/task:1"):
            z: Any = tf.cos(y, name="second")
    with cluster.session(graph) as session:
        return session.run(z, {x: 0.5}), session.stats(z, [x])


def test_a_placed_graph_its_shares_and_their_programs_are_dumped(
    cluster: Cluster, tmp_path: Path
) -> None:
    with config.DUMP.set(str(tmp_path)):
        run(cluster)
    master, *tasks = sorted(tmp_path.iterdir(), key=lambda d: -len(list(d.iterdir())))
    files = sorted(f.name[3:] for f in master.glob("*.gvm"))
    assert [n for n in files if n.startswith(("place", "partition"))] == [
        "partition_job_worker_replica_0_task_0_device_CPU_0.gvm",
        "partition_job_worker_replica_0_task_1_device_CPU_0.gvm",
        "place.gvm",
    ]
    (placed,) = master.glob("*-place.gvm")
    where = {n.name: n.device.task for n in parse_graph(placed.read_text()).nodes}
    assert (where["first"], where["second"]) == (0, 1)
    programs = [f.read_text() for d in tasks for f in d.glob("*-program.txt")]
    assert len(programs) == 2
    assert sorted(n for p in programs for n in ("Sin", "Cos") if n in p) == ["Cos", "Sin"]


@pytest.mark.parametrize("name", ["place", "partition"])
def test_without_placing_or_cutting_one_device_runs_all(cluster: Cluster, name: str) -> None:
    spread, counts = run(cluster)
    assert counts["shares"] == 2
    with config.PASSES.set(f"-{name}"):
        whole, counts = run(cluster)
    assert counts["shares"] == 1
    assert whole == spread
