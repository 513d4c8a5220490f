"""W9: two worker processes on loopback, driven by a session of a third."""

import json
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import Any

from measure import graph_api, main, session, timed

STEPS = 200
TASKS = ("/job:worker/task:0", "/job:worker/task:1")


def free_ports(count: int) -> list[int]:
    """Ports that nothing listened on a moment ago."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def serve(impl: str, cluster: str, task: int) -> None:
    """Is one worker until it is killed; says `ready` when it listens."""
    tf: Any = graph_api(impl)
    spec = tf.train.ClusterSpec(json.loads(cluster))
    server = tf.train.Server(spec, job_name="worker", task_index=task)
    print("ready", flush=True)
    server.join()


def row(impl: str) -> None:
    """Starts the workers, measures, and stops them whatever happens."""
    ports = free_ports(2)
    cluster = json.dumps({"worker": [f"127.0.0.1:{port}" for port in ports]})
    workers = [
        subprocess.Popen(
            [sys.executable, __file__, "--serve", impl, cluster, str(task)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        for task in range(2)
    ]
    try:
        for worker in workers:
            assert worker.stdout is not None
            if not any(line.strip() == "ready" for line in worker.stdout):
                raise RuntimeError("a worker ended before it listened")
        measure_session(impl, f"grpc://127.0.0.1:{ports[0]}")
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def measure_session(impl: str, target: str) -> None:
    """Measures a run on either worker and a loop whose body goes to and fro."""
    tf: Any = graph_api(impl)
    x = tf.placeholder(tf.float32, [])
    sums = []
    for task in TASKS:
        with tf.device(task):
            sums.append(x + 1.0)
    n = tf.placeholder(tf.int32, [])

    def body(i: Any, y: Any) -> Any:
        with tf.device(TASKS[1]):
            half = y * 0.5
        with tf.device(TASKS[0]):
            return i + 1, half + 1.0

    with tf.device(TASKS[0]):
        start = (tf.constant(0), tf.constant(0.0))
        loop = tf.while_loop(lambda i, y: i < n, body, start)[1]
    sess = session(tf, impl, target)
    for task, y in enumerate(sums):
        timed(f"W9 run(x + 1) on worker {task}", "us", lambda y=y: sess.run(y, {x: 1.0}))
    timed(
        "W9 loop alternating between workers", "iter/s", lambda: sess.run(loop, {n: STEPS}), STEPS
    )
    sess.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main(row, __doc__)
