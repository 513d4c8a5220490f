"""W11: a graph of ten thousand nodes, built, written, read and run for the first two times.

Once of additions alone, once with a constant for each addition.
"""

from collections.abc import Callable
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


def constants(tf: Any) -> Any:
    """A graph that adds numbers to x until it has `NODES` nodes, nearly half of them constants."""
    graph = tf.Graph()
    with graph.as_default():
        y = tf.placeholder(tf.float32, [], name="x")
        for number in range(NODES // 2 - 1):
            y = tf.add(y, float(number))
        tf.identity(y, name="y")
    return graph


def row(impl: str) -> None:
    """Measures both graphs."""
    tf = graph_api(impl)
    stations(tf, impl, chain, "10k nodes")
    stations(tf, impl, constants, "10k nodes, half constants")


def stations(tf: Any, impl: str, make: Callable[[Any], Any], what: str) -> None:
    """Measures each station once a sample, always on a fresh graph and session.

    Args:
        tf: the API under test.
        impl: its name.
        make: makes the graph.
        what: what figures call it.
    """
    build, write, read, first, second = [], [], [], [], []
    for sample in range(SAMPLES + 1):
        kept: list[Any] = []
        build.append(NODES / seconds(lambda kept=kept: kept.append(make(tf))))
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
            second.append(seconds(lambda: sess.run("y:0", feeds)) * 1e3)  # noqa: B023
            sess.close()
        if sample == 0:  # the first round pays for imports and caches of the library itself
            for samples in (build, write, read, first, second):
                samples.clear()
    report(f"W11 build {what}", "nodes/s", build)
    report(f"W11 write {what}", "ms", write)
    report(f"W11 import_graph_def of {what}", "nodes/s", read)
    report(f"W11 first run of {what}", "ms", first)
    report(f"W11 second run of {what}", "ms", second)


if __name__ == "__main__":
    main(row, __doc__)
