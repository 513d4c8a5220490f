"""Small graphs of what few recorded ones have: the fuzzer starts from them too."""

from __future__ import annotations

from collections.abc import Callable

import graphvm as tf


def _loop() -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    _, y = tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * x), [0, x])
    tf.gradients(y, [x])


def _branches() -> None:
    x = tf.placeholder(tf.float32, [2])
    tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1.0, lambda: tf.cond(x[0] > 1, lambda: x, lambda: -x))


def _shapes() -> None:
    x = tf.placeholder(tf.float32, [None, 4])
    rows = tf.shape(x)[0]
    y = tf.reshape(tf.pad(x, [[0, 0], [1, 1]]), tf.stack([rows, 2, 3]))
    tf.tile(tf.concat([y, y], 2)[:, ::-1, 1:], [1, 2, 1])
    tf.broadcast_to(tf.fill([rows, 1], 2.0), tf.shape(x))
    tf.split(x, [1, 3], 1)


def _texts() -> None:
    x = tf.placeholder(tf.float32, [2])
    tf.string_join([tf.as_string(x, precision=2), tf.constant(["a", "b"])], "-")
    tf.einsum("ab,bc->ac", tf.ones([2, 3]), tf.ones([3, 2]))


def _state() -> None:
    v = tf.Variable(tf.zeros([2]), use_resource=True)
    w = tf.Variable([1.0, 2.0], use_resource=False)
    with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
        tf.gather(w, [0, 1]) + v.read_value()


def _arrays() -> None:
    x = tf.placeholder(tf.float32, [3])
    array = tf.TensorArray(tf.float32, 3).unstack(x)
    array.write(1, 5.0).stack()
    tf.map_fn(lambda e: e * 2, x)


MAKERS: tuple[Callable[[], None], ...] = (_loop, _branches, _shapes, _texts, _state, _arrays)


def built() -> list[bytes]:
    """The graphs, as files."""
    out = []
    for make in MAKERS:
        with tf.Graph().as_default() as graph:
            make()
        out.append(graph.as_graph_def().SerializeToString(deterministic=True))
    return out
