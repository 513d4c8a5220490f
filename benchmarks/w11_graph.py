"""W11: a graph of ten thousand nodes, built, written, read and run for the first time."""

from typing import Any

import numpy as np
from measure import SAMPLES, graph_api, main, report, seconds, session

NODES = 10_000


def chain(tf: Any) -> Any:
    """A graph that adds x to itself until it has `NODES` nodes."""
    graph = tf.Graph()
    with graph.as_default():
        x = y = tf.placeholder(tf.float32, [], name="x")
        for _ in range(NODES - 2):
            y = tf.add(y, x)
        tf.identity(y, name="y")
    return graph


def row(impl: str) -> None:
    """Measures each station once a sample, always on a fresh graph and session."""
    tf = graph_api(impl)
    build, write, read, first = [], [], [], []
    for sample in range(SAMPLES + 1):
        kept: list[Any] = []
        build.append(NODES / seconds(lambda kept=kept: kept.append(chain(tf))))
        graph = kept.pop()
        data: list[bytes] = []
        write.append(
            seconds(lambda: data.append(graph.as_graph_def().SerializeToString())) * 1e3  # noqa: B023
        )
        message = tf.GraphDef()
        message.ParseFromString(data[0])
        imported = tf.Graph()
        with imported.as_default():
            read.append(
                NODES / seconds(lambda: tf.import_graph_def(message, name=""))  # noqa: B023
            )
            sess = session(tf, impl, rewrite=False)
            feeds = {"x:0": np.float32(1)}
            first.append(seconds(lambda: sess.run("y:0", feeds)) * 1e3)  # noqa: B023
            sess.close()
        if sample == 0:  # the first round pays for imports and caches of the library itself
            for samples in (build, write, read, first):
                samples.clear()
    report("W11 build 10k nodes", "nodes/s", build)
    report("W11 write 10k nodes", "ms", write)
    report("W11 import_graph_def of 10k nodes", "nodes/s", read)
    report("W11 first run of 10k nodes", "ms", first)


if __name__ == "__main__":
    main(row, __doc__)
